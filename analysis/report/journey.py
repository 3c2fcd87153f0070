"""The table that says where the time of deliveries goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.breakdown import breakdowns, share, told_of, whose, whys
from analysis.findings import TrialFinding
from analysis.journey.parts import BY_NODES, kind, label, ordered
from analysis.metrics import METRICS
from analysis.report.shown import Shown, amount
from analysis.units import digits

_TIME = METRICS["latency_mean_s"]
_SAID = {"mean": "mean", "p50": "median", "p90": "90th percentile", "p99": "99th percentile",
         "p99.9": "99.9th percentile"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyTable:
    """what: what is split, a latency or a response time; whose: of deliveries or of answered requests.  by_nodes: told
    by what a stack's nodes have stamped, and not by packets.

    rows: of which of them, how long it took, then a cell for each heading.  facts: sentences below; why: reasons.
    """

    what: str
    whose: str
    by_nodes: bool
    headings: tuple[str, ...]
    rows: tuple[tuple[str, Shown, tuple[Shown, ...]], ...]
    facts: tuple[str, ...]
    why: tuple[str, ...]


def journey_table(trials: Sequence[TrialFinding]) -> JourneyTable:
    """The parts of these trials' latency, as their mean; without rows where nothing could be split."""
    found = breakdowns(trials)
    parts = ordered(part for one in found for part in one.parts)
    what, whose_time = told_of(found)
    return JourneyTable(
        what=what,
        whose=whose_time,
        by_nodes=any(kind(part) in BY_NODES[1:-1] for part in parts),
        headings=tuple(label(part).capitalize() for part in parts),
        rows=tuple(
            (_SAID[one.key], amount(_TIME, one.latency), tuple(amount(_TIME, one.parts.get(part)) for part in parts))
            for one in found
        ),
        facts=tuple(_facts(trials, what)) if found else (),
        why=_whys(trials),
    )


def _whys(trials: Sequence[TrialFinding]) -> tuple[str, ...]:
    """What could not be told; of which trial, where they differ."""
    found = whys(trials)
    if len(found) < 2:
        return found
    return tuple(f"trial {trial.number}: {why}" for trial in trials for why in whys([trial]))


def _facts(trials: Sequence[TrialFinding], what: str) -> list[str]:
    found = []
    hops = [trial.metrics["hops_mean"] for trial in trials if "hops_mean" in trial.metrics]
    attributed = share(trials)
    if attributed is not None:
        how = "by what the nodes have stamped" if hops else "through the packets"
        followed = f"{digits(attributed * 100)} % could be followed {how}."
        found.append(f"{what.capitalize()} {whose(trials)}: {followed}")
    copies = [said for direction in ("uplink", "downlink") if (said := _copies(trials, direction))]
    if hops:
        found.append(f"Between nodes each took {digits(sum(hops) / len(hops))} hops, in the mean.")
    if copies:
        found.append(f"A segment of theirs was sent {' and '.join(copies)}, in the mean.")
    return found


def _copies(trials: Sequence[TrialFinding], direction: str) -> str:
    name = f"copies_{direction}"
    copies = [trial.metrics[name] for trial in trials if name in trial.metrics]
    return f"{digits(sum(copies) / len(copies))} times on the {direction}" if copies else ""
