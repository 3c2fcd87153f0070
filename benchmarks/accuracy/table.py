"""The table that benchmarks print: a line for each quantity, and which lines are outside their bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from accuracy.bench import Line

_TRIES = 3
_PAUSE_S = 2.0


def shown(line: Line, tries: int, *, width: int = 62) -> str:
    """A line of the table."""
    wanted = "-" if line.asked is None else f"{line.asked:.4g}"
    if line.low is None and line.high is None:
        bound, verdict = "-", "reported"
    else:
        low, high = ("" if one is None else f"{one:.4g}" for one in (line.low, line.high))
        bound = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
        verdict = "inside" if line.holds else "OUTSIDE"
    again = f"; measured {tries} times" if tries > 1 else ""
    what = f"{line.what}{f' [{line.unit}]' if line.unit else ''}"
    return f"{what:<{width}} {wanted:>9} {line.delivered:>10.4g} {bound:>20}  {verdict}{again}  {line.note}".rstrip()


def repeated(measure: Callable[[], Iterable[Line]]) -> Iterator[tuple[Line, int]]:
    """The lines of a measurement; those outside are replaced by the next try's, and how often that was done."""
    found = {line.what: (line, 1) for line in measure()}
    for attempt in range(2, _TRIES + 1):
        if all(line.holds for line, _ in found.values()):
            break
        time.sleep(_PAUSE_S)
        for line in measure():
            if not found[line.what][0].holds:
                found[line.what] = (line, attempt)
    yield from found.values()


def status(outside: int) -> int:
    """Say how many lines are outside their bounds; the exit status."""
    print(f"\n{outside or 'no'} line{'' if outside == 1 else 's'} outside")
    return 1 if outside else 0
