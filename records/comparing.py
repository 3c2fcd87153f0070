"""Which factor of a campaign is compared, and which of its levels the others are held against.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_UNLESS_TOLD = "network"

Factors = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Compared:
    """factor: its levels are compared.  baseline: the level that all others are held against."""

    factor: str
    baseline: str


def compared(factors: Factors, *, factor: str | None = None, baseline: str | None = None) -> Compared | None:
    """What is compared: `factor`, else `network` where it is a factor, else the only factor; None where none is that.

    factors: by name, their levels.  baseline: the first level where this is none of the factor's.
    """
    chosen = factor if factor in factors else _chosen(factors)
    if chosen is None:
        return None
    levels = factors[chosen]
    return Compared(chosen, baseline if baseline in levels else levels[0])


def problems(factors: Factors, *, factor: str | None, baseline: str | None = None) -> Iterator[tuple[str, str]]:
    """What is wrong with a wish to compare: `compare` or `baseline`, and the problem with what is allowed."""
    if factor is not None and len(factors.get(factor, ())) < 2:
        why = f"has one level, {factors[factor][0]}" if factor in factors else "is no factor here"
        yield "compare", f"{factor!r} {why}; factors of two levels or more: {_several(factors)}"
        return
    found = compared(factors, factor=factor, baseline=baseline)
    if baseline is None:
        return
    if found is None:
        yield "baseline", f"{baseline!r}: say whose level it is, compare: FACTOR; there are {_several(factors)}"
    elif baseline not in factors[found.factor]:
        levels = ", ".join(factors[found.factor])
        yield "baseline", f"{baseline!r} is not a level of factor {found.factor}: {levels}"


def _chosen(factors: Factors) -> str | None:
    if _UNLESS_TOLD in factors:
        return _UNLESS_TOLD
    return next(iter(factors)) if len(factors) == 1 else None


def _several(factors: Factors) -> str:
    return ", ".join(name for name, levels in factors.items() if len(levels) > 1) or "there is none"
