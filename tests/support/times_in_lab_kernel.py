"""What test_times_lab.py asks of transmission times in the lab kernel; `python times_in_lab_kernel.py` prints JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from emulated_links import gap_trace, link, path, profile

from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME
from emulation.proof.order import overtakers
from emulation.proof.probe import MIN_FRAME, Arrivals
from emulation.tc import netems
from emulation.tc.player import playing
from experiments.trial.observers.priority import ahead
from records.directions import DIRECTIONS
from topologies.network import Network
from topologies.star import star

Settings = dict[str, Any]
SIZES = (MIN_FRAME, FULL_FRAME)
STATIONS = ("sta1", "sta2")
BURST = 40
SPACING_S = 0.025  # twice what a full frame takes on the slowest of the links
# A machine that other work slows down delivers late, and never early but for the clock's 0.1 ms.
LATE_MS, EARLY_MS = 2.0, 0.2
JITTER: Settings = {"delay": 0.02, "jitter": 0.005}
IDLE: dict[str, Settings] = {
    "duplex": {"rate": 1e6, "delay": 0.005},
    "shared": {"medium": "shared", "rate": 2e6, "frame_overhead": 0.001, "delay": 0.005},
    "jitter": {"rate": 1e6, "delay": 0.02, "jitter": 0.001, "keep_order": False},
    "shared, apart": {
        "medium": "shared",
        "rate": 2e6,
        "delay": 0.005,
        "stations": {"sta2": {"downlink": {"delay": 0}}},
    },
    "shared, copies": {"medium": "shared", "rate": 2e6, "delay": 0.005, "duplicate": 0.2},
}


def idle(network: Network, *, times_frames: bool | None = None, **settings: Any) -> dict[str, dict[str, float]]:
    """Median one-way delays (ms) of small and full frames that find the link idle, both ways, of both stations."""
    found: dict[str, dict[str, float]] = {}
    with link(network, times_frames=times_frames, **settings) as made:
        for station in STATIONS:
            for direction in DIRECTIONS:
                with path(network, direction, station=station) as probe:
                    group = next(number for number, names in enumerate(made.plan.groups) if station in names)
                    found[f"{station} {direction}"] = {
                        str(size): median_ms(probe.send([size] * 11, spacing_s=SPACING_S)) for size in SIZES
                    } | {"asked": getattr(made.plan.first.sides[group], direction).delay * 1e3}
    return found


def median_ms(arrivals: Arrivals) -> float:
    return float(np.median(arrivals.received_ns - arrivals.sent_ns)) / 1e6


def rates(network: Network, **settings: Any) -> dict[str, float]:
    """Rates (bit/s) of bursts that all stations send up at the same time."""
    with link(network, **settings), ExitStack() as opened:
        paths = {name: opened.enter_context(path(network, station=name, silence_s=1)) for name in STATIONS}
        for probe in paths.values():
            probe.wait(1.5, in_order=False)
            probe.hand_over([FULL_FRAME] * BURST)
        arrived = {name: probe.collect(BURST) for name, probe in paths.items()}
    return {name: rate(one) for name, one in arrived.items()}


def rate(arrivals: Arrivals) -> float:
    """Of what waited in the queue, its first frames left out."""
    times = np.sort(arrivals.received_ns)[4:]
    return (len(times) - 1) * FULL_FRAME * 8 / ((times[-1] - times[0]) / 1e9)


@contextmanager
def one_netem_for_all() -> Iterator[None]:
    """A fault: uplinks of a duplex medium share the netem that gives frames their transmission time."""
    lanes = netems._lanes

    def one_lane(plan: LinkPlan) -> list[Any]:
        found = lanes(plan)
        return [netems._Lane("all", 0, tuple(name for lane in found for name in lane.stations), found[0].parts)]

    with mock.patch.object(netems, "_lanes", one_lane):
        yield


def held_back(network: Network, **settings: Any) -> dict[str, Any]:
    """Packets that overtake others, and the rate of a burst, where jitter is larger than their spacing."""
    with link(network, **settings), path(network) as probe:
        probe.wait(0.5, in_order=False)
        overtook = overtakers(probe.send([MIN_FRAME] * 300, spacing_s=0.002).number)
        burst = probe.send([FULL_FRAME] * BURST)
    return {"overtook": overtook, "rate": rate(burst)}


def order_of_its_own(network: Network) -> float:
    """How much later (ms) packets of a station come because another one sends, where jitter keeps order."""
    found = []
    for others in (False, True):
        with link(network, delay=0.03, jitter=0.02), ExitStack() as opened:
            one, other = (opened.enter_context(path(network, station=name)) for name in STATIONS)
            delays = []
            for _ in range(40):
                if others:
                    other.hand_over([MIN_FRAME] * 10, spacing_s=0.001)
                else:
                    time.sleep(0.01)
                delays.append(median_ms(one.send([MIN_FRAME])))
                other.collect(10) if others else None
            found.append(float(np.mean(delays)))
    return found[1] - found[0]


def changed(network: Network) -> dict[str, list[float]]:
    """Median delays (ms) of full frames before and after each of two changes of the rate, both ways."""
    events = [{"at": 1, "change": {"rate": "4 Mbit/s"}}, {"at": 2, "change": {"rate": "1 Mbit/s"}}]
    found = {}
    for direction in DIRECTIONS:
        with link(network, rate=2e6, timeline=events) as made, path(network, direction) as probe:
            medians = [median_ms(probe.send([FULL_FRAME] * 15, spacing_s=0.03))]
            for step in made.plan.steps:
                made.go_through([step.state])
                medians.append(median_ms(probe.send([FULL_FRAME] * 15, spacing_s=0.03)))
        found[direction] = medians
    return found


def traced(network: Network) -> list[int]:
    """Frames that arrive before, in and after the gap of a trace: one each 4 ms, nothing for 400 ms, and again."""
    with (
        link(network, rate=3e6, timeline=[gap_trace(500, 400, every_ms=4)], timeline_s=1.4) as made,
        path(network, silence_s=2) as probe,
        playing(made) as player,
    ):
        time.sleep(0.1)
        began = time.time_ns()
        player.start(time.monotonic_ns())
        arrived = (probe.send([FULL_FRAME] * 450, spacing_s=0.003).received_ns - began) / 1e9
    return [int(one.sum()) for one in (arrived < 0.6, (arrived > 0.53) & (arrived < 0.89), arrived > 0.9)]


def too_early_or_late(case: str, found: dict[str, dict[str, float]]) -> set[str]:
    """Stations' directions whose frames do not take delay and transmission time on an idle link."""
    whole, wrong = profile(**IDLE[case]).uplink, set()
    spread_ms = whole.jitter * 1e3  # a median of 11 comes nowhere near
    for name, medians in found.items():
        for size in SIZES:
            off = medians[str(size)] - medians["asked"] - whole.airtime(size) * 1e3
            if not -EARLY_MS - spread_ms <= off <= LATE_MS + spread_ms:
                wrong.add(f"{name} {size}: {off:+.2f} ms")
    return wrong


def on_time(case: str, found: dict[str, dict[str, float]]) -> bool:
    return not too_early_or_late(case, found)


def near(found: float, asked: float, share: float) -> bool:
    return abs(found / asked - 1) <= share


def own_rates(found: dict[str, float]) -> bool:
    return all(near(rate, 1e6, 0.05) for rate in found.values())


def as_changed(found: dict[str, list[float]]) -> bool:
    asked = [FULL_FRAME * 8 / rate * 1e3 for rate in (2e6, 4e6, 1e6)]
    return all(
        one - EARLY_MS <= ms <= one + LATE_MS
        for medians in found.values()
        for ms, one in zip(medians, asked, strict=True)
    )


def as_recorded(found: list[int]) -> bool:
    before, gap, after = found
    return 115 <= before <= 132 and gap == 0 and after > 95


def settled(measure: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    """Measure, and again when it does not hold: a machine that other work slows down is waited for."""
    found = measure()
    for pause_s in (0, 1, 3, 6, 15):
        if holds(found):
            break
        time.sleep(pause_s)
        with ahead(()):
            found = measure()
    return found


def main() -> None:
    """Do all, print one JSON object."""
    answers: dict[str, Any] = {"idle": {}}
    with star(stations=2, congestion_control="reno") as network:
        held = {"held back": {**JITTER, "keep_order": False}, "in order": JITTER}
        todo: dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]] = {
            "uplinks": (lambda: rates(network, rate=1e6), own_rates),
            "copies": (lambda: held_back(network, rate=2e6, duplicate=0.3), lambda one: one["rate"] > 1.15 * 2e6),
            "order of its own": (lambda: order_of_its_own(network), lambda ms: abs(ms) < 6),
            "changed": (lambda: changed(network), as_changed),
            "traced": (lambda: traced(network), as_recorded),
        }
        for name, settings in held.items():
            todo[name] = partial(held_back, network, rate=2e6, **settings), lambda one: near(one["rate"], 2e6, 0.1)
        for name, settings in IDLE.items():
            answers["idle"][name] = settled(partial(idle, network, **settings), partial(on_time, name))
        answers |= {name: settled(measure, holds) for name, (measure, holds) in todo.items()}
        answers["not paid"] = idle(network, times_frames=False, **IDLE["duplex"])
        with one_netem_for_all():
            answers["one netem"] = rates(network, rate=1e6)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
