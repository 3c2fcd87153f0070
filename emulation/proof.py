"""Link proof: what was asked of a link against what it delivered, by probes before and by counters during a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from emulation.loss import Direction, SeededLosses
from emulation.losstable import LossCount
from emulation.probe import FULL_FRAME, MIN_FRAME, Arrivals, ProbePath, probe_path
from emulation.profile import DirectionProfile, LinkProfile
from emulation.shaper import QueueCount, burst_bytes
from results.link import LinkCheck

# The default experiment's 24 trials, probed while their broker started on the same two cores, delivered 99.7 to
# 100.1 % of the rate and at most 0.04 ms of delay (their link.json); stalls of a busy machine need the rest.
RATE_TOLERANCE = 0.02
DELAY_TOLERANCE_S = 0.001
_DELAY_PROBES = 20
_LOSS_PROBES = 300
_RATE_SECONDS = 0.5
_RATE_TRIES = 3
_MIN_RATE_FRAMES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two hosts that a probe goes between: processes in their namespaces, and addresses."""

    station_pid: int
    station_address: str
    wired_pid: int
    wired_address: str


def probe_link(profile: LinkProfile, ends: Ends, losses: Sequence[SeededLosses]) -> tuple[LinkCheck, ...]:
    """Measure delay, rate and losses in both directions.  Nothing else may use the link meanwhile.

    Must run right after the profile was applied: the losses are compared packet by packet with the lists, whose
    numbering starts then.
    """
    return tuple(check for loss in losses for check in _probe_direction(profile, ends, loss))


def _probe_direction(profile: LinkProfile, ends: Ends, loss: SeededLosses) -> Iterator[LinkCheck]:
    side: DirectionProfile = getattr(profile, loss.direction)
    station, wired = (ends.station_pid, ends.station_address), (ends.wired_pid, ends.wired_address)
    (from_pid, _), (to_pid, to_address) = (station, wired) if loss.direction == "uplink" else (wired, station)
    with probe_path(from_pid=from_pid, to_pid=to_pid, to_address=to_address) as path:
        frame_s = MIN_FRAME * 8 / side.rate if side.rate else 0.0
        path.wait(0.2 + 2 * side.delay + side.queue_bytes * 8 / (side.rate or 1e9))
        cold = path.send([MIN_FRAME])  # pays for cold caches
        delays = path.send([MIN_FRAME] * _DELAY_PROBES, spacing_s=max(0.002, 2 * frame_s))
        parts = [cold, delays]
        yield delay_check(side, loss.direction, delays, transmission_s=frame_s)
        if side.rate:
            yield _probe_rate(side, loss.direction, path, parts)
        parts.append(path.send([MIN_FRAME] * _LOSS_PROBES, spacing_s=frame_s))
        yield losses_check(loss, parts, sent=path.sent)
        yield duplicates_check(loss.direction, parts)


def _probe_rate(side: DirectionProfile, direction: Direction, path: ProbePath, parts: list[Arrivals]) -> LinkCheck:
    """A stall of this machine can only make a burst slower, so a burst that was too slow is sent again."""
    for _ in range(_RATE_TRIES):
        parts.append(path.send([FULL_FRAME] * rate_frames(side)))
        check = rate_check(side, direction, parts[-1])
        if check.delivered >= check.low:
            break
    return check


def rate_frames(side: DirectionProfile) -> int:
    """How many full frames a rate probe sends: half a second's worth, but no more than wait in the queue."""
    assert side.rate is not None
    wanted = max(int(side.rate * _RATE_SECONDS / 8 / FULL_FRAME), _MIN_RATE_FRAMES)
    return max(min(wanted, int(side.queue_bytes * 0.9 / FULL_FRAME)), 2)


def delay_check(
    side: DirectionProfile, direction: Direction, arrivals: Arrivals, *, transmission_s: float
) -> LinkCheck:
    """Median one-way delay of single small packets, the emulated transmission time included."""
    delay = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    # tbf lets a packet pass at once when its bucket is full, as it is for a single packet on an idle link.
    low, high = side.delay, side.delay + transmission_s + DELAY_TOLERANCE_S
    return LinkCheck(
        quantity="delay",
        direction=direction,
        source="probe",
        asked=side.delay,
        delivered=float(np.median(delay)) if len(delay) else float("inf"),
        low=low,
        high=high,
        detail=f"median of {len(delay)} packets of {MIN_FRAME} bytes on an idle link",
    )


def rate_check(side: DirectionProfile, direction: Direction, burst: Arrivals) -> LinkCheck:
    """Rate of a burst of full frames that waited in the queue, after the bucket was empty.

    An uplink packet that was lost has used the air before (loss comes after the air), a downlink one has not.
    """
    assert side.rate is not None
    skip = burst_bytes(side.rate) // FULL_FRAME + 1
    number, received = burst.number[skip:], burst.received_ns[skip:]
    delivered = 0.0
    if len(number) > 1:
        frames = number[-1] - number[0] if direction == "uplink" else len(number) - 1
        delivered = float(frames * FULL_FRAME * 8 / ((received[-1] - received[0]) / 1e9))
    return LinkCheck(
        quantity="rate",
        direction=direction,
        source="probe",
        asked=side.rate,
        delivered=delivered,
        low=side.rate * (1 - RATE_TOLERANCE),
        high=side.rate * (1 + RATE_TOLERANCE),
        detail=f"burst of {burst.sent} frames of {FULL_FRAME} bytes",
    )


def losses_check(loss: SeededLosses, parts: Sequence[Arrivals], *, sent: int) -> LinkCheck:
    """Packets whose fate differs from the list's: none is tolerated."""
    arrived = np.zeros(sent, dtype=bool)
    for part in parts:
        arrived[part.number] = True
    listed = np.zeros(sent, dtype=bool)
    listed[loss.indices[loss.indices < sent]] = True
    wrong = int(np.count_nonzero(arrived == listed))
    return LinkCheck(
        quantity="losses",
        direction=loss.direction,
        source="probe",
        asked=0,
        delivered=wrong,
        low=0,
        high=0,
        detail=f"{sent} packets sent, {int(listed.sum())} listed, {int((~arrived).sum())} did not arrive",
    )


def duplicates_check(direction: Direction, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets that arrived more than once."""
    numbers = np.concatenate([part.number for part in parts])
    return LinkCheck(
        quantity="duplicates",
        direction=direction,
        source="probe",
        asked=0,
        delivered=len(numbers) - len(np.unique(numbers)),
        low=0,
        high=0,
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
        detail=f"{count.dropped} of {count.seen} packets dropped, {loss.dropped_of(count.seen)} listed",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUse:
    """What one queue carried in `seconds`, between two readings.

    never_empty: whether packets certainly waited all the time.
    """

    direction: Direction
    rate: float
    seconds: float
    before: QueueCount
    after: QueueCount
    never_empty: bool


def trial_rate_check(use: QueueUse) -> LinkCheck:
    """A queue may never carry more than its rate, and must carry that when packets waited in it all the time."""
    carried = (use.after.bytes - use.before.bytes) * 8 / use.seconds
    slack = burst_bytes(use.rate) * 8 / use.seconds
    return LinkCheck(
        quantity="rate",
        direction=use.direction,
        source="trial",
        asked=use.rate,
        delivered=carried,
        low=use.rate * (1 - RATE_TOLERANCE) if use.never_empty else 0.0,
        high=use.rate * (1 + RATE_TOLERANCE) + slack,
        detail=f"{use.after.name}: {'never' if use.never_empty else 'perhaps sometimes'} empty",
    )
