"""What a stack goes through: one trial each.  Times are in seconds of the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.messaging import Guarantee
from records.workload import Pattern

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How long all of it takes.  impaired: the profile with the outage.  window_s, drain_s: of each trial, the latter
    at most.  away_at_s, away_s: when subscribers are out of reach, and for how long; a client is killed at that moment.
    """

    impaired: str
    window_s: float
    drain_s: float
    away_at_s: float
    away_s: float


WHOLE = Course(impaired="impaired.yaml", window_s=12, drain_s=40, away_at_s=2, away_s=4)
SHORT = Course(impaired="impaired-short.yaml", window_s=3, drain_s=20, away_at_s=0.5, away_s=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A trial.  guarantees: what it takes of the stack beside the pattern.  workload: of the scenario.

    sound: over a link that loses nothing.  killed: the station whose client is killed, '' for none.
    """

    about: str
    pattern: Pattern
    workload: Mapping[str, Any]
    guarantees: frozenset[Guarantee] = frozenset()
    sound: bool = False
    away: bool = False
    killed: str = ""

    def says(self, course: Course) -> dict[str, Any]:
        """What its scenario says, beside the stack."""
        workload: dict[str, Any] = {"pattern": self.pattern.value, "body_bytes": 200, **self.workload}
        if self.away:
            workload["away"] = {"at_s": course.away_at_s, "lasts_s": course.away_s}
        killing = [{"at_s": course.away_at_s, "node": self.killed, "event": "kill"}]
        return {
            "network": str(_HERE / ("sound.yaml" if self.sound else course.impaired)),
            "workload": workload,
            "window": {"warmup_s": 0.5, "window_s": course.window_s, "drain_s": course.drain_s},
            **({"nodes": killing} if self.killed else {}),
        }


_TOPIC: dict[str, Any] = {"clients": {"publishers": 2, "subscribers": 3, "topics": 1}, "loop": "open", "rate": 40}
_CALLS = {"clients": {"callers": 3, "services": 1}, "loop": "open", "rate": 20}

STORIES: dict[str, Story] = {
    "topic": Story(
        about="two publishers and three subscribers over 3 % loss and an outage",
        pattern=Pattern.PUBSUB,
        workload=_TOPIC,
        guarantees=frozenset({Guarantee.ACK_AUTO}),
    ),
    "unacknowledged": Story(
        about="two publishers and three subscribers that acknowledge nothing, over 3 % loss and an outage",
        pattern=Pattern.PUBSUB,
        workload={**_TOPIC, "ack": "none"},
        guarantees=frozenset({Guarantee.ACK_NONE}),
    ),
    "steady": Story(
        about="two publishers and three subscribers over a sound link",
        pattern=Pattern.PUBSUB,
        workload=_TOPIC,
        guarantees=frozenset({Guarantee.ACK_AUTO}),
        sound=True,
    ),
    "durable": Story(
        about="durable subscribers lose their connections without a word, and come back later",
        pattern=Pattern.PUBSUB,
        workload={**_TOPIC, "guarantee": {"subscription": "durable", "delivery": "nonpersistent"}},
        guarantees=frozenset({Guarantee.ACK_AUTO, Guarantee.DURABLE}),
        away=True,
    ),
    "selector": Story(
        about="subscribers want half of the messages, over 3 % loss and an outage",
        pattern=Pattern.PUBSUB,
        workload={**_TOPIC, "selector": {"low": 0, "high": 5, "of": 10}},
        guarantees=frozenset({Guarantee.ACK_AUTO, Guarantee.SELECTOR}),
    ),
    "full": Story(
        about="the broker may hold a tenth of a megabyte, and more is sent than the link carries",
        pattern=Pattern.PUBSUB,
        workload={
            **_TOPIC,
            "loop": "closed",
            "rate": None,
            "in_flight": 50,
            "body_bytes": 5000,
            "memory_limit_mb": 0.1,
        },
        guarantees=frozenset({Guarantee.ACK_AUTO, Guarantee.MEMORY_LIMIT}),
    ),
    "killed-subscriber": Story(
        about="one of three subscribers is killed with messages under way to it, over 3 % loss and an outage",
        pattern=Pattern.PUBSUB,
        workload={**_TOPIC, "clients": {**_TOPIC["clients"], "apart": True}},
        guarantees=frozenset({Guarantee.ACK_AUTO}),
        killed="sta3",
    ),
    "killed-receiver": Story(
        about="one of two receivers of a queue is killed with messages under way to it, over 3 % loss and an outage",
        pattern=Pattern.QUEUE,
        workload={"clients": {"senders": 1, "receivers": 2, "queues": 1, "apart": True}, "loop": "open", "rate": 40},
        guarantees=frozenset({Guarantee.ACK_AUTO}),
        killed="sta3",
    ),
    "queue": Story(
        about="two senders and three receivers of a queue over 3 % loss and an outage",
        pattern=Pattern.QUEUE,
        workload={"clients": {"senders": 2, "receivers": 3, "queues": 1}, "loop": "open", "rate": 40},
        guarantees=frozenset({Guarantee.ACK_AUTO}),
    ),
    "requests": Story(
        about="three callers of a service over 3 % loss and an outage",
        pattern=Pattern.REQUEST_REPLY,
        workload=_CALLS,
    ),
    "group": Story(
        about="one sender and three members of a group over 3 % loss and an outage",
        pattern=Pattern.BROADCAST,
        workload={"clients": {"senders": 1, "members": 3}, "loop": "open", "rate": 40},
    ),
    "flow": Story(
        about="two flows over 3 % loss and an outage",
        pattern=Pattern.STREAM,
        workload={"clients": {"flows": 2}, "loop": "open", "rate": 40},
    ),
    "shared-flows": Story(
        about="four flows into an address that has two receivers, over 3 % loss and an outage",
        pattern=Pattern.STREAM,
        workload={"clients": {"shape": "shared", "flows": 4, "receivers": 2}, "loop": "open", "rate": 20},
        guarantees=frozenset({Guarantee.SHARED_STREAMS}),
    ),
}

# Not a trial: experiments.conformance.restart.
RESTART = "restart"
ALL: dict[str, Story] = STORIES | {
    RESTART: Story(
        about="the servers are killed after twenty messages, each answered before the next, and started again",
        pattern=Pattern.PUBSUB,
        workload={},
        guarantees=frozenset({Guarantee.ACK_AUTO, Guarantee.DURABLE, Guarantee.PERSISTENT}),
    )
}
