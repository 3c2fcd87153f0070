"""One timer wheel for everything that waits: setting and cancelling take a short time, however many there are."""

from __future__ import annotations

from collections.abc import Iterator

STEP_S = 0.02


class Wheel:
    """Numbers, each due at some time.  Times are seconds of any clock that never goes back."""

    def __init__(self, now: float) -> None:
        self._slots: dict[int, set[int]] = {}
        self._next = self._slot(now)

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def set(self, number: int, at: float) -> int:
        """Have a number come due, never too early; returns what cancels it."""
        slot = max(self._slot(at) + 1, self._next)
        self._slots.setdefault(slot, set()).add(number)
        return slot

    def cancel(self, number: int, slot: int) -> None:
        """It does not come due any more."""
        if (there := self._slots.get(slot)) is not None:
            there.discard(number)
            if not there:
                del self._slots[slot]

    def due(self, now: float) -> Iterator[int]:
        """All that has come due since it was asked last."""
        until = self._slot(now)
        if until - self._next < len(self._slots):
            slots = [slot for slot in range(self._next, until + 1) if slot in self._slots]
        else:
            slots = sorted(slot for slot in self._slots if slot <= until)
        self._next = max(self._next, until + 1)
        for slot in slots:
            yield from self._slots.pop(slot, ())

    @staticmethod
    def _slot(at: float) -> int:
        return int(at / STEP_S)
