"""Where a curve bends: two straight lines that meet (segmented regression, Muggeo 2003), fitted to values over places.

The place of the bend is the exact least-squares one: with the bend between two places each side has its own line, so
either these two lines meet there, or the best bend is at one of the places (Hudson 1966).  Muggeo's iteration finds the
same and may not settle with few places.  The interval holds every bend that an F test does not reject against the best
one (Seber and Wild 1989, chapter 9): unlike one from a standard error it need not be symmetric, and it has no end where
the values give none.  Whether there is a bend at all is Davies' test (1987), since the place of the bend means nothing
if there is none.

Each value of each trial counts as one.  What all values of a trial have in common (its seed) widens the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.statistics.students import CONFIDENCE, t_quantile, upper_tail

FEWEST_PLACES = 4  # with fewer, two lines that meet go through any points
FEWEST = 5  # values of which an interval can be made: two lines that meet have four parameters
_STEPS = 100  # bends that are tried between two neighbouring places
_NOTHING = 1e-12  # a sum of squares that is smaller than this share of the whole is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """at: where the lines meet.  low, high: ends of its 95 % interval, infinite where the values give none.

    none: p of Davies' test against a single straight line; None, like low and high, with fewer than 5 values.
    """

    n: int
    at: float
    low: float | None
    high: float | None
    none: float | None
    curve: _Curve = field(repr=False)

    @property
    def straight(self) -> bool:
        """Whether one line may be all there is: two fit no better beyond chance."""
        return self.curve.best >= self.curve.line if self.none is None else self.none >= 1 - CONFIDENCE

    def p_above(self, limit: float) -> float:
        """p of the one-sided test against `the bend is at limit or below`."""
        return self._p(self.curve.least(-math.inf, limit)) if self.at > limit else 1.0

    def p_below(self, limit: float) -> float:
        """p of the one-sided test against `the bend is at limit or above`."""
        return self._p(self.curve.least(limit, math.inf)) if self.at < limit else 1.0

    def _p(self, squares: float) -> float:
        freedom = self.n - 4
        if freedom < 1:
            return 1.0
        more = squares - self.curve.best
        if self.curve.best == 0:
            return 0.0 if more > 0 else 1.0
        return upper_tail(math.sqrt(max(more, 0.0) * freedom / self.curve.best), freedom)


class _Curve:
    """Sum of squares that two lines leave, by the place at which they meet; outside the places it is one line's."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self._x = x
        self._line = np.linalg.qr(np.column_stack([np.ones_like(x), x]))[0]
        self._rest = y - self._line @ (self._line.T @ y)
        self._floor = _NOTHING * float(((y - y.mean()) ** 2).sum())
        self.line = self._rounded(float(self._rest @ self._rest))
        self.places = np.unique(x)
        inner = zip(self.places[1:-2], self.places[2:-1], strict=True)
        self.grid = np.concatenate([np.linspace(a, b, _STEPS, endpoint=False) for a, b in inner] + [self.places[-2:-1]])
        self.at = min([*self.places[1:-1], *self._meetings(x, y)], key=lambda bend: self.squares([bend])[0])
        self.best = self.squares([self.at])[0]

    def squares(self, bends: Sequence[float] | np.ndarray) -> list[float]:
        """Of each bend."""
        along, size = self._hinges(np.asarray(bends, dtype=float))
        gain = np.divide(along**2, size, out=np.zeros_like(along), where=size > 0)
        return [self._rounded(self.line - float(one)) for one in gain]

    def least(self, low: float, high: float) -> float:
        """The smallest of all bends from low to high; beyond the places that is one line's."""
        inside = [bend for bend in (*self.grid, low, high) if low <= bend <= high and math.isfinite(bend)]
        return min([self.line, *self.squares(inside)])

    def strengths(self) -> np.ndarray:
        """Student's t of the change of slope at each bend of the grid."""
        along, size = self._hinges(self.grid)
        gain = along**2 / size
        noise = np.maximum(self.line - gain, self._floor or 1e-300) / (len(self._x) - 3)
        return np.asarray(along / np.sqrt(size * noise))

    def _hinges(self, bends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the part of each hinge that no line explains: its product with what the line leaves, and its own size."""
        hinge = np.maximum(self._x[:, None] - bends[None, :], 0.0)
        hinge -= self._line @ (self._line.T @ hinge)
        size = (hinge**2).sum(axis=0)
        size[size < _NOTHING * float(np.ptp(self._x)) ** 2] = 0.0
        return self._rest @ hinge, size

    def _meetings(self, x: np.ndarray, y: np.ndarray) -> list[float]:
        """Where the lines through all values on the left and all on the right meet, if it is between the two sides."""
        found = []
        for left, right in zip(self.places[1:-2], self.places[2:-1], strict=True):
            (b, a), (d, c) = (np.polyfit(x[side], y[side], 1) for side in (x <= left, x >= right))
            if b != d and left < (meeting := float((c - a) / (b - d))) < right:
                found.append(meeting)
        return found

    def _rounded(self, squares: float) -> float:
        return squares if squares > self._floor else 0.0


def bend(x: Sequence[float], y: Sequence[float]) -> Bend | None:
    """The bend of values y over places x; None with fewer than four different places."""
    if len(set(x)) < FEWEST_PLACES:
        return None
    curve = _Curve(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    n, at = len(x), float(curve.at)
    if n < FEWEST:
        return Bend(n=n, at=at, low=None, high=None, none=None, curve=curve)
    limit = curve.best * (1 + t_quantile(n - 4) ** 2 / (n - 4))
    low = high = at
    taken = [place for place, squares in zip(curve.grid, curve.squares(curve.grid), strict=True) if squares <= limit]
    low, high = min([at, *taken]), max([at, *taken])
    first, last = curve.places[1], curve.places[-2]
    return Bend(
        n=n, at=at, none=_davies(curve.strengths(), n - 3), curve=curve,
        low=-math.inf if low <= first else float(low), high=math.inf if high >= last else float(high),
    )  # fmt: skip


def _davies(strengths: np.ndarray, freedom: int) -> float:
    """Davies' bound of p for the largest of these statistics, either way; they are taken to the normal scale first."""
    from scipy.special import ndtr, ndtri, stdtr  # noqa: PLC0415

    normal = np.clip(np.sign(strengths) * -ndtri(stdtr(freedom, -np.abs(strengths))), -37.0, 37.0)
    most, ways = float(np.abs(normal).max()), float(np.abs(np.diff(normal)).sum())
    return min(1.0, 2 * float(ndtr(-most)) + ways * math.exp(-(most**2) / 2) / math.sqrt(2 * math.pi))
