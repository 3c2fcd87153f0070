"""The rate of a link by bursts of frames that wait in its queue."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from emulation.kernel import kernel
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.proof.asked import Asked
from emulation.proof.foretold import foretell, pairs
from emulation.proof.probe import Arrivals
from emulation.proof.sidebyside import Burst
from records.link import LinkCheck

# The default experiment's 24 trials, probed while their broker started on the same two cores, delivered 99.7 to
# 100.1 % of the rate (their link.json); stalls of a busy machine need the rest.
RATE_TOLERANCE = 0.02
RATE_TRIES = 3
USUAL_S = 0.5
_MIN_RATE_FRAMES = 30
_MOST_RATE_S, _SMALL_FRAME = 3.0, 200
_APART_FRAMES = 3  # that would fit between a burst that uses a medium up and the next one
_FEWEST_ARRIVALS = 2
_OVERLOAD = 0.98  # of a frame's airtime: paced so, the queue never empties and does not overflow


def probe_rate(asked: Asked, parts: list[Arrivals], seconds: float) -> Generator[Burst, Arrivals, LinkCheck | None]:
    """Bursts to send, whose arrivals are added to `parts`, and the check of the last one.

    A stall of this machine makes a burst too slow or, in its first packet, too fast; then it is sent again.  None where
    the lists leave none of the bursts two frames that wait, between which there would be a time.
    """
    side = asked.side
    size, check = rate_frame_bytes(side, seconds), None
    for _ in range(RATE_TRIES):
        at_once, paced = rate_frames(side, seconds, bucket=not asked.seeded)
        lasts_s = (at_once + paced + _APART_FRAMES) * side.airtime(size)
        spacing_s = side.airtime(size) * _OVERLOAD
        burst = Burst(size=size, at_once=at_once, paced=paced, spacing_s=spacing_s, lasts_s=lasts_s, share=1.0)
        met = parts[-1].first + parts[-1].sent
        parts.append((yield burst))
        passing = ~asked.lost(met + at_once + paced)[met:]
        if np.count_nonzero(passing[_first_that_waits(side, parts[-1], size) :]) < _FEWEST_ARRIVALS:
            continue
        check = time_check(asked, parts[-1]) if asked.parts else rate_check(asked, parts[-1])
        if check.holds:
            break
    return check


def rate_frame_bytes(side: DirectionProfile, seconds: float = USUAL_S) -> int:
    """The size of a rate probe's frames: full ones, but on a slow link such that the fewest there are take seconds.

    Where many take turns, and so have less than the usual time each, they take no longer than that.
    """
    assert side.rate is not None
    longest_s = seconds if seconds < USUAL_S else _MOST_RATE_S
    fitting = (longest_s / _MIN_RATE_FRAMES - side.frame_overhead) * side.rate / 8
    return int(min(max(fitting, _SMALL_FRAME), FULL_FRAME))


def rate_frames(side: DirectionProfile, seconds: float = USUAL_S, *, bucket: bool = True) -> tuple[int, int]:
    """How many frames a rate probe sends at once, and how many after that at a pace just above the rate.

    What takes that many seconds, at once as far as it waits in the queue.  bucket: whether some pass at once, as tc's
    bucket lets them; by the line all wait.
    """
    size = rate_frame_bytes(side, seconds)
    wanted = max(int(seconds / side.airtime(size)), _MIN_RATE_FRAMES)
    room = max(int((side.queue_packets or side.queue_limit_bytes / size) * 0.9), 2)
    if wanted <= room:
        return wanted, 0
    at_once = room // 2 + (_passes_at_once(side, size) if bucket else 0)
    return at_once, min(wanted, int(room / 2 / (1 - _OVERLOAD)))


def _passes_at_once(side: DirectionProfile, size: int) -> int:
    assert side.rate is not None
    return (side.burst_bytes or kernel.burst_bytes(side.rate)) // size + 1


def _first_that_waits(side: DirectionProfile, burst: Arrivals, size: int) -> int:
    """The place of the first frame of a burst that finds the bucket empty; of those before it where none does.

    A full bucket lets more through than it holds, as it fills while they are sent: at 1 Gbit/s a frame every 12 us,
    about as fast as they come.
    """
    assert side.rate is not None
    held_s = (side.burst_bytes or kernel.burst_bytes(side.rate)) * 8 / side.rate
    airtime_s, went_s = side.airtime(size), (burst.went_ns - burst.went_ns[:1]) / 1e9
    ahead_s = np.arange(len(went_s)) * airtime_s - went_s
    waits = ahead_s - np.minimum.accumulate(ahead_s) + airtime_s > held_s
    return max(int(waits.argmax()), _passes_at_once(side, size)) if waits.any() else _passes_at_once(side, size)


def rate_check(asked: Asked, burst: Arrivals) -> LinkCheck:
    """Rate of a burst of frames of one size that waited in the queue, after the bucket was empty.

    A packet that was lost has used the air before.
    """
    side, loss = asked.side, asked.loss
    assert side.rate is not None
    size = int(burst.frame_bytes[0]) if len(burst.frame_bytes) else FULL_FRAME
    number, received = _one_after_another(asked, burst)
    waited = number - burst.first >= _first_that_waits(side, burst, size)
    number, received = number[waited], received[waited]
    wanted = size * 8 / side.airtime(size)
    delivered, seconds = 0.0, 1.0
    if len(number) > 1:
        passed = number - number.min()
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
        asked=wanted,
        delivered=delivered,
        low=wanted * (1 - tolerance),
        high=wanted * (1 + tolerance),
        detail=f"burst of {burst.sent} frames of {size} bytes",
    )


def time_check(asked: Asked, burst: Arrivals) -> LinkCheck:
    """Rate of a burst through several directions, by when its last frame comes: against when it should.

    Those that wait for one air go up first and down again behind the others, so that their spacing says nothing.
    """
    due = foretell(asked, burst)
    mine, theirs = pairs(due, burst)
    size = int(burst.went_bytes[0])
    wanted, delivered, at_once = size * 8 / asked.side.airtime(size), 0.0, 0.0
    tolerance = RATE_TOLERANCE + 2 * (asked.side.duplicate / burst.sent) ** 0.5
    if len(mine):
        began = int(burst.went_ns[0]) + asked.side.delay * 1e9
        asked_s, seconds = ((int(at.max()) - began) / 1e9 for at in (due.at_ns[mine], burst.received_ns[theirs]))
        delivered = wanted * asked_s / seconds if seconds > 0 else float("inf")
        tolerance += 4 * asked.side.jitter / asked_s
        # What full buckets let through at once is early.
        buckets = [_passes_at_once(one.side, size) * one.side.airtime(size) for one in asked.hops if one.side.rate]
        passed = max(buckets) if asked.one_air else sum(buckets)
        if not asked.seeded and (asked.one_air or not asked.pays_for_frames):
            at_once = passed / max(asked_s - passed, passed)
    return LinkCheck(
        quantity="rate",
        direction=asked.direction,
        source="probe",
        asked=wanted,
        delivered=delivered,
        low=wanted * (1 - tolerance),
        high=wanted * (1 + tolerance) * (1 + at_once),
        detail=f"burst of {burst.sent} frames of {size} bytes, by when the last one came",
    )


def _one_after_another(asked: Asked, burst: Arrivals) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and arrivals of a burst, but for the packets that are known to have overtaken others."""
    number, received = burst.number, burst.received_ns
    if not (asked.seeded and asked.side.reorder and len(number)):
        return number, received
    fates = asked.fates(burst.first, burst.sent)
    waited = np.array([fate is not None and not fate.overtakes for fate in fates], dtype=bool)[number - burst.first]
    return number[waited], received[waited]
