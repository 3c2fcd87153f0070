"""What has to be true of a stack, and after which story it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from experiments.conformance.restart import Restarted
from experiments.conformance.stories import RESTART
from records.audience import NEVER, Audience
from records.ledger import Reconciliation, reconcile
from records.manifest import Window
from records.messaging import Guarantee
from records.schema import Outcome
from records.verdict import Check, Health, Verdict
from records.window_metrics import longest_silence

_IMPAIRING = (Check.LINK_LOSS, Check.LINK_TIMELINE)  # what stories ask of the link: losses, and an outage
_LONGEST_SILENCE_S = 2.0  # eighty times what the schedule leaves between two messages, and no stall of a machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A trial after its story.  counted: over all its messages, warm-up included; answered: over those alone that the
    stack has answered; staying: over those of these that are for somebody who is there at the end.  longest_silence_s:
    of any one consumer, inside the window.
    """

    counted: Reconciliation
    answered: Reconciliation
    staying: Reconciliation
    verdict: Verdict
    longest_silence_s: float

    @classmethod
    def of(
        cls, published: pa.Table, delivered: pa.Table, them: Sequence[Audience], *, verdict: Verdict, window: Window
    ) -> Seen:
        """Of a trial's ledger."""
        arrived, consumer = (delivered.column(name).to_numpy() for name in ("t_recv_ns", "consumer"))
        inside = (arrived >= window.start_ns) & (arrived < window.end_ns)
        silences = [
            longest_silence(arrived[inside & (consumer == one)], window) for each in them for one in each.consumers
        ]
        acked = published.filter(pc.equal(published.column("outcome"), int(Outcome.ACKED)))
        return cls(
            counted=reconcile(published, delivered, them),
            answered=reconcile(acked, delivered, them),
            staying=reconcile(acked, delivered, [one for one in them if one.until_ns == NEVER]),
            verdict=verdict,
            longest_silence_s=max(silences, default=0.0),
        )

    @property
    def nothing(self) -> str:
        """Why nothing can be kept: then nothing was lost, doubled or late either."""
        if not self.answered.expected:
            return "nothing that was sent was answered"
        return "" if self.counted.delivered else "nothing arrived"

    @property
    def dead(self) -> str:
        """How a server or a connection ended that nobody had ended, '' where none did: no promise is kept then."""
        ended = (one for one in self.verdict.checks if one.check is Check.SERVERS_ALIVE)
        return next((one.detail for one in ended if one.health is Health.FAILED), "")

    @property
    def unproven(self) -> str:
        """Why it is not known that the link did to messages what the story asks, '' when it is."""
        return "; ".join(
            one.reason for one in self.verdict.checks
            if one.check in _IMPAIRING and one.health in (Health.FAILED, Health.UNKNOWN)
        )  # fmt: skip

    @property
    def missing(self) -> int:
        """Messages that audiences never had, though the stack answered them, but for what was under way to who left."""
        return self.answered.lost + self.staying.in_doubt


E = TypeVar("E", Seen, Restarted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise(Generic[E]):
    """about: what is promised.  story: after which it is looked at.  guarantees: who declares these promises it, beside
    what the story takes.  broken: how it was broken, '' when it was kept.
    """

    name: str
    about: str
    story: str
    broken: Callable[[E], str]
    guarantees: frozenset[Guarantee] = frozenset()


def _of(count: int, what: str, seen: Seen) -> str:
    return f"{count:,} of {seen.counted.expected:,} {what}" if count else ""


def _missing(seen: Seen) -> str:
    return _of(seen.missing, "were answered and never arrived", seen)


def _twice(seen: Seen) -> str:
    return _of(seen.counted.duplicates, "arrived more than once", seen)


def _amiss(seen: Seen) -> str:
    return _missing(seen) or _twice(seen)


def _out_of_order(seen: Seen) -> str:
    return _of(seen.counted.reordered, "arrived after a later one", seen)


def _foreign(seen: Seen) -> str:
    return _of(seen.counted.foreign, "went to somebody who should not have them", seen)


def _silent(seen: Seen) -> str:
    silence_s = seen.longest_silence_s
    return f"nothing arrived for {silence_s:.1f} s" if silence_s > _LONGEST_SILENCE_S else ""


def _dead(seen: Seen) -> str:
    return seen.dead


def _not_kept(after: Restarted) -> str:
    missing = after.answered - after.arrived
    return f"{missing} of {after.answered} were answered and gone afterwards" if missing else ""


def _not_synced(after: Restarted) -> str:
    without = after.answered - after.synced
    return f"{without} of {after.answered} were answered without a sync" if without else ""


_IN_ORDER = frozenset({Guarantee.ORDERED})
_ONCE = frozenset({Guarantee.EXACTLY_ONCE})
_HANDED_ON = frozenset({Guarantee.HANDED_ON})

# By what is seen of a trial.
PROMISES: tuple[Promise[Seen], ...] = (
    Promise(name="at least once", about="nothing that was answered is lost", story="topic", broken=_missing),
    Promise(name="once", about="nothing arrives twice while nobody leaves", story="topic", broken=_twice),
    Promise(
        name="order",
        about="messages of one publisher arrive in order",
        story="topic",
        broken=_out_of_order,
        guarantees=_IN_ORDER,
    ),
    Promise(
        name="order, not acknowledged",
        about="so they do where nothing is acknowledged",
        story="unacknowledged",
        broken=_out_of_order,
        guarantees=_IN_ORDER,
    ),
    Promise(name="alive", about="the servers outlive the story", story="topic", broken=_dead),
    Promise(name="no stall", about="messages keep coming over a sound link", story="steady", broken=_silent),
    Promise(
        name="durable", about="who was away has what was sent meanwhile", story="durable", broken=_missing
    ),
    Promise(
        name="exactly once",
        about="who was away has nothing twice",
        story="durable",
        broken=_twice,
        guarantees=_ONCE,
    ),
    Promise(
        name="selection", about="subscribers have what they chose, all of it", story="selector", broken=_missing
    ),
    Promise(
        name="selection only", about="subscribers have nothing else", story="selector", broken=_foreign
    ),
    Promise(name="full", about="a broker that is full loses nothing", story="full", broken=_missing),
    Promise(name="queue", about="no message of a queue is lost", story="queue", broken=_missing),
    Promise(name="one receiver", about="each goes to one receiver", story="queue", broken=_twice),
    Promise(name="survivors", about="who stays loses nothing", story="killed-subscriber", broken=_missing),
    Promise(
        name="handed on",
        about="others get what it has not answered",
        story="killed-receiver",
        broken=_missing,
        guarantees=_HANDED_ON,
    ),
    Promise(name="requests", about="every request that is answered was served once", story="requests", broken=_amiss),
    Promise(name="own replies", about="a reply goes to its caller and its request", story="requests", broken=_foreign),
    Promise(name="group", about="every member has every message", story="group", broken=_missing),
    Promise(name="flow", about="all of a flow arrives, and once", story="flow", broken=_amiss),
    Promise(name="flow order", about="a flow is in order", story="flow", broken=_out_of_order),
    Promise(
        name="shared flow", about="all of flows to one address arrives, and once", story="shared-flows", broken=_amiss
    ),
    Promise(
        name="shared flow order", about="flows to one address are in order", story="shared-flows", broken=_out_of_order
    ),
    Promise(name="whole flow", about="a flow has one receiver to its end", story="shared-flows", broken=_foreign),
)  # fmt: skip

# By what is seen of servers that are killed and started again.
OF_RESTARTS: tuple[Promise[Restarted], ...] = (
    Promise(
        name="persistent", about="what was answered outlives the servers", story=RESTART, broken=_not_kept
    ),
    Promise(name="synced", about="an answer comes after a sync to disk", story=RESTART, broken=_not_synced),
)  # fmt: skip
