"""Timelines: when changes of the link are in force, by the packets that meet them and by the player's own record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accuracy.bench import Line, Measure, applied, offset_ns, together, way
from emulation.link.link import playing
from emulation.profile.media import MediumName
from emulation.proof.probe import MIN_FRAME, Arrivals
from emulation.tc.player import Played
from topologies.network import Network

_HEAD_START_S = 0.3
_CYCLE_S = 0.12  # a change every 60 ms
_SLOW, _FAST, _SMALL_FRAME = 2e6, 8e6, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who makes the link, how far apart packets are that see a change, and how late it may be, None = told only."""

    made_by: MediumName = "tc"
    spacing_s: float = 0.0005
    late_ms: float | None = 5.0


_USUAL = Asked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What became of packets sent evenly while a timeline was played.  due_s: of each change, on the packets' clock."""

    sent: int
    arrivals: Arrivals
    played: tuple[Played, ...]
    due_s: np.ndarray
    sent_at_s: np.ndarray

    @property
    def delay_s(self) -> np.ndarray:
        """Of each packet by its number; infinite when it did not arrive."""
        found = np.full(self.sent, np.inf)
        found[self.arrivals.number[::-1]] = ((self.arrivals.received_ns - self.arrivals.sent_ns) / 1e9)[::-1]
        return found


def cross(network: Network, events: Sequence[dict[str, Any]], *, spacing_s: float, frame: int = MIN_FRAME,
          direction: str = "uplink", **settings: Any) -> Crossing:  # fmt: skip
    """Send frames at a steady pace while a timeline of these events is played."""
    seconds = events[-1]["at"] + 0.3
    packets = int((seconds + _HEAD_START_S) / spacing_s)
    with (
        applied(network, timeline_s=seconds, timeline=list(events), **settings) as (plan, link),
        way(network, direction) as path,
        playing(link) as player,
    ):
        path.wait(1, in_order=False)
        time.sleep(0.2)  # the player's thread opens its sockets
        wall = offset_ns()
        began = time.time_ns()
        player.start(began - wall + round(_HEAD_START_S * 1e9))
        together([lambda: path.hand_over([frame] * packets, spacing_s=spacing_s)])
        arrivals = path.collect(packets)
    # Packets that were lost are not there to say when they were sent: their pace does.
    sent_at = np.interp(np.arange(packets), arrivals.number, (arrivals.sent_ns - began) / 1e9)
    due = np.array([step.at_s for step in plan.steps]) + _HEAD_START_S
    return Crossing(sent=packets, arrivals=arrivals, played=tuple(player.played), due_s=due, sent_at_s=sent_at)


def outages(network: Network, quick: bool, asked: Asked = _USUAL) -> Iterator[Line]:
    """Outages of 60 ms, the first packet that is lost and the first that gets through again."""
    count = 15 if quick else 60
    events = [{"at": 0.06 + number * _CYCLE_S, "outage": _CYCLE_S / 2} for number in range(count)]
    for direction in ("uplink", "downlink"):
        seen = cross(network, events, spacing_s=asked.spacing_s, made_by=asked.made_by, direction=direction)
        yield from _edges(f"outage, {direction}", asked, seen, np.isinf(seen.delay_s))


def steps(network: Network, quick: bool, asked: Asked = _USUAL) -> Iterator[Line]:
    """Delay steps between 5 and 15 ms, without order so that packets do not wait for older ones."""
    count = 15 if quick else 60
    changes = [
        {"at": 0.06 + number * _CYCLE_S / 2, "change": {"delay": (0.015, 0.005)[number % 2]}}
        for number in range(2 * count)
    ]
    seen = cross(network, changes, spacing_s=asked.spacing_s, made_by=asked.made_by, delay=0.005, keep_order=False)
    yield from _edges("delay step", asked, seen, seen.delay_s > 0.01)
    handover = {"lasts": _CYCLE_S / 2, "extra_delay": 0.01}
    events = [{"at": 0.06 + number * _CYCLE_S, "handover": handover} for number in range(count)]
    seen = cross(network, events, spacing_s=asked.spacing_s, made_by=asked.made_by, delay=0.005, keep_order=False)
    yield from _edges("handover", asked, seen, seen.delay_s > 0.01)


def rate_steps(network: Network, quick: bool, asked: Asked = _USUAL) -> Iterator[Line]:
    """Rate steps between 2 and 8 Mbit/s under a greedy sender: by the pace at which frames leave the queue."""
    count = 30 if quick else 120
    changes = [
        {"at": 0.06 + number * _CYCLE_S / 2, "change": {"rate": (_FAST, _SLOW)[number % 2]}} for number in range(count)
    ]
    seen = cross(network, changes, spacing_s=_SMALL_FRAME * 8 / (1.2 * _FAST), frame=_SMALL_FRAME,
                 rate=_SLOW, queue_bytes=20_000, made_by=asked.made_by)  # fmt: skip
    # Moments are here those at which frames left the queue, on the clock of their sending.
    left = np.sort(seen.arrivals.received_ns) - seen.arrivals.sent_ns[0] + seen.sent_at_s[seen.arrivals.number[0]] * 1e9
    yield from _late("rate step", asked, seen, _rate_changes(left / 1e9, seen.due_s))


def _rate_changes(left: np.ndarray, due: np.ndarray) -> np.ndarray:
    """How long after each due moment the rate changed: by how many frames left in the 25 ms on both sides of it."""
    slow, fast, side = _SLOW / (_SMALL_FRAME * 8), _FAST / (_SMALL_FRAME * 8), 0.025
    counts = np.searchsorted(left, due + side) - np.searchsorted(left, due - side)
    missing = side * (slow + fast) - counts
    return np.where(np.arange(len(due)) % 2 == 0, missing, -missing) / (fast - slow)


def _edges(name: str, asked: Asked, seen: Crossing, on: np.ndarray) -> Iterator[Line]:
    yield from _late(name, asked, seen, _first_changes(seen.sent_at_s, on, seen.due_s))


def _first_changes(times: np.ndarray, on: np.ndarray, due: np.ndarray) -> np.ndarray:
    """How long (s) after each due moment the first packet met what it should; changes alternate, on first.

    Negative when a packet before the moment met it already.
    """
    found = []
    for number, moment in enumerate(due):
        wanted = number % 2 == 0
        near = (times > moment - _CYCLE_S / 4) & (times < moment + _CYCLE_S / 2 - 0.005)
        hits = times[near & (on == wanted)]
        found.append(hits[0] - moment if len(hits) else np.inf)
    return np.array(found)


def _late(name: str, asked: Asked, seen: Crossing, late: np.ndarray) -> Iterator[Line]:
    by_packets, by_log = late * 1e3, np.array([one.late_s for one in seen.played]) * 1e3
    # A packet that was sent just before a change can meet it on its way.
    note = f"median {np.median(by_packets):.2f}, earliest {by_packets.min():.2f}"
    yield Line(what=f"{name}: latest of {len(late)}, by packets", unit="ms", asked=0, delivered=float(by_packets.max()),
               low=None, high=asked.late_ms, note=note)  # fmt: skip
    yield Line(what=f"{name}: latest, by the player", unit="ms", asked=0, delivered=float(by_log.max()),
               low=None, high=asked.late_ms, note=f"median {np.median(by_log):.2f}")  # fmt: skip


MEASURES = (
    Measure(name="outage", kernels=("host", "lab"), run=outages),
    Measure(name="rate-step", kernels=("host", "lab"), run=rate_steps),
    Measure(name="delay-step", kernels=("lab",), run=steps),
)
