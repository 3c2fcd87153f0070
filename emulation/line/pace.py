"""How often the line's loop may wake up, and how long it may look at the clock instead of sleeping.  Pure."""

from __future__ import annotations

# A wake-up costs 25 to 30 us: one for each frame would take a whole core near 60,000 a second.  So there is one in a
# quantum at most, after a credit of ten.
QUANTUM_NS = 100_000
_CREDIT_NS = 10 * QUANTUM_NS
# Awake before a frame is due, and looking at the clock until then, the line is less late with it: a wake-up takes 25 to
# 60 us, and after some idle milliseconds, when nothing of it is left in the processor's caches, 150.  It takes the
# processor from others, so it is done for a tenth of the time at most.
_EARLY_NS, _LITTLE_EARLY_NS = 200_000, 60_000
_SPIN_SHARE = 10
_SPIN_CREDIT_NS = 4_000_000


class Pace:
    """What the loop has used of both.  Moments are ns of one clock; now_ns: the one at which it begins."""

    __slots__ = ("_counted", "_credit", "_earned", "_spin")

    def __init__(self, now_ns: int) -> None:
        self._counted = self._earned = now_ns
        self._credit, self._spin = _CREDIT_NS, _SPIN_CREDIT_NS

    def pause_ns(self, now_ns: int) -> int:
        """Count a sleep that begins; how long it has to last whatever happens meanwhile, 0 = until something does."""
        self._credit = min(self._credit + now_ns - self._counted, _CREDIT_NS) - QUANTUM_NS
        self._counted = now_ns
        return max(-self._credit, 0)

    def early_ns(self, now_ns: int) -> int:
        """How long before something is due to be awake."""
        self._spin = min(self._spin + (now_ns - self._earned) // _SPIN_SHARE, _SPIN_CREDIT_NS)
        self._earned = now_ns
        if self._spin * 2 > _SPIN_CREDIT_NS:
            return _EARLY_NS
        return _LITTLE_EARLY_NS if self._spin > 0 else 0

    def spun(self, spent_ns: int) -> None:
        """So long the clock was looked at."""
        self._spin -= spent_ns
