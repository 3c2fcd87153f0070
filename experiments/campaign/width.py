"""How many trials go beside each other, learnt from what became of those that did.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

CLEAN_TURNS = 2  # of the greatest width, before one trial more goes with the others


@dataclass(slots=True, kw_only=True)
class Width:
    """Halved where at least half of a turn's trials were spoiled beside each other; one more after clean turns.

    most: what the scenario asks.  now: how many may go together.  Rises by one and falls by half, as a sender's window
    does that shares a link with others it does not see (Chiu and Jain 1989, "Analysis of the increase and decrease
    algorithms for congestion avoidance in computer networks").
    """

    most: int
    now: int = field(init=False)
    _clean: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.now = self.most

    def ended(self, together: int, spoiled: int) -> str:
        """A turn of so many trials has ended, of which so many are run again; why it is another width from now on.

        A turn of one counts when the trial would have gone beside others; spoiled, it had nobody beside it to blame,
        and only the count of clean turns begins anew.  '' where the width stays what it is.
        """
        before = self.now
        if together > 1 and 2 * spoiled >= together:
            self._clean = 0
            self.now = max(min(self.now, together) // 2, 1)
        elif spoiled:
            self._clean = 0
        elif together >= self.now and self.now < self.most:
            self._clean += 1
            if self._clean == CLEAN_TURNS:
                self._clean = 0
                self.now += 1
        if self.now < before:
            return f"{self._words} from here on, as {spoiled} of {together} were spoiled beside each other"
        return f"{self._words} again, as the last {CLEAN_TURNS} turns were clean" if self.now > before else ""

    @property
    def _words(self) -> str:
        return "one trial at a time" if self.now == 1 else f"at most {self.now} trials at a time"
