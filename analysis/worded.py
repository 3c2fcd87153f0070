"""Labels in the words of the pattern that cells follow, and which metrics a reader of these cells looks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.findings import CellFinding
from analysis.metric import Metric
from analysis.metrics import LEADS, worded
from records.commands import DURATION, Printed
from records.words import Words
from records.workload import Pattern, words_of


def words_for(cells: Iterable[CellFinding]) -> Words:
    """What these cells' clients are called; where they follow several patterns, in words that fit them all."""
    return words_of({cell.pattern for cell in cells if cell.pattern is not None})


def metrics_for(cells: Iterable[CellFinding]) -> Mapping[str, Metric]:
    """All metrics by name, labelled in these cells' words, and those that their programs print."""
    every = tuple(cells)
    own = {name: _metric(name, one) for cell in every for name, one in cell.declared.items()}
    known = worded(words_for(every))
    return {**own, **known} if own else known


def chosen(names: Sequence[str], cells: Iterable[CellFinding], *, of_programs: Sequence[str] = ()) -> tuple[str, ...]:
    """These metrics of messages; where the load is programs, what they print and how long they took instead.

    Of cells of both kinds all are.  of_programs: those of `names` that programs have too, and what they have beside.
    """
    every = tuple(cells)
    programs = [cell for cell in every if is_programs(cell)]
    if not programs:
        return tuple(names)
    own = (*(name for cell in programs for name in cell.declared), DURATION, *of_programs)
    return tuple(dict.fromkeys(own if len(programs) == len(every) else (*own, *names)))


def that_lead(cells: Iterable[CellFinding]) -> tuple[str, ...]:
    """Metrics of modules that lead the answer, of those that any of these cells has."""
    every = tuple(cells)
    return tuple(name for name in LEADS if any(cell.estimate(name) is not None for cell in every))


def is_programs(cell: CellFinding) -> bool:
    """Whether the load of a cell is programs."""
    return cell.pattern is Pattern.COMMAND or bool(cell.declared)


def _metric(name: str, one: Printed) -> Metric:
    spoken = name.replace("_", " ")
    return Metric(
        name=name,
        label=one.label or spoken[0].upper() + spoken[1:],
        unit=one.unit,
        better=one.better,
        about=one.about
        or f"{one.path} of the JSON that each client's program prints, mean over those that ended with status 0",
        each="1",
    )
