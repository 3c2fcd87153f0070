"""Link proof: what was asked of a link against what it delivered, by probes before a trial."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from emulation.kernel import kernel
from emulation.plan.linkplan import LinkPlan
from emulation.profile import distribution
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.timeline import LinkState
from emulation.proof.asked import Asked, asked_of
from emulation.proof.delayproof import delay_checks
from emulation.proof.lanes import rate_seconds, shared_uses
from emulation.proof.lossproof import arrival_checks
from emulation.proof.order import order_checks
from emulation.proof.probe import HURRY_S, MIN_FRAME, PORT, Arrivals, ProbePath, probe_path
from emulation.proof.rateproof import USUAL_S, probe_rate
from emulation.proof.sidebyside import FRAMES_PER_S, Burst, Clock, Lane, run
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck

# None of so many is found to be too few (emulation.proof.expectation), where it does not take longer than that.
_RARE_PACKETS, _RARE_S = 15, 4.0
_GROUPS_TOGETHER = 64  # each has four sockets open
_FEWEST_FULL, _MOST_FULL = 3, 10
# So many single frames have to pass their lists, and so much longer (s) a probe may take for that.
_FEWEST_THROUGH, MORE_S = 3, 10.0
_ALONE_S, _FEWEST_ALONE = 4.0, 5  # what those take that have the link to themselves, and how many they are at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """How many packets a proof sends each way.  The defaults take a trial a second or two.

    delay, jitter: single packets, on a link without and with jitter; fewer, where they take longer than `delay_s`
    seconds.  apart: how far apart they are sent at least, in jitters: nearer ones wait for each other where order is
    kept.  loss: small packets; more of them, up to `loss_most`, where they take no longer than `loss_s` seconds.
    rate_s: seconds that the burst of full frames takes; less where many take turns (emulation.proof.lanes).  Single
    full frames take twice as long, or are three.
    """

    delay: int = 20
    jitter: int = 200
    delay_s: float = 60.0
    apart: float = 0.0
    loss: int = 300
    loss_most: int = 300
    loss_s: float = 0.0
    rate_s: float = USUAL_S


USUAL = Samples()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two hosts that a probe goes between: processes in their namespaces, and addresses."""

    station_pid: int
    station_address: str
    wired_pid: int
    wired_address: str


class End(NamedTuple):
    """A host: a process in its namespace, and its address."""

    pid: int
    address: str


def probe_link(plan: LinkPlan, ends: Mapping[int, Ends], samples: Samples = USUAL) -> tuple[LinkCheck, ...]:
    """Measure delay, rate, order and losses in both directions, for a station of each group that `ends` names.

    Nothing else may use the link meanwhile.  Must run right after the plan was applied: the losses are compared
    packet by packet with the lists, whose numbering starts then.
    """
    groups, found = list(ends), list[LinkCheck]()
    rate_s = rate_seconds(plan, groups, samples.rate_s, frames_per_s=FRAMES_PER_S[kernel.current()])
    samples = replace(samples, rate_s=rate_s)
    for first in range(0, len(groups), _GROUPS_TOGETHER):
        with ExitStack() as paths:
            some = [
                (group, direction) for group in groups[first : first + _GROUPS_TOGETHER] for direction in DIRECTIONS
            ]
            lanes = [
                _lane(plan, plan.first, ends[way[0]], samples, paths, way=way, port=PORT + number)
                for number, way in enumerate(some)
            ]
            found += [check for checks in run(lanes) for check in checks]
    return tuple(found)


def probe_way(
    plan: LinkPlan, state: LinkState, way: tuple[int, Direction], ends: Ends, samples: Samples = USUAL, *,
    station: str = "", clock: Clock | None = None,
) -> tuple[LinkCheck, ...]:  # fmt: skip
    """Measure a group in one direction while the link is in `state`; as `probe_link`, right after it was applied.

    station: the member of the group whose ends these are, '' = the first.
    """
    with ExitStack() as paths:
        lane = _lane(plan, state, ends, samples, paths, way=way, port=PORT, member=station)
        (checks,) = run([lane], clock=clock)
    return tuple(checks)


def _lane(
    plan: LinkPlan, state: LinkState, ends: Ends, samples: Samples, paths: ExitStack, *, way: tuple[int, Direction],
    port: int, member: str = "",
) -> Lane[list[LinkCheck]]:  # fmt: skip
    """The probe of one group's direction (`way`) in a state of the link, and the path that it goes through."""
    station, wired = End(ends.station_pid, ends.station_address), End(ends.wired_pid, ends.wired_address)
    sender, receiver = (station, wired) if way[1] == "uplink" else (wired, station)
    asked = asked_of(plan, state, *way, member)
    path = opened(asked, sender, receiver, paths, port=port)
    return Lane(path, probe_direction(asked, samples), shared_uses(plan, *way))


def opened(asked: Asked, sender: End, receiver: End, paths: ExitStack, *, port: int) -> ProbePath:
    """A path between two hosts that waits for what is asked of it as long as that can take."""
    one = asked.side
    watched = sender.address if asked.seeded and one.corrupt else ""
    path = paths.enter_context(
        probe_path(from_pid=sender.pid, to_pid=receiver.pid, to_address=receiver.address, port=port,
                   watched_address=watched)
    )  # fmt: skip
    waits = sum(hop.side.queue_limit_bytes / FULL_FRAME * hop.side.airtime(FULL_FRAME) for hop in asked.hops)
    late = sum(hop.side.delay + distribution.longest(hop.side) for hop in asked.hops)
    path.wait(0.2 + late + waits, in_order=one.keep_order and not one.reorder and not one.duplicate)
    return path


def probe_direction(asked: Asked, samples: Samples) -> Generator[Burst, Arrivals, list[LinkCheck]]:
    side = asked.side
    frame_s = side.airtime(MIN_FRAME)
    parts = [(yield Burst(size=MIN_FRAME, paced=1))]  # pays for cold caches
    checks: list[LinkCheck] = []
    for burst in single_frames(side, samples, alone_s=asked.alone_s):
        met = parts[-1].first + parts[-1].sent
        paced = _until_some_pass(asked, met, burst)
        parts.append((yield replace(burst, paced=paced)))
        if len(parts[-1].number) or not asked.lost(met + paced)[met:].all():
            checks += delay_checks(asked, parts[-1], size=burst.size, spacing_s=burst.spacing_s)
    if side.rate and (check := (yield from probe_rate(asked, parts, samples.rate_s))) is not None:
        checks.append(check)
    spacing = max(frame_s, side.delay / 20, 2 * HURRY_S / room(side))
    packets = loss_packets(side, samples, spacing)
    parts.append((yield Burst(size=MIN_FRAME, paced=packets, spacing_s=spacing, share=frame_s / spacing)))
    return [*checks, *order_checks(asked, parts), *arrival_checks(asked, parts)]


def _until_some_pass(asked: Asked, met: int, burst: Burst) -> int:
    """How many single frames to send: more than a burst has where the lists lose nearly all of those.

    met: how many packets went out before.
    """
    most = burst.paced + int(MORE_S / burst.spacing_s)
    through = np.flatnonzero(~asked.lost(met + most)[met:])
    return max(burst.paced, int(through[_FEWEST_THROUGH - 1]) + 1) if len(through) >= _FEWEST_THROUGH else most


def single_frames(side: DirectionProfile, samples: Samples, *, alone_s: float = 0.0) -> tuple[Burst, ...]:
    """Small frames so far apart that each finds the link idle, and where there is a rate full ones.

    Each has the medium to itself for twice its time, so that it finds it idle although senders are not punctual.
    alone_s: how far apart at least; then there are fewer of them.
    """
    frame_s = side.airtime(MIN_FRAME)
    apart = max(samples.apart * side.jitter, alone_s)
    most = max(int(_ALONE_S / alone_s), _FEWEST_ALONE) if alone_s else samples.jitter
    spacing = max(0.002, 2 * frame_s, apart)
    packets = min(samples.jitter if side.jitter else samples.delay, int(samples.delay_s / spacing), most)
    small = Burst(size=MIN_FRAME, paced=packets, spacing_s=spacing, share=2 * frame_s / spacing if side.jitter else 1.0)
    if not side.rate:
        return (small,)
    frame_s = side.airtime(FULL_FRAME)
    spacing = max(0.002 + frame_s, 1.1 * frame_s, apart)
    packets = min(max(int(2 * samples.rate_s / spacing), _FEWEST_FULL), _MOST_FULL)
    return small, Burst(size=FULL_FRAME, paced=packets, spacing_s=spacing, share=min(2 * frame_s / spacing, 1.0))


def room(side: DirectionProfile) -> int:
    """How many small frames wait in the queue at least."""
    return side.queue_packets or side.queue_limit_bytes // MIN_FRAME


def loss_packets(side: DirectionProfile, samples: Samples, spacing_s: float) -> int:
    """Enough to see what happens to few packets only, were it absent."""
    rare = [share for share in (side.duplicate, side.reorder, side.corrupt) if share]
    wanted = max(samples.loss, min(int(_RARE_PACKETS / min(rare, default=1)), int(_RARE_S / spacing_s)))
    return max(wanted, min(samples.loss_most, int(samples.loss_s / max(spacing_s, 1e-4))))
