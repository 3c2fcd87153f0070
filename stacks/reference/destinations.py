"""Where a message goes, as frames write it: what kind of destination, and its name."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What becomes of a message.

    TOPIC, GROUP: every subscription or member has it.  QUEUE: one of the receivers has it, until it acknowledges.
    SERVICE: one of the servers has it, and answers it.  FLOW: one of the receiving ends has all of one sender's.
    """

    TOPIC = "topic"
    QUEUE = "queue"
    SERVICE = "service"
    GROUP = "group"
    FLOW = "flow"


_KINDS = frozenset(kind.value for kind in Kind)


def written(kind: Kind, name: str) -> str:
    """A destination as it stands in frames."""
    return f"{kind}/{name}"


def read(destination: str) -> tuple[Kind, str]:
    """A destination's kind and name; ValueError when it is none."""
    kind, _, name = destination.partition("/")
    if not name or kind not in _KINDS:
        raise ValueError(f"destination {destination!r} is not KIND/NAME with a kind of {', '.join(Kind)}")
    return Kind(kind), name
