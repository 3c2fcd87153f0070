"""Who should have a message: each consumer for itself, or one of several, whichever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from records.nodes import Absence

# The end of an absence that has none.
NEVER = np.iinfo(np.int64).max


class Receiving(Protocol):
    """What an audience knows of a consumer (records.manifest.Consumer)."""

    @property
    def id(self) -> int: ...
    @property
    def topic(self) -> int: ...
    @property
    def selector(self) -> tuple[int, int] | None: ...
    @property
    def caller(self) -> int | None: ...
    @property
    def absences(self) -> tuple[Absence, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """consumers: ids of those of whom one should have each message.  topic: index of the channel that they are at.

    selector: half-open range [low, high) of the message property, None = every message.  caller: the producer whose
    requests are answered here, None where what comes is no replies.  gone: from when to when (ns) the nodes of all of
    them were not there, as the scenario's `nodes` say: what is sent then is expected only if it arrives.  left: those
    whose node went and has not come back.  undivided: all that one producer sends is for one and the same of them.
    """

    consumers: tuple[int, ...]
    topic: int
    selector: tuple[int, int] | None = None
    caller: int | None = None
    gone: tuple[tuple[int, int], ...] = ()
    left: tuple[int, ...] = ()
    undivided: bool = False

    @property
    def until_ns(self) -> int:
        """From when on nobody of it is there any more; NEVER where somebody is at the end."""
        return self.gone[-1][0] if self.gone and self.gone[-1][1] == NEVER else NEVER

    def absent(self, t_send_ns: np.ndarray, came: np.ndarray) -> np.ndarray:
        """Mask: which of these messages did not come (came: mask) as nobody of it was there when they were sent."""
        found = np.zeros(len(t_send_ns), dtype=bool)
        for low, high in self.gone:
            found |= (t_send_ns >= low) & (t_send_ns < high)
        found &= ~came
        return found


def audiences(consumers: Iterable[Receiving], *, share: bool, undivided: bool = False) -> tuple[Audience, ...]:
    """share: whether the consumers of a channel share its messages, as those of a queue do; replies never are.

    undivided: whether they share them as streams, each of which has one of them.
    """
    found: dict[tuple[int, int], list[Receiving]] = {}
    for one in consumers:
        alone = not share or one.caller is not None
        found.setdefault((one.topic, one.id if alone else -1), []).append(one)
    return tuple(
        Audience(
            consumers=tuple(one.id for one in members),
            topic=members[0].topic,
            selector=members[0].selector,
            caller=members[0].caller,
            gone=_all_gone([_gone(one.absences) for one in members]),
            left=tuple(one.id for one in members if any(end == NEVER for _, end in _gone(one.absences))),
            undivided=undivided,
        )
        for members in found.values()
    )


def _gone(absences: Iterable[Absence]) -> tuple[tuple[int, int], ...]:
    """Of one consumer.  A subscriber that is `away` misses what it misses: that is what such a workload measures."""
    return tuple(
        (one.left_ns, NEVER if one.back_ns is None else one.back_ns) for one in absences if one.cause != "away"
    )


def _all_gone(each: Sequence[tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    """When all of them are gone at once."""
    common = each[0]
    for spans in each[1:]:
        both = [(max(one[0], other[0]), min(one[1], other[1])) for one in common for other in spans]
        common = tuple((low, high) for low, high in both if low < high)
    return common


def of_messages(them: Sequence[Audience]) -> tuple[Audience, ...]:
    """Without those that get replies."""
    return tuple(one for one in them if one.caller is None)


def of_replies(them: Sequence[Audience]) -> tuple[Audience, ...]:
    """Those that get replies."""
    return tuple(one for one in them if one.caller is not None)


def audience_of(consumer: np.ndarray, them: Sequence[Audience]) -> np.ndarray:
    """For each consumer's id the index of its audience, -1 where it is in none."""
    ids = np.array([number for one in them for number in one.consumers], dtype=np.int64)
    index = np.array([place for place, one in enumerate(them) for _ in one.consumers], dtype=np.int64)
    if not len(ids):
        return np.full(len(consumer), -1, dtype=np.int64)
    order = np.argsort(ids)
    at = np.clip(np.searchsorted(ids[order], consumer), 0, len(ids) - 1)
    return np.where(ids[order][at] == consumer, index[order][at], -1)
