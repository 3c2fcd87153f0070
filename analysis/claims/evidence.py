"""What claims are held against: values by seed.  Measured ones here; published ones in analysis.papers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from analysis.claims.comparisons import Quantity
from analysis.findings import CellFinding, Findings, Standing, rises
from analysis.stationarity import LATENCY, series_of

CASE, NETWORK = "case", "network"
# What names a campaign, what each network has of its own, and how often trials are repeated.
_OF_NO_MATTER = (
    "scenario", "question", "baseline", "network", "window", "capture", "checks", "trials", "parallel", "seed",
)  # fmt: skip


class Evidence(Protocol):
    """exact: the values are taken as they are, one for each quantity, without an interval."""

    @property
    def exact(self) -> bool:
        """Whether single values decide."""

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """The quantity's value in each trial, by the trial's seed; empty when there is none."""

    def why_none(self, wanted: Quantity) -> str:
        """Why there is no value."""

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """Why these values must not be compared, '' when they may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Campaigns' valid trials.  cells: by case and by the paper's word for the network; settings: of each of them."""

    cells: Mapping[tuple[str, str], CellFinding]
    settings: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

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

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """Latencies that rise while the load lasts say how long that was: they are alike in equal windows only."""
        keys = [(one.case, one.network) for one in wanted if series_of(one.metric) == LATENCY]
        told = list(dict.fromkeys(_window(self.settings.get(key, {})) for key in keys))
        if len(told) < 2 or not any(rises(self.cells[key], LATENCY) for key in keys if key in self.cells):
            return ""
        return f"latency rises for as long as the load lasts, and the windows differ ({', '.join(told)})"

    def settings_apart(self) -> tuple[str, ...]:
        """Settings, as in `congestion_control: reno, cubic`, in which networks of one case differ beside the link."""
        found: dict[str, dict[str, None]] = {}
        cases = dict.fromkeys(case for case, _ in self.settings)
        for case in cases:
            mine = [dict(_flat(one)) for (other, _), one in self.settings.items() if other == case]
            for name in dict.fromkeys(name for one in mine for name in one):
                values = dict.fromkeys(str(one.get(name, "-")) for one in mine)
                if len(values) > 1:
                    found.setdefault(name, {}).update(values)
        return tuple(f"{name}: {', '.join(values)}" for name, values in found.items())


def _window(settings: Mapping[str, Any]) -> str:
    window = settings.get("window", {})
    return f"{window.get('warmup_s', '?')} + {window.get('window_s', '?')} s"


def _flat(settings: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if not at and name in _OF_NO_MATTER:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", value


class AmbiguousCells(ValueError):
    """A campaign has several cells of one case and network; the message has their names."""


def measured(campaigns: Iterable[Findings], networks: Mapping[str, str]) -> Measured:
    """Cells of campaigns by case and network; of equal ones the last campaign's with a valid trial counts.

    networks: the paper's word to the link profile.  AmbiguousCells when a campaign varies something else, too.
    """
    words = {profile: word for word, profile in networks.items()}
    cells: dict[tuple[str, str], CellFinding] = {}
    settings: dict[tuple[str, str], Mapping[str, Any]] = {}
    for findings in campaigns:
        mine: dict[tuple[str, str], CellFinding] = {}
        planned = {one.name: one.settings.get("settings", {}) for one in findings.campaign.cells}
        for cell in findings.cells:
            network = profile_of(cell.levels, planned.get(cell.name, {}))
            if CASE not in cell.levels or network not in words:
                continue
            key = (cell.levels[CASE], words[network])
            if key in mine:
                raise AmbiguousCells(
                    f"{findings.folder}: cells {mine[key].name} and {cell.name} are both {key[0]} on {network}: judge "
                    "a campaign in which nothing varies but case and network"
                )
            mine[key] = cell
        counting = {key: cell for key, cell in mine.items() if cell.valid or key not in cells}
        cells |= counting
        settings |= {key: planned.get(cell.name, {}) for key, cell in counting.items()}
    return Measured(cells=cells, settings=settings)


def profile_of(levels: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """A cell's link profile: its level, or what the whole campaign was set to."""
    return levels.get(NETWORK) or str(settings.get(NETWORK, ""))
