"""Who should have a message: each consumer for itself, or one of several, whichever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """consumers: ids of those of whom one should have each message.  topic: index of the channel that they are at.

    selector: half-open range [low, high) of the message property, None = every message.  caller: the producer whose
    requests are answered here, None where what comes is no replies.
    """

    consumers: tuple[int, ...]
    topic: int
    selector: tuple[int, int] | None = None
    caller: int | None = None


def audiences(consumers: Iterable[Receiving], *, share: bool) -> tuple[Audience, ...]:
    """share: whether the consumers of a channel share its messages, as those of a queue do; replies never are."""
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
        )
        for members in found.values()
    )


def of_messages(them: Sequence[Audience]) -> tuple[Audience, ...]:
    """Without those that get replies."""
    return tuple(one for one in them if one.caller is None)


def audience_of(consumer: np.ndarray, them: Sequence[Audience]) -> np.ndarray:
    """For each consumer's id the index of its audience, -1 where it is in none."""
    ids = np.array([number for one in them for number in one.consumers], dtype=np.int64)
    index = np.array([place for place, one in enumerate(them) for _ in one.consumers], dtype=np.int64)
    if not len(ids):
        return np.full(len(consumer), -1, dtype=np.int64)
    order = np.argsort(ids)
    at = np.clip(np.searchsorted(ids[order], consumer), 0, len(ids) - 1)
    return np.where(ids[order][at] == consumer, index[order][at], -1)
