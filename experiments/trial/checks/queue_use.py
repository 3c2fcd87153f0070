"""What a link's queues carried in the window, each frame at what it cost when it was sent, and the rates set in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from emulation.kernel import kernel
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan, Queue
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.proof.trialproof import QueueUse
from emulation.tc.player import Played
from emulation.tc.queuecounts import QueueCount
from experiments.trial.checks.backlogs import Backlog, backlogs, sampled
from records.airtime import Steps, capacity, carried
from records.schema import resources_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What limits a queue from a moment (CLOCK_MONOTONIC, ns) on, 0 = from the beginning; held: nothing passes."""

    t_ns: int
    medium: DirectionProfile
    held: bool = False

    @property
    def rate(self) -> float:
        """Bit/s."""
        return 0.0 if self.held else self.medium.rate or 0.0


def limits(plan: LinkPlan, played: Sequence[Played], queue: Queue) -> list[Limit]:
    """A queue's limits one after the other: the first, and each change of rate or overhead."""
    found = [Limit(t_ns=0, medium=linkplan.medium(queue, plan.first))]
    for step, one in zip(plan.steps, played, strict=False):
        new = Limit(
            t_ns=one.t_ns, medium=linkplan.medium(queue, step.state), held=queue.direction in step.state.held
        )  # fmt: skip
        was = found[-1]
        if (new.rate, new.medium.frame_overhead) != (was.rate, was.medium.frame_overhead):
            found.append(new)
    return found


def queue_uses(
    plan: LinkPlan,
    played: Sequence[Played],
    resources: pa.Table,
    ends: tuple[tuple[int, Sequence[QueueCount]], tuple[int, Sequence[QueueCount]]],
) -> list[QueueUse]:
    """Of each queue, between two readings (CLOCK_MONOTONIC ns, the counters of all queues then).

    resources: samples meanwhile, which say when the frames were sent where what they cost has changed.
    """
    (start_ns, before), (end_ns, after) = ends
    waited = backlogs(resources, start_ns, end_ns)
    sent = {metric: sampled(resources, metric, start_ns, end_ns) for metric in ("sent_bytes", "sent_packets")}
    return [
        _use(limits(plan, played, queue), waited, sent, queue, ((start_ns, first), (end_ns, last)))
        for queue, first, last in zip(linkplan.queues(plan), before, after, strict=True)
    ]


Read = tuple[int, QueueCount]
Samples = Mapping[str, tuple[np.ndarray, np.ndarray]]  # of each queue, times (ns) and values
_NO_SAMPLES = (np.empty(0), np.empty(0))


def _use(
    found: Sequence[Limit], waited: Mapping[str, Backlog], samples: Mapping[str, Samples], queue: Queue,
    ends: tuple[Read, Read],
) -> QueueUse:  # fmt: skip
    start, end = ends
    (start_ns, _), (end_ns, after) = ends
    seconds = (end_ns - start_ns) / 1e9
    until = [one.t_ns for one in found[1:]] + [end_ns]
    inside = [one for one, over in zip(found, until, strict=True) if over > start_ns and one.t_ns < end_ns]
    steps = _steps(inside, start_ns)
    t_ns, sent, frames = _readings(samples, queue, start, end) if len(inside) > 1 else _two(start, end)
    bits = carried(steps, (t_ns - start_ns) / 1e9, sent, frames)
    largest = max(one.rate for one in inside)
    return QueueUse(
        name=after.name,
        direction=queue.direction,
        rate=float(np.diff(capacity(steps, np.array([0.0, seconds])))[0]) / seconds,
        seconds=seconds,
        carried_bits=float(bits[-1]),
        at_once_bits=max(map(_at_once_bits, inside)),
        never_empty=_one_limit(queue, inside) and queue.name in waited and waited[queue.name].never_empty(largest),
        changes_bits=sum(_change_bits(*pair, traced=queue.traced) for pair in pairwise(inside)),
    )


def _steps(found: Sequence[Limit], start_ns: int) -> Steps:
    """In seconds after `start_ns`."""
    return Steps(
        np.array([(one.t_ns - start_ns) / 1e9 if place else 0.0 for place, one in enumerate(found)]),
        np.array([one.rate for one in found]),
        np.array([one.medium.frame_overhead for one in found]),
    )


def _one_limit(queue: Queue, inside: Sequence[Limit]) -> bool:
    """Whether what waits could be sent at the medium's rate.

    Not what waits for a station that has a smaller rate of its own, nor in the gaps of a trace, whose steps make up
    for each other.
    """
    return len(queue.groups) == 1 and not (queue.traced and len(inside) > 1)


def _at_once_bits(one: Limit) -> float:
    """What a full bucket lets through, and the frame that was on its way."""
    rate = one.medium.rate or 0.0
    return (one.medium.burst_bytes or kernel.burst_bytes(rate)) * 8 + one.medium.airtime(FULL_FRAME) * rate


def _change_bits(was: Limit, now: Limit, *, traced: bool) -> float:
    """What a change lets through or holds back: a class sends its next frame when the last one is over as it began."""
    if traced:
        return FULL_FRAME * 8
    return was.medium.airtime(FULL_FRAME) * max(was.rate, now.rate)


def _two(start: Read, end: Read) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.array([start[0], end[0]]),
        np.array([start[1].bytes, end[1].bytes]),
        np.array([start[1].packets, end[1].packets]),
    )


def _readings(
    samples: Mapping[str, Samples], queue: Queue, start: Read, end: Read
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, bytes and frames of both readings and of the samples between them."""
    t_ns, sent = samples["sent_bytes"].get(queue.name, _NO_SAMPLES)
    _, frames = samples["sent_packets"].get(queue.name, _NO_SAMPLES)
    ends = _two(start, end)
    rows = [np.concatenate([two[:1], inner, two[1:]]) for two, inner in zip(ends, (t_ns, sent, frames), strict=True)]
    # The two were read by different threads: a counter must not seem to fall because its reader was held up.
    return rows[0], *(np.minimum(np.maximum.accumulate(one), one[-1]) for one in rows[1:])


def rates_set(plan: LinkPlan, played: Sequence[Played], *, since_ns: int) -> pa.Table:
    """The rates and overheads that a timeline has set, as rows of the trial's resources; the first at `since_ns`."""
    rows: list[tuple[int, str, str, float]] = []
    for queue in linkplan.queues(plan):
        found = limits(plan, played, queue)
        for one in found if len(found) > 1 else ():
            t_ns, subject = max(one.t_ns, since_ns), f"queue:{queue.name}"
            rows.append((t_ns, subject, "rate_bit_per_s", one.rate))
            rows.append((t_ns, subject, "frame_overhead_s", one.medium.frame_overhead))
    return resources_table(rows)
