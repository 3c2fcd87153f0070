"""What claims are held against: values by seed.  Measured ones here; published ones in analysis.papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from analysis.claims.comparisons import Quantity
from analysis.findings import CellFinding, Findings, Standing

CASE, NETWORK = "case", "network"


class Evidence(Protocol):
    """exact: the values are taken as they are, one for each quantity, without an interval."""

    @property
    def exact(self) -> bool:
        """Whether single values decide."""

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """The quantity's value in each trial, by the trial's seed; empty when there is none."""

    def why_none(self, wanted: Quantity) -> str:
        """Why there is no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Campaigns' valid trials.  cells: by case and by the paper's word for the network."""

    cells: Mapping[tuple[str, str], CellFinding]

    @property
    def exact(self) -> bool:
        """Trials spread."""
        return False

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See Evidence."""
        cell = self.cells.get((wanted.case, wanted.network))
        return {} if cell is None else cell.by_seed(wanted.metric)

    def why_none(self, wanted: Quantity) -> str:
        """See Evidence."""
        cell = self.cells.get((wanted.case, wanted.network))
        if cell is None:
            return f"{wanted.case} was not run on {wanted.network}"
        if not cell.valid:
            told = sorted({str(trial.standing) for trial in cell.trials if trial.standing is not Standing.VALID})
            return f"{wanted.case} on {wanted.network} has no valid trial ({', '.join(told) or 'none planned'})"
        return f"{wanted.case} on {wanted.network} has no {wanted.metric}: nothing arrived in its window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Other evidence's means, taken as exact: which way a claim leans that too few trials leave open."""

    of: Evidence

    @property
    def exact(self) -> bool:
        """Without intervals."""
        return True

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See Evidence."""
        values = self.of.by_seed(wanted).values()
        return {0: sum(values) / len(values)} if values else {}

    def why_none(self, wanted: Quantity) -> str:
        """See Evidence."""
        return self.of.why_none(wanted)


def measured(campaigns: Iterable[Findings], networks: Mapping[str, str]) -> Measured:
    """Cells of campaigns by case and network; of equal ones the last campaign's count.

    networks: the paper's word to the link profile.
    """
    words = {profile: word for word, profile in networks.items()}
    return Measured(
        cells={
            (cell.levels[CASE], words[_network(findings, cell)]): cell
            for findings in campaigns
            for cell in findings.cells
            if CASE in cell.levels and _network(findings, cell) in words
        }
    )


def _network(findings: Findings, cell: CellFinding) -> str:
    """The cell's link profile: its level, or what the whole campaign was set to."""
    if NETWORK in cell.levels:
        return cell.levels[NETWORK]
    planned = next((one for one in findings.campaign.cells if one.name == cell.name), None)
    settings = planned.settings.get("settings", {}) if planned else {}
    return str(settings.get("network", ""))
