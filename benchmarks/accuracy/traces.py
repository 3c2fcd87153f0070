"""Recorded rate traces: what a greedy sender gets through, second by second, against what the trace says."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from accuracy.bench import Line, Measure, applied, offset_ns, together, way
from emulation.profile.direction import FULL_FRAME
from emulation.profile.ratetrace import RateTrace
from emulation.tc.player import playing
from topologies.network import Network

_SECONDS = 12
_HEAD_START_S = 0.3


def trace_of(rates: np.ndarray, *, step_ms: int = 50) -> list[int]:
    """A trace (opportunities in ms) whose rate is `rates` (bit/s of 1514-byte frames), one for each step."""
    due = np.concatenate([[0.0], np.cumsum(rates * step_ms / 1e3 / (FULL_FRAME * 8))])
    wanted = np.arange(1, int(due[-1]) + 1)
    return [max(round(one), 1) for one in np.interp(wanted, due, np.arange(len(due)) * step_ms)]


def drive(seconds: int = _SECONDS) -> np.ndarray:
    """2 to 20 Mbit/s, another rate every 50 ms, as an LTE channel is for somebody who drives."""
    walk = np.cumsum(np.random.default_rng(7).normal(0, 0.25, seconds * 20))
    found: np.ndarray = 2e6 + 18e6 * (0.5 + 0.5 * np.sin(walk))
    return found


def gaps(seconds: int = _SECONDS) -> np.ndarray:
    """The same with nothing at all in seconds 3 and 4, and 8."""
    found, second = drive(seconds), np.arange(seconds * 20) // 20
    found[np.isin(second, (3, 4, 8))] = 0
    return found


def traces(network: Network, quick: bool) -> Iterator[Line]:
    """Bytes delivered in each second, as a share of the trace's, and in gaps."""
    sources = {"drive, 2 to 20 Mbit/s": drive(), "with gaps of seconds": gaps(), "steady 5 Mbit/s": _steady()}
    for name, rates in list(sources.items())[1:2] if quick else sources.items():
        yield from _follow(network, name, trace_of(rates))


def _steady() -> np.ndarray:
    return np.full(_SECONDS * 20, 5e6)


def _follow(network: Network, name: str, opportunities: list[int]) -> Iterator[Line]:
    trace = RateTrace(opportunities_ms=tuple(opportunities))
    seconds = min(_SECONDS, int(trace.period_s))
    settings = {
        "rate": 10e6,
        "queue_bytes": 150_000,
        "timeline_s": seconds,
        "timeline": [{"at": 0, "trace": {"uplink": {"opportunities_ms": opportunities}}}],
    }
    spacing = FULL_FRAME * 8 / 26e6
    with applied(network, **settings) as (_, link), way(network, "uplink") as path, playing(link) as player:
        time.sleep(0.2)
        began = time.time_ns()
        start = began + round(_HEAD_START_S * 1e9)
        player.start(start - offset_ns())
        together([lambda: path.hand_over([FULL_FRAME] * int((seconds + 0.4) / spacing), spacing_s=spacing)])
        arrivals = path.collect(path.sent)
        late = max(one.late_s for one in player.played)
    edges = start + np.arange(seconds + 1) * 10**9
    found = np.diff(np.searchsorted(np.sort(arrivals.received_ns), edges))
    asked = trace.counts(step_s=1.0, until_s=seconds)[:seconds]
    busy = asked > 5  # a frame at a gap's edge counts to the second that it is due in
    ratio = found[busy] / asked[busy]
    yield Line(what=f"trace, {name}: frames of all", unit="%", asked=100,
               delivered=float(found[busy].sum() / asked[busy].sum() * 100), low=98, high=102,
               note=f"changes at most {late * 1e3:.1f} ms late")  # fmt: skip
    yield Line(what=f"trace, {name}: worst second", unit="%", asked=100,
               delivered=float(ratio[np.argmax(np.abs(ratio - 1))] * 100), low=95, high=105,
               note=" ".join(f"{one * 100:.0f}" for one in ratio))  # fmt: skip
    if not busy.all():
        edge = float(asked[~busy].sum())
        yield Line(what=f"trace, {name}: frames in {(~busy).sum()} empty seconds", unit="frames", asked=edge,
                   delivered=float(found[~busy].sum()), low=0, high=edge + 4)  # fmt: skip


MEASURES = (Measure(name="trace", kernels=("host", "lab"), run=traces),)
