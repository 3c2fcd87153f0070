"""Which messages the broker's faults can happen to: one that happens to none would pass for a sound stack."""

from __future__ import annotations

from records.clients import SharedEnds
from records.workload import MESSAGE_PATTERNS, Messages, Pattern, Queue, RequestReply

_NO_CALLS = MESSAGE_PATTERNS - {Pattern.REQUEST_REPLY}
_PATTERNS: dict[str, frozenset[Pattern]] = {
    "drop": _NO_CALLS, "duplicate": _NO_CALLS, "reorder": _NO_CALLS,
    "double": frozenset({Pattern.QUEUE}), "misreply": frozenset({Pattern.REQUEST_REPLY}),
    "cross": frozenset({Pattern.REQUEST_REPLY}),
    "omit": frozenset({Pattern.BROADCAST}), "swap": frozenset({Pattern.STREAM}), "split": frozenset({Pattern.STREAM}),
    "stall": MESSAGE_PATTERNS, "crash": MESSAGE_PATTERNS,
}  # fmt: skip


def strikes(fault: str, pattern: Pattern) -> bool:
    """Whether a message of that pattern can meet with the fault."""
    return pattern in _PATTERNS[fault]


def harmless(fault: str, work: Messages) -> str:
    """Why no message of a workload can meet with a fault, '' where one can."""
    if not strikes(fault, work.pattern):
        return f"it happens to {', '.join(sorted(_PATTERNS[fault]))} only, and the pattern is {work.pattern.value}"
    if fault == "double" and isinstance(work, Queue) and work.clients.receivers <= work.clients.queues:
        return "no queue has two receivers, which could both have a message"
    if fault == "split" and not (
        isinstance(work.clients, SharedEnds) and work.clients.receivers > work.clients.addresses
    ):
        return "no stream could go to another receiver: it takes shape: shared, and two receivers at an address"
    if fault == "misreply" and isinstance(work, RequestReply) and work.clients.callers < 2:
        return "there is one caller, and no other one who could have its reply"
    if fault == "cross" and isinstance(work, RequestReply) and work.loop == "closed" and work.in_flight == 1:
        return "a caller waits for one reply at a time, and has no other request that it could be taken for"
    return ""
