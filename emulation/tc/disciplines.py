"""The queues of a link's state as queueing disciplines.  Pure: what has to be there, not how it comes to be."""

from __future__ import annotations

from emulation.kernel import kernel, qdisc
from emulation.kernel.qdisc import Discipline
from emulation.plan.linkplan import Queue, medium, side
from emulation.profile.direction import DirectionProfile
from emulation.profile.timeline import LinkState

# A class with next to no rate of its own borrows each turn from the medium.  A turn is a full frame, or as many smaller
# ones as have its bytes: a quantum below a frame would alternate frames, but then htb's deficit grows without end.
_NEXT_TO_NO_RATE = 8_000.0
_FIRST_LANE = 0x10
# Where a trace sets the rate: what goes through this lane uses the medium up for as long as nothing may pass.  Both
# lanes have no rate of their own (but one byte a second, which is the least there is), so that nothing gets past that.
_HOLDING_LANE = 0x8
_NO_RATE, _NO_LIMIT = 8.0, 8e9
HOLDING_CLASS = 0x10000 + _HOLDING_LANE


def of_queue(queue: Queue, state: LinkState) -> list[Discipline]:
    """The disciplines of a shaped queue's device, parents first."""
    whole = medium(queue, state)
    assert whole.rate is not None
    held = queue.direction in state.held
    # Nothing saved up may be left when a queue is held.
    burst = 0 if held else whole.burst_bytes or kernel.burst_bytes(whole.rate)
    lanes = len(queue.groups) > 1 or queue.traced
    options = qdisc.htb(default=_FIRST_LANE if lanes else 1)
    found = [
        Discipline(device=queue.name, handle=0x10000, parent=qdisc.ROOT, kind="htb", options=options),
        _class(queue, 0x10001, 0x10000, whole, guaranteed=whole.rate, burst=burst),
    ]
    if not lanes:
        return [*found, _fifo(queue, 0x20000, 0x10001, whole)]
    if queue.traced:
        free = whole.model_copy(update={"rate": _NO_LIMIT, "frame_overhead": 0.0})
        for lane, rank in ((_HOLDING_LANE, 0), (_FIRST_LANE, 1)):
            found.append(_class(queue, 0x10000 + lane, 0x10001, free, guaranteed=_NO_RATE, burst=burst, rank=rank))
        return [*found, _fifo(queue, 0x20000, 0x10000 + _FIRST_LANE, whole)]
    # What classes are guaranteed passes whether the medium has room or not.
    guaranteed = min(_NEXT_TO_NO_RATE, whole.rate / (2 * len(queue.groups)))
    for number, group in enumerate(queue.groups):
        one, lane = side(state, group, queue.direction), 0x10000 + _FIRST_LANE + number
        assert one.rate is not None
        own = 0 if held else one.burst_bytes or kernel.burst_bytes(one.rate)
        found.append(_class(queue, lane, 0x10001, one, guaranteed=guaranteed, burst=own))
        found.append(_fifo(queue, (2 + number) << 16, lane, one))
    return found


def _class(
    queue: Queue, handle: int, parent: int, one: DirectionProfile, *, guaranteed: float, burst: int, rank: int = 0
) -> Discipline:
    assert one.rate is not None
    options = qdisc.htb_class(rate=guaranteed, ceil=one.rate, overhead=one.frame_overhead, burst_bytes=burst, rank=rank)
    return Discipline(device=queue.name, handle=handle, parent=parent, kind="htb", options=options, is_class=True)


def counted(queue: Queue) -> tuple[int, ...]:
    """Handles of the disciplines whose counters add up to the queue's."""
    return tuple((2 + number) << 16 for number in range(len(queue.groups)))


def lane_of(queue: Queue, group: int) -> int:
    """The class that a group's packets belong to, where stations with different settings share a queue."""
    return 0x10000 + _FIRST_LANE + queue.groups.index(group)


def _fifo(queue: Queue, handle: int, parent: int, one: DirectionProfile) -> Discipline:
    if one.queue_packets is None:
        kind, options = qdisc.fifo(limit_bytes=one.queue_limit_bytes)
    else:
        kind, options = qdisc.fifo(packets=one.queue_packets)
    return Discipline(device=queue.name, handle=handle, parent=parent, kind=kind, options=options)
