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


class AmbiguousCells(ValueError):
    """A campaign has several cells of one case and network; the message has their names."""


def measured(campaigns: Iterable[Findings], networks: Mapping[str, str]) -> Measured:
    """Cells of campaigns by case and network; of equal ones the last campaign's with a valid trial counts.

    networks: the paper's word to the link profile.  AmbiguousCells when a campaign varies something else, too.
    """
    words = {profile: word for word, profile in networks.items()}
    cells: dict[tuple[str, str], CellFinding] = {}
    for findings in campaigns:
        mine: dict[tuple[str, str], CellFinding] = {}
        for cell in findings.cells:
            network = _network(findings, cell)
            if CASE not in cell.levels or network not in words:
                continue
            key = (cell.levels[CASE], words[network])
            if key in mine:
                raise AmbiguousCells(
                    f"{findings.folder}: cells {mine[key].name} and {cell.name} are both {key[0]} on {network}: judge "
                    "a campaign in which nothing varies but case and network"
                )
            mine[key] = cell
        cells |= {key: cell for key, cell in mine.items() if cell.valid or key not in cells}
    return Measured(cells=cells)


def _network(findings: Findings, cell: CellFinding) -> str:
    """The cell's link profile: its level, or what the whole campaign was set to."""
    if NETWORK in cell.levels:
        return cell.levels[NETWORK]
    planned = next((one for one in findings.campaign.cells if one.name == cell.name), None)
    settings = planned.settings.get("settings", {}) if planned else {}
    return str(settings.get("network", ""))
