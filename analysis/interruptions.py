"""What interruptions cost a subscriber: outages and handovers of the link, and times when it was away itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from records.link import LinkInterruption
from records.manifest import Consumer, Window
from records.window_metrics import Ledger

LEAVE, COME_BACK = "subscribers leave", "subscribers come back"
# Two that are nearer than this are one: a device notices an outage, and leaves, a moment after it has begun.
_TOGETHER_NS = 50_000_000


@dataclass(frozen=True, slots=True, order=True)
class Interruption:
    """CLOCK_MONOTONIC nanoseconds.  A subscriber's absence ends when it sets out to come back."""

    start_ns: int
    end_ns: int


def of_link(asked: Iterable[LinkInterruption], station: str, window: Window) -> tuple[Interruption, ...]:
    """Those of a link's outages and handovers that are a station's."""
    found = []
    for one in asked:
        if station in one.stations:
            start = window.start_ns + round(one.at_s * 1e9)
            found.append(Interruption(start, start + round(one.lasts_s * 1e9)))
    return tuple(found)


def of_consumer(consumer: Consumer, link: Iterable[Interruption], window: Window) -> tuple[Interruption, ...]:
    """The link's and its own, those that touch as one; only those that are over before the window is.

    Nothing of the link is interrupted for a node that has not joined, or has been killed.
    """
    gone = [(one.left_ns, one.due_ns) for one in consumer.absences if one.cause == "join" or one.due_ns is None]
    met = [one for one in link if not any(_within(one, left_ns, due_ns) for left_ns, due_ns in gone)]
    every = sorted([*met, *_own(consumer)])
    joined: list[Interruption] = []
    for one in every:
        if joined and one.start_ns <= joined[-1].end_ns + _TOGETHER_NS:
            joined[-1] = Interruption(joined[-1].start_ns, max(joined[-1].end_ns, one.end_ns))
        else:
            joined.append(one)
    return tuple(one for one in joined if one.end_ns < window.end_ns)


def _within(one: Interruption, left_ns: int, due_ns: int | None) -> bool:
    """Whether it begins while a node is gone, or ends then; due_ns: None where the node does not come back."""
    return one.end_ns > left_ns and (due_ns is None or one.start_ns < due_ns)


def _own(consumer: Consumer) -> Iterator[Interruption]:
    """Nothing is interrupted before a node joins, and after it is killed nothing goes on."""
    for one in consumer.absences:
        if one.due_ns is not None and one.cause != "join":
            yield Interruption(one.left_ns, one.due_ns)


def absences(consumers: Iterable[Consumer]) -> list[tuple[int, str]]:
    """When subscribers left (the first of those that came back together), and when they set out to come back.

    Those that went by themselves: what happened to nodes has moments of its own.
    """
    left: dict[int, int] = {}
    for consumer in consumers:
        for one in consumer.absences:
            if one.due_ns is None or one.cause != "away":
                continue
            left[one.due_ns] = min(one.left_ns, left.get(one.due_ns, one.left_ns))
    return sorted([*((t_ns, LEAVE) for t_ns in left.values()), *((t_ns, COME_BACK) for t_ns in left)])


def having_streams(consumers: Iterable[Consumer], ledger: Ledger) -> list[Consumer]:
    """Those who wait for something, where each stream has one of several receivers: the others have none."""
    heard = set(ledger.consumer.tolist())
    return [one for one in consumers if one.id in heard]


def interruption_metrics(
    ledger: Ledger, consumers: Sequence[Consumer], *, link: Sequence[LinkInterruption], window: Window
) -> dict[str, float]:
    """Empty without interruptions; else, over those of every receiver of messages, which replies are not:

    interruptions, held_up (messages that were due before one's end and came after it, each once), not_back
    (interruptions after which nothing came before the next one, or at all): counts.  back_after_s (first message after
    an interruption's end), caught_up_after_s (last message that it held up, or the first after it; before the next
    one): means over those after which something came.  held_up_worst_s: the longest latency of a message held up.
    """
    spans = {
        one.id: of_consumer(one, of_link(link, one.node, window), window) for one in consumers if one.caller is None
    }
    total = sum(map(len, spans.values()))
    if not total:
        return {}
    back, caught_up, held_up, worst = [], [], 0, 0
    for number, interruptions in spans.items():
        mine = ledger.consumer == number
        t_came, latency = ledger.t_recv[mine], ledger.latency[mine]
        every_late = np.zeros(len(t_came), dtype=bool)
        for one, following in zip(interruptions, (*interruptions[1:], None), strict=False):
            late = (t_came >= one.end_ns) & (t_came - latency < one.end_ns)
            every_late |= late
            after = (t_came >= one.end_ns) & (t_came < (following.start_ns if following else np.inf))
            if not after.any():
                continue
            first = int(t_came[after].min())
            back.append(first - one.end_ns)
            caught_up.append(int(t_came[late & after].max(initial=first)) - one.end_ns)
        held_up += int(np.count_nonzero(every_late))
        worst = max(worst, int(latency[every_late].max(initial=0)))
    found = {"interruptions": float(total), "not_back": float(total - len(back)), "held_up": float(held_up)}
    if back:
        found |= {"back_after_s": float(np.mean(back)) / 1e9, "caught_up_after_s": float(np.mean(caught_up)) / 1e9}
    if held_up:
        found["held_up_worst_s"] = worst / 1e9
    return found
