"""From a sender over the link, the server and the link again to each receiver; or from station to station."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.journey import reasons
from analysis.journey.between import Between
from analysis.journey.clients import ABSENT, AMBIGUOUS, HOME, Deliveries
from analysis.journey.nodeways import NodeWays
from analysis.journey.split import Split
from analysis.journey.ways import Crossing, Ways
from records.directions import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """times: of what has a marker wherever it should have one.  account, copies, hops: as in
    journey.trial.Journey.
    """

    account: reasons.Account
    times: Split
    copies: dict[Direction, float]
    hops: float | None = None


def follow_messages(wanted: Deliveries, ways: Ways | Between | NodeWays) -> Followed:
    """Follow each of these deliveries."""
    sent, got = ways.of_messages(wanted)
    found = to_follow([sent, got])
    row = wanted.row[found]
    t_sched = ways.published.column("t_sched_ns").to_numpy()[row]
    crossing = ways.crossing(sent=sent[found], got=got[found], t_begin_ns=t_sched, t_end_ns=wanted.t_recv_ns[found])
    times = crossing.times
    ambiguous = (sent == AMBIGUOUS) | (got == AMBIGUOUS)
    account = reasons.Account(
        kind=ways.kind,
        deliveries=len(sent),
        crossed_nothing=int(np.count_nonzero((sent == HOME) & (got == HOME))),
        ambiguous=int(np.count_nonzero(ambiguous)),
        no_uplink_marker=int(np.count_nonzero(~ambiguous & (sent == ABSENT))),
        no_downlink_marker=int(np.count_nonzero(~ambiguous & (sent != ABSENT) & (got == ABSENT))),
        incomplete=int(np.count_nonzero(~times.complete)),
        negative=int(np.count_nonzero(times.complete & ~times.ordered)),
        not_at_server=int(np.count_nonzero(times.attributed & ~times.at_server)),
        at_the_broker=int(np.count_nonzero(times.attributed & at_home([sent[found], got[found]]))),
    )
    return Followed(account=account, times=times, copies=mean_copies([crossing], row), hops=mean_hops([crossing]))


def to_follow(hits: Sequence[np.ndarray]) -> np.ndarray:
    """Indices of what was seen wherever it left a station, and left one at all.  hits: a row for each way."""
    known = np.all([(one >= 0) | (one == HOME) for one in hits], axis=0)
    return np.flatnonzero(known & np.any([one >= 0 for one in hits], axis=0))


def at_home(hits: Sequence[np.ndarray]) -> np.ndarray:
    """Mask: what did not leave its station on one of its ways."""
    found: np.ndarray = np.any([one == HOME for one in hits], axis=0)
    return found


def mean_copies(crossings: Sequence[Crossing], row: np.ndarray) -> dict[Direction, float]:
    """By direction, mean transmissions per byte of what could be split on all of these ways.  row: of each message."""
    known = np.all([one.times.attributed for one in crossings], axis=0)
    _, once = np.unique(row[known], return_index=True)
    found: dict[Direction, list[np.ndarray]] = {}
    for copies in (one for crossing in crossings for one in crossing.copies):
        times = copies.times[known][once] if copies.once else copies.times[known]
        found.setdefault(copies.direction, []).append(times[~np.isnan(times)])
    of = {direction: np.concatenate(times) for direction, times in found.items()}
    return {direction: float(times.mean()) for direction, times in of.items() if len(times)}


def mean_hops(crossings: Sequence[Crossing]) -> float | None:
    """Of what could be split on all of these ways, mean hops on each; None where they are not known."""
    known = np.all([one.times.attributed for one in crossings], axis=0)
    hops = [one.hops[known] for one in crossings if one.hops is not None]
    return float(np.concatenate(hops).mean()) if hops and known.any() else None
