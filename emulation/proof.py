"""Link proof: what was asked of a link against what it delivered, by probes before and by counters during a trial."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from emulation import distribution, expectation, kernel, linkplan
from emulation.direction import FULL_FRAME, DirectionProfile
from emulation.lanes import rate_seconds, shared_uses
from emulation.linkplan import LinkPlan
from emulation.loss import DIRECTIONS, Direction, SeededLosses
from emulation.losstable import LossCount
from emulation.order import order_check, order_is_kept, reordering_check
from emulation.player import Played
from emulation.probe import HURRY_S, MIN_FRAME, PORT, Arrivals, probe_path
from emulation.sidebyside import FRAMES_PER_S, Burst, Clock, Lane, run
from emulation.timeline import LinkState
from results.link import LinkCheck

# The default experiment's 24 trials, probed while their broker started on the same two cores, delivered 99.7 to
# 100.1 % of the rate and at most 0.04 ms of delay (their link.json); stalls of a busy machine need the rest.
RATE_TOLERANCE = 0.02
DELAY_TOLERANCE_S = 0.001
# A change is in force within 5 ms (benchmarks/emulation_accuracy.py); what is later than this spoils a trial.
CHANGE_TOLERANCE_S = 0.02
RATE_TRIES = 3
_MIN_RATE_FRAMES = 30
_MOST_RATE_S, _SMALL_FRAME = 3.0, 200
# None of so many is found to be too few (emulation.expectation), where it does not take longer than that.
_RARE_PACKETS, _RARE_S = 15, 4.0
_APART_FRAMES = 3  # that would fit between a burst that uses a medium up and the next one
_GROUPS_TOGETHER = 64  # each has four sockets open
_OVERLOAD = 0.98  # of a frame's airtime: paced so, the queue never empties and does not overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """How many packets a proof sends each way.  The defaults take a trial a second or two.

    delay, jitter: single packets, on a link without and with jitter; fewer, where they take longer than `delay_s`
    seconds.  apart: how far apart they are sent at least, in jitters: nearer ones wait for each other where order is
    kept.  loss: small packets; more of them, up to `loss_most`, where they take no longer than `loss_s` seconds.
    rate_s: seconds that the burst of full frames takes; less where many take turns (emulation.lanes).
    """

    delay: int = 20
    jitter: int = 200
    delay_s: float = 60.0
    apart: float = 0.0
    loss: int = 300
    loss_most: int = 300
    loss_s: float = 0.0
    rate_s: float = 0.5


USUAL = Samples()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two hosts that a probe goes between: processes in their namespaces, and addresses."""

    station_pid: int
    station_address: str
    wired_pid: int
    wired_address: str


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
    clock: Clock | None = None,
) -> tuple[LinkCheck, ...]:  # fmt: skip
    """Measure a group in one direction while the link is in `state`; as `probe_link`, right after it was applied."""
    with ExitStack() as paths:
        (checks,) = run([_lane(plan, state, ends, samples, paths, way=way, port=PORT)], clock=clock)
    return tuple(checks)


def _lane(
    plan: LinkPlan, state: LinkState, ends: Ends, samples: Samples, paths: ExitStack, *, way: tuple[int, Direction],
    port: int,
) -> Lane[list[LinkCheck]]:  # fmt: skip
    """The probe of one group's direction (`way`) in a state of the link, and the path that it goes through."""
    one, (_, direction) = linkplan.side(state, *way), way
    station, wired = (ends.station_pid, ends.station_address), (ends.wired_pid, ends.wired_address)
    (from_pid, _), (to_pid, to_address) = (station, wired) if direction == "uplink" else (wired, station)
    path = paths.enter_context(probe_path(from_pid=from_pid, to_pid=to_pid, to_address=to_address, port=port))
    waits = one.queue_limit_bytes / FULL_FRAME * one.airtime(FULL_FRAME)
    in_order = one.keep_order and not one.reorder and not one.duplicate
    path.wait(0.2 + one.delay + distribution.longest(one) + waits, in_order=in_order)
    steps = _probe_direction(one, plan.in_force(state, *way), samples)
    return Lane(path, steps, shared_uses(plan, *way))


def _probe_direction(
    side: DirectionProfile, loss: SeededLosses, samples: Samples
) -> Generator[Burst, Arrivals, list[LinkCheck]]:
    frame_s = side.airtime(MIN_FRAME)
    parts = [(yield Burst(size=MIN_FRAME, paced=1))]  # pays for cold caches
    spacing = max(0.002, 2 * frame_s, samples.apart * side.jitter)
    packets = min(samples.jitter if side.jitter else samples.delay, int(samples.delay_s / spacing))
    # Twice what it uses: half of a medium stays free, so that a packet finds it idle.
    parts.append((yield Burst(size=MIN_FRAME, paced=packets, spacing_s=spacing, share=2 * frame_s / spacing)))
    checks = list(delay_checks(side, loss.direction, parts[-1], spacing_s=spacing))
    if side.rate:
        checks.append((yield from _probe_rate(side, loss, parts, samples.rate_s)))
    spacing = max(frame_s, side.delay / 20, 2 * HURRY_S / room(side))
    packets = loss_packets(side, samples, spacing)
    parts.append((yield Burst(size=MIN_FRAME, paced=packets, spacing_s=spacing, share=frame_s / spacing)))
    if side.reorder:
        checks.append(reordering_check(side, loss.direction, parts[-1]))
    elif order_is_kept(side):
        checks.append(order_check(loss.direction, parts))
    checks.append(losses_check(side, loss, parts, sent=sum(part.sent for part in parts)))
    checks.append(duplicates_check(side, loss.direction, parts))
    return checks


def room(side: DirectionProfile) -> int:
    """How many small frames wait in the queue at least."""
    return side.queue_packets or side.queue_limit_bytes // MIN_FRAME


def loss_packets(side: DirectionProfile, samples: Samples, spacing_s: float) -> int:
    """Enough to see what happens to few packets only, were it absent."""
    rare = [share for share in (side.duplicate, side.reorder, side.corrupt) if share]
    wanted = max(samples.loss, min(int(_RARE_PACKETS / min(rare, default=1)), int(_RARE_S / spacing_s)))
    return max(wanted, min(samples.loss_most, int(samples.loss_s / max(spacing_s, 1e-4))))


def _probe_rate(
    side: DirectionProfile, loss: SeededLosses, parts: list[Arrivals], seconds: float
) -> Generator[Burst, Arrivals, LinkCheck]:
    """A stall of this machine makes a burst too slow or, in its first packet, too fast; then it is sent again."""
    size = rate_frame_bytes(side, seconds)
    for _ in range(RATE_TRIES):
        at_once, paced = rate_frames(side, seconds)
        lasts_s = (at_once + paced + _APART_FRAMES) * side.airtime(size)
        spacing_s = side.airtime(size) * _OVERLOAD
        burst = Burst(size=size, at_once=at_once, paced=paced, spacing_s=spacing_s, lasts_s=lasts_s, share=1.0)
        parts.append((yield burst))
        check = rate_check(side, loss, parts[-1])
        if check.holds:
            break
    return check


def rate_frame_bytes(side: DirectionProfile, seconds: float = USUAL.rate_s) -> int:
    """The size of a rate probe's frames: full ones, but on a slow link such that the fewest there are take seconds.

    Where many take turns, and so have less than the usual time each, they take no longer than that.
    """
    assert side.rate is not None
    longest_s = seconds if seconds < USUAL.rate_s else _MOST_RATE_S
    fitting = (longest_s / _MIN_RATE_FRAMES - side.frame_overhead) * side.rate / 8
    return int(min(max(fitting, _SMALL_FRAME), FULL_FRAME))


def rate_frames(side: DirectionProfile, seconds: float = USUAL.rate_s) -> tuple[int, int]:
    """How many frames a rate probe sends at once, and how many after that at a pace just above the rate.

    What takes that many seconds, at once as far as it waits in the queue.
    """
    size = rate_frame_bytes(side, seconds)
    wanted = max(int(seconds / side.airtime(size)), _MIN_RATE_FRAMES)
    room = max(int((side.queue_packets or side.queue_limit_bytes / size) * 0.9), 2)
    if wanted <= room:
        return wanted, 0
    at_once = room // 2 + _passes_at_once(side, size)
    return at_once, min(wanted, int(room / 2 / (1 - _OVERLOAD)))


def _passes_at_once(side: DirectionProfile, size: int) -> int:
    assert side.rate is not None
    return (side.burst_bytes or kernel.burst_bytes(side.rate)) // size + 1


def delay_checks(
    side: DirectionProfile, direction: Direction, arrivals: Arrivals, *, spacing_s: float
) -> Iterator[LinkCheck]:
    """Median one-way delay of single small packets, the emulated transmission time included, and its spread."""
    delay = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    runs = expectation.delays(side, packets=max(len(delay), 1), spacing_s=spacing_s)
    median = expectation.median_delay(runs)
    detail = f"{len(delay)} packets of {MIN_FRAME} bytes on an idle link"
    yield LinkCheck(
        quantity="delay",
        direction=direction,
        source="probe",
        asked=side.delay,
        delivered=float(np.median(delay)) if len(delay) else float("inf"),
        # A bucket lets a packet pass at once when it is full, as it is for a single packet on an idle link.
        low=median.low,
        high=median.high + side.airtime(MIN_FRAME) + DELAY_TOLERANCE_S,
        detail=f"median of {detail}",
    )
    if side.jitter:
        spread = expectation.spread(runs)
        quartiles = np.percentile(delay, [25, 75]) if len(delay) else np.array([0.0, np.inf])
        yield LinkCheck(
            quantity="jitter",
            direction=direction,
            source="probe",
            asked=float(np.median(np.subtract(*np.percentile(runs, [75, 25], axis=1)))),
            delivered=float(quartiles[1] - quartiles[0]),
            low=max(spread.low - DELAY_TOLERANCE_S / 2, 0.0),
            high=spread.high + DELAY_TOLERANCE_S,
            detail=f"interquartile range of the delays of {detail}",
        )


def rate_check(side: DirectionProfile, loss: SeededLosses, burst: Arrivals) -> LinkCheck:
    """Rate of a burst of frames of one size that waited in the queue, after the bucket was empty.

    An uplink packet that was lost has used the air before (loss comes after the air), a downlink one has not.
    """
    assert side.rate is not None
    size = int(burst.frame_bytes[0]) if len(burst.frame_bytes) else FULL_FRAME
    skip = _passes_at_once(side, size)
    number, received = burst.number[skip:], burst.received_ns[skip:]
    asked = size * 8 / side.airtime(size)
    delivered, seconds = 0.0, 1.0
    if len(number) > 1:
        passed = number - number.min()
        if loss.direction == "downlink":
            passed -= np.cumsum(loss.lists(np.arange(number.min(), number.max() + 1)))[passed]
        times = (received - received.min()) / 1e9
        seconds = float(times.max())
        # With jitter a line through all, because the first and the last one may be the odd ones.
        frames_per_s = float(1 / np.polyfit(passed, times, 1)[0] if side.jitter else passed.max() / seconds)
        delivered = frames_per_s * size * 8
    tolerance = RATE_TOLERANCE + 4 * side.jitter / seconds
    return LinkCheck(
        quantity="rate",
        direction=loss.direction,
        source="probe",
        asked=asked,
        delivered=delivered,
        low=asked * (1 - tolerance),
        high=asked * (1 + tolerance),
        detail=f"burst of {burst.sent} frames of {size} bytes",
    )


def losses_check(side: DirectionProfile, loss: SeededLosses, parts: Sequence[Arrivals], *, sent: int) -> LinkCheck:
    """Packets whose fate differs from the list's: none is tolerated, but for those that were to be damaged."""
    arrived = np.zeros(sent, dtype=bool)
    for part in parts:
        arrived[part.number] = True
    listed = loss.lists(np.arange(sent))
    wrong = int(np.count_nonzero(arrived == listed))
    damaged = expectation.corrupted(int(np.count_nonzero(~listed)), side.corrupt)
    return LinkCheck(
        quantity="losses",
        direction=loss.direction,
        source="probe",
        asked=side.corrupt * sent,
        delivered=wrong,
        low=damaged.low,
        high=damaged.high,
        detail=f"{sent} packets sent, {int(listed.sum())} listed, {int((~arrived).sum())} did not arrive",
    )


def duplicates_check(side: DirectionProfile, direction: Direction, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets that arrived more than once."""
    numbers = np.concatenate([part.number for part in parts])
    once = len(np.unique(numbers))
    expected = expectation.binomial(once, side.duplicate)
    return LinkCheck(
        quantity="duplicates",
        direction=direction,
        source="probe",
        asked=side.duplicate * once,
        delivered=len(numbers) - once,
        low=expected.low,
        high=expected.high,
        detail=f"of {once} packets",
    )


def loss_checks(losses: Sequence[SeededLosses], counts: Sequence[LossCount]) -> tuple[LinkCheck, ...]:
    """The loss stage's counters over a whole trial against the list: drops must agree.

    The two counters are not read at one instant: a packet that passes meanwhile may be in one and not in the other.
    """
    return tuple(_loss_check(loss, count) for loss, count in zip(losses, counts, strict=True))


def _loss_check(loss: SeededLosses, count: LossCount) -> LinkCheck:
    seen = max(count.seen, 1)
    return LinkCheck(
        quantity="loss",
        direction=loss.direction,
        source="trial",
        asked=loss.share,
        delivered=count.dropped / seen,
        low=loss.dropped_of(max(count.seen - 1, 0)) / seen,
        high=loss.dropped_of(count.seen + 1) / seen,
        detail=f"{count.dropped} of {count.seen} packets dropped, {loss.dropped_of(count.seen)} listed ({loss.name})",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUse:
    """What one queue carried in `seconds`, between two readings.

    rate: bit/s in the mean, a timeline's changes counted.  carried_bits: what could have passed in the time that its
    frames took (results.airtime.carried).  at_once_bits: what passes when a pause has filled the bucket.
    changes_bits: what changes of the rate may have let through or held back.  never_empty: whether packets
    certainly waited all the time.
    """

    name: str
    direction: Direction
    rate: float
    seconds: float
    carried_bits: float
    at_once_bits: float
    never_empty: bool
    changes_bits: float = 0.0


def trial_rate_check(use: QueueUse) -> LinkCheck:
    """A queue may never carry more than its rate, and must carry that when packets waited in it all the time."""
    changes = use.changes_bits / use.seconds
    return LinkCheck(
        quantity="rate",
        direction=use.direction,
        source="trial",
        asked=use.rate,
        delivered=use.carried_bits / use.seconds,
        low=use.rate * (1 - RATE_TOLERANCE) - changes if use.never_empty else 0.0,
        high=use.rate * (1 + RATE_TOLERANCE) + use.at_once_bits / use.seconds + changes,
        detail=f"{use.name}: {'never' if use.never_empty else 'perhaps sometimes'} empty",
    )


def timeline_checks(plan: LinkPlan, played: Sequence[Played], *, until_s: float) -> tuple[LinkCheck, ...]:
    """Whether every change of the link that was due before `until_s` came, and how late the latest one was."""
    due = [step for step in plan.steps if step.at_s <= until_s]
    if not due:
        return ()
    worst = max((one.late_s for one in played), default=0.0) if len(played) >= len(due) else float("inf")
    return (
        LinkCheck(
            quantity="change",
            direction="uplink",
            source="trial",
            asked=0,
            delivered=worst,
            low=0,
            high=CHANGE_TOLERANCE_S,
            detail=f"the latest of {len(played)} changes; {len(due)} were due",
        ),
    )
