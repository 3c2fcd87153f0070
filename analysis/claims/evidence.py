"""What claims are held against: values by seed.  Measured ones here; published ones in analysis.papers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from analysis.backlog import grows
from analysis.claims.comparisons import Quantity
from analysis.claims.spans import Span
from analysis.estimates import counted, of_values
from analysis.findings import CellFinding, Findings, Standing, rises
from analysis.metrics import COMPUTED
from analysis.stationarity import LATENCY, is_wait, series_of
from analysis.statistics import Count, Estimate
from records.latency import LATENCIES, of_arrivals

CASE, NETWORK = "case", "network"
_COMPUTED = {one.name for one in COMPUTED}
# What names a campaign, what each network has of its own, and how often trials are repeated.
_OF_NO_MATTER = (
    "scenario", "question", "baseline", "network", "window", "capture", "checks", "trials", "parallel", "seed",
    "repeat_spoiled",
)  # fmt: skip


class Evidence(Protocol):
    """Values of quantities: of trials, which spread, or stated ones, of which each quantity has one."""

    def span(self, wanted: Quantity) -> Span | None:
        """Between which ends a stated value lies, equal ones where it is exact; None for values of trials."""

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """The quantity's value in each trial, by the trial's seed; empty when there is none."""

    def why_none(self, wanted: Quantity) -> str:
        """Why there is no value."""

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """Why these values must not be compared, '' when they may."""

    def held(self, wanted: Quantity) -> Quantity:
        """What there is of it: the same, but where only an older definition's values are left."""

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """Whether any of its values is a lower bound, where it is compared with these."""

    def counts(self, wanted: Quantity) -> Sequence[Count]:
        """Of a share that is counted, how many of how many in each trial; empty for all else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """What a study computes or simulates of a case.

    values: by seed.  exact: there is one value, of no sample (by arithmetic, or the extreme of all that was tried).
    command: prints it again.
    """

    values: Mapping[int, float]
    exact: bool
    command: str


ComputedValues = Mapping[tuple[str, str], Computed]
"""By case and metric, on whichever network."""
NOTHING_COMPUTED: ComputedValues = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Campaigns' valid trials, and what the study computes.

    cells: by case and by the paper's word for the network; settings: of each of them.  computed: what is not run.
    """

    cells: Mapping[tuple[str, str], CellFinding]
    settings: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    computed: ComputedValues = field(default_factory=dict)

    def span(self, wanted: Quantity) -> Span | None:
        """See Evidence."""
        found = self.computed.get((wanted.case, wanted.metric))
        if found is None or not found.exact:
            return None
        (value,) = found.values.values()
        return value, value

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See Evidence."""
        if (found := self.computed.get((wanted.case, wanted.metric))) is not None:
            return found.values
        cell = self.cells.get((wanted.case, wanted.network))
        return {} if cell is None else cell.by_seed(wanted.metric)

    def why_none(self, wanted: Quantity) -> str:
        """See Evidence."""
        if wanted.metric in _COMPUTED:
            return f"{wanted.case} was not computed"
        cell = self.cells.get((wanted.case, wanted.network))
        if cell is None:
            return f"{wanted.case} was not run on {wanted.network}"
        if not cell.valid:
            told = sorted({str(trial.standing) for trial in cell.trials if trial.standing is not Standing.VALID})
            return f"{wanted.case} on {wanted.network} has no valid trial ({', '.join(told) or 'none planned'})"
        why = "nothing was sent in its window" if wanted.metric in LATENCIES else "none of its valid trials has it"
        return f"{wanted.case} on {wanted.network} has no {wanted.metric}: {why}"

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """Latencies that rise while the load lasts say how long that was: they are alike in equal windows only.

        One that does not rise is the same in any window.  Those of what was sent and those of what arrived are never
        alike.
        """
        if len({(one.case, one.metric) in self.computed for one in wanted}) > 1:
            return "one value is computed, one is of trials"
        latencies = [one for one in wanted if is_wait(one.metric)]
        if len({self.held(one).metric in LATENCIES for one in latencies if series_of(one.metric) == LATENCY}) > 1:
            return "one latency is of what was sent in the window, one (older) of what arrived in it"
        rising = [(one.case, one.network) for one in latencies if self._rises(one)]
        told = list(dict.fromkeys(_window(self.settings.get(key, {})) for key in rising))
        if len(told) < 2:
            return ""
        return f"both latencies rise for as long as the load lasts, and the windows differ ({', '.join(told)})"

    def held(self, wanted: Quantity) -> Quantity:
        """A latency of arrivals where a cell's trials are left as older reductions only."""
        cell = self.cells.get((wanted.case, wanted.network))
        older = wanted._replace(metric=of_arrivals(wanted.metric))
        if cell is None or cell.values(wanted.metric) or not cell.values(older.metric):
            return wanted
        return older

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """See Evidence.  Where a backlog grows, a longer window would have a longer latency: it is a lower bound, too,
        but for a comparison of cells whose backlogs all grow.
        """
        cell = self.cells.get((wanted.case, wanted.network))
        if cell is None or cell.bounded(wanted.metric):
            return cell is not None
        others = [one for one in beside if one != wanted]
        rises_on = is_wait(wanted.metric) and self._grows(wanted)
        return rises_on and not (others and all(self._grows(one) for one in others))

    def counts(self, wanted: Quantity) -> Sequence[Count]:
        """See Evidence."""
        cell = self.cells.get((wanted.case, wanted.network))
        return () if cell is None else counted(wanted.metric, [trial.metrics for trial in cell.valid])

    def estimate(self, wanted: Quantity) -> Estimate | None:
        """Mean and interval over its trials, or over the seeds of what is computed."""
        if (computed := self.computed.get((wanted.case, wanted.metric))) is not None:
            return of_values(wanted.metric, list(computed.values.values()))
        cell, held = self.cells.get((wanted.case, wanted.network)), self.held(wanted)
        return None if cell is None else cell.estimate(held.metric)

    def _grows(self, wanted: Quantity) -> bool:
        cell = self.cells.get((wanted.case, wanted.network))
        return cell is not None and grows(cell)

    def _rises(self, wanted: Quantity) -> bool:
        cell = self.cells.get((wanted.case, wanted.network))
        return cell is not None and (grows(cell) or rises(cell, LATENCY))

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
                    f"{findings.at or findings.folder}: cells {mine[key].name} and {cell.name} are both {key[0]} on "
                    f"{network}: judge a campaign in which nothing varies but case and network"
                )
            mine[key] = cell
        counting = {key: cell for key, cell in mine.items() if cell.valid or key not in cells}
        cells |= counting
        settings |= {key: planned.get(cell.name, {}) for key, cell in counting.items()}
    return Measured(cells=cells, settings=settings)


def profile_of(levels: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """A cell's link profile: its level, or what the whole campaign was set to."""
    return levels.get(NETWORK) or str(settings.get(NETWORK, ""))
