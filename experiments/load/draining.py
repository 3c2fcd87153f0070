"""When a drain is over, decided from what the clients report.  No clock: only the reports' own times count.

A client that says nothing is not quiet, it is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiments.load.protocol import NodePlan, Progress
from records.audience import Audience, audiences, of_messages

# After the last expected delivery: time for one that nobody expects, a duplicate for example.
SETTLE_S = 0.25


def having_messages(plans: Sequence[NodePlan]) -> tuple[Audience, ...]:
    """Who should have messages."""
    consumers = [consumer for plan in plans for consumer in plan.consumers]
    return of_messages(audiences(consumers, share=any(plan.workload.shared for plan in plans)))


def missing(them: Sequence[Audience], reports: Mapping[str, Progress]) -> int:
    """Answered messages that have not reached these audiences."""
    wanted: Counter[int] = Counter()
    delivered: Counter[int] = Counter()
    for report in reports.values():
        wanted.update(report.wanted_by_topic)
        delivered.update(report.delivered_by_consumer)
    return sum(max(0, wanted[one.topic] - sum(delivered[consumer] for consumer in one.consumers)) for one in them)


def unanswered(reports: Mapping[str, Progress]) -> int:
    """Sends that have been neither answered nor refused; those of a lost connection stay so."""
    return sum(report.sent - report.acked - report.failed for report in reports.values())


@dataclass(slots=True)
class _Movement:
    """A node's totals, and when (on its own clock) they were first and last seen like this."""

    totals: tuple[int, int, int]
    since_ns: int
    until_ns: int

    def observe(self, report: Progress) -> None:
        totals = (report.acked, report.failed, report.delivered)
        if totals != self.totals:
            self.totals, self.since_ns = totals, report.t_ns
        self.until_ns = report.t_ns


@dataclass(slots=True, kw_only=True)
class Drain:
    """Feed it the latest report of every node as often as you like; each time it looks at all consumers.

    whole: whether all nodes have been there all the time, so that it is known who should have what.
    """

    plans: Sequence[NodePlan]
    end_ns: int
    quiet_s: float
    whole: bool = True
    _nodes: dict[str, _Movement] = field(default_factory=dict)
    _them: tuple[Audience, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._them = having_messages(self.plans) if self.whole else ()

    def over(self, reports: Mapping[str, Progress]) -> Literal["complete", "quiet"] | None:
        """Why the drain is over, None while it is not.

        complete: every send is answered, every answered message has reached its consumers, and SETTLE_S has passed
        since; quiet_s where clients have been away, because what is sent to them again is counted again.
        quiet: nothing has moved on any node for quiet_s, and nothing is known to be under way, or a connection is lost;
        or there is no node any more.
        """
        if not self.plans:
            return "quiet"
        for node, report in reports.items():
            if report.t_ns >= self.end_ns:
                self._nodes.setdefault(node, _Movement((-1, -1, -1), 0, 0)).observe(report)
        if len(self._nodes) < len(self.plans):
            return None
        still_s = min(node.until_ns - node.since_ns for node in self._nodes.values()) / 1e9
        settle_s = self.quiet_s if any(plan.away for plan in self.plans) else SETTLE_S
        lacking, waiting = missing(self._them, reports) if self.whole else None, unanswered(reports)
        if still_s >= settle_s and lacking == 0 and not waiting:
            return "complete"
        # On a slow link a retransmission can be seconds away: silence is no end while something is under way.
        hopeless = not (lacking or waiting) or any(report.lost_connections for report in reports.values())
        return "quiet" if hopeless and still_s >= self.quiet_s else None
