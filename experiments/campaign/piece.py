"""Long work in pieces: whether a trial may still begin.  Time is what the injected clock says."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from records.campaign import Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The time of one command: lasts_s seconds from begun_at, on `clock`, which only ever grows."""

    begun_at: float
    lasts_s: float
    clock: Callable[[], float] = time.monotonic

    def used_s(self) -> float:
        """Seconds since the command began."""
        return self.clock() - self.begun_at

    def left_s(self) -> float:
        """Seconds to the end; negative after it."""
        return self.lasts_s - self.used_s()

    def fits(self, seconds: float) -> bool:
        """Whether work of so many seconds, begun now, ends in time."""
        return seconds <= self.left_s()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why no trial was begun any more.  planned: the first of those whose turn it was; trials: how many they are.

    turn_s: what that turn may take.  closing_s: what is built after it.  left_s: of the budget.
    start_s: what the command took to its first trial, or to this decision when there was none.
    """

    planned: Planned
    trials: int
    turn_s: float
    closing_s: float
    left_s: float
    start_s: float

    @property
    def wanted_s(self) -> float:
        """Seconds in which a command can run this turn and end."""
        return self.start_s + self.turn_s + self.closing_s


@dataclass(slots=True, kw_only=True)
class Piece:
    """What is run of a campaign within a budget.

    closing_s: seconds to build what follows the trials, when so many more of them have ended.
    begun: trials that were begun.  shortage: set by the turn that did not fit, the last one that is asked about.
    """

    budget: Budget
    closing_s: Callable[[int], float]
    begun: int = 0
    shortage: Shortage | None = None
    _start_s: float | None = None

    def allows(self, turn: Sequence[Planned], turn_s: float) -> bool:
        """Whether these trials, begun together now, end in time with what follows them."""
        closing_s = self.closing_s(len(turn))
        if self._start_s is None:
            self._start_s = self.budget.used_s()
        if self.budget.fits(turn_s + closing_s):
            self.begun += len(turn)
            return True
        self.shortage = Shortage(
            planned=turn[0],
            trials=len(turn),
            turn_s=turn_s,
            closing_s=closing_s,
            left_s=self.budget.left_s(),
            start_s=self._start_s,
        )
        return False

    def reckon(self) -> None:
        """Take anew what follows the turn that did not fit: what has been built since then tells how long it takes."""
        if self.shortage is not None:
            self.shortage = replace(self.shortage, closing_s=self.closing_s(self.shortage.trials))
