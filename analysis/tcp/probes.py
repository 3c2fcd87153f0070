"""Packets that ask rather than send: zero-window probes, keep-alives, and what answers them.

They are known by how they stand to the highest byte the flow has reached, and must not raise it: so what a
flow has reached is worked out here, too.  The rules are tshark's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analysis.tcp.segments import SPAN, highest_before, spread, starts_of
from analysis.tcp.stream import Stream, firsts, opposite_before, take

_ROUNDS = 100  # probes that were taken, one after the other without a pause, and are still told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """reached: the flow's highest end before each packet (its own begin where it is the first).

    zero_window: says that nothing more may be sent.  probe: one byte sent into a closed window.  probe_ack: the
    answer.  keep_alive: at most one byte, the one before what would be next.
    """

    reached: np.ndarray
    zero_window: np.ndarray
    probe: np.ndarray
    probe_ack: np.ndarray
    keep_alive: np.ndarray


def find_probes(stream: Stream) -> Probes:
    """Zero windows, probes and keep-alives of all flows."""
    first = firsts(stream)
    single = np.flatnonzero((stream.payload == 1) & ~first & ~stream.reset)
    before = opposite_before(stream, single)
    single = single[(before >= 0) & (stream.window[before] == 0)]
    none = np.zeros(len(stream), dtype=bool)
    found = Probes(reached=_reached(stream, none), zero_window=none, probe=none, probe_ack=none, keep_alive=none)
    if len(single):
        found = _settle(stream, found, single)
    return replace(
        found,
        zero_window=(stream.window == 0) & stream.plain & ~found.probe,
        keep_alive=(stream.payload <= 1) & stream.plain & (stream.begin == found.reached - 1) & ~first,
    )


def _reached(stream: Stream, ignored: np.ndarray) -> np.ndarray:
    # The number in a reset may be anything (RFC 9293, 3.10.7.1): it must not raise what the flow has reached.
    starts = starts_of(stream.flow)
    end = np.where(stream.reset | ignored, -(SPAN // 4), stream.end)
    found = highest_before(end, starts, first=stream.begin[starts])
    if stream.before is None:
        return found
    level = stream.before.reached[stream.flow[starts]]
    found[starts] = level
    highest: np.ndarray = np.maximum(found, spread(level, starts, len(found)))
    return highest


def _settle(stream: Stream, found: Probes, single: np.ndarray) -> Probes:
    """Find the probes among single bytes that were sent into a closed window.

    Whether one is a probe hangs on what was reached, and that on which ones before it were probes: so all are
    judged again until nothing changes, each round making at least the next one of each flow final.
    """
    flows = np.zeros(int(stream.flow.max()) + 1, dtype=bool)
    flows[stream.flow[single]] = flows[stream.reverse[single]] = True
    rows = np.flatnonzero(flows[stream.flow])
    part = take(stream, rows)
    one = np.zeros(len(rows), dtype=bool)
    one[np.searchsorted(rows, single)] = True
    quiet = _quiet(part)
    probe, answer, taken = one, np.zeros_like(one), np.zeros_like(one)
    for _ in range(_ROUNDS):
        reached = _reached(part, probe & ~taken)
        now = one & (part.begin == reached)
        answer, taken_now = _answers(part, quiet & (part.begin == reached), now)
        settled = np.array_equal(now, probe) and np.array_equal(taken_now, taken)
        probe, taken = now, taken_now
        if settled:
            break
    parts = {"reached": reached, "probe": probe, "probe_ack": answer}
    return replace(found, **{name: _put(getattr(found, name), rows, new) for name, new in parts.items()})


def _quiet(part: Stream) -> np.ndarray:
    """Empty packets that say once more that the window is closed."""
    quiet: np.ndarray = part.plain & (part.payload == 0) & (part.window == 0)
    quiet[1:] &= part.window[:-1] == 0
    quiet[starts_of(part.flow)] = False
    return quiet


def _answers(part: Stream, quiet: np.ndarray, probe: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which packets answer a probe, and which probes' bytes were taken after all."""
    rows = np.flatnonzero(quiet)
    asked = opposite_before(part, rows)
    rows, asked = rows[asked >= 0], asked[asked >= 0]
    step = part.acked[rows] - part.acked[rows - 1]
    good = probe[asked] & ((step == 0) | (step == 1))
    answer, taken = np.zeros_like(probe), np.zeros_like(probe)
    answer[rows[good]] = True
    taken[asked[good & (step == 1) & (part.acked[rows] == part.end[asked])]] = True
    return answer, taken


def _put(old: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    whole = old.copy()
    whole[rows] = new
    return whole
