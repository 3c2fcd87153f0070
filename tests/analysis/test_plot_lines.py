"""Of cells with very many trials a plot draws some, evenly, and says so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.details import Asked, Details, Shelf
from analysis.findings import Findings, Standing, TrialFinding
from analysis.plots.latency import latency_plots
from analysis.plots.lines import drawn_of, said_of
from analysis.plots.overtime import overtime_plots
from analysis.rows import Rows


@given(number=st.integers(0, 2_000), most=st.integers(2, 80))
def test_the_first_and_the_last_are_drawn_and_the_others_lie_evenly(number: int, most: int) -> None:
    drawn = drawn_of(range(number), lambda _: True, most)
    assert len(drawn) == min(number, most)
    assert bool(said_of(range(number), most=most)) == (number > most)
    if number > most:
        steps = {after - before for before, after in pairwise(drawn)}
        assert (drawn[0], drawn[-1]) == (0, number - 1)
        assert max(steps) - min(steps) <= 1


@given(has=st.lists(st.booleans(), max_size=200), most=st.integers(2, 80))
def test_as_many_are_drawn_as_have_anything_and_no_more_are_asked_than_are_needed(has: list[bool], most: int) -> None:
    asked: list[int] = []

    def whether(number: int) -> bool:
        asked.append(number)
        return has[number]

    drawn = drawn_of(range(len(has)), whether, most)
    assert len(drawn) == min(sum(has), most)
    assert drawn == sorted(set(drawn))
    assert all(has[number] for number in drawn)
    assert len(asked) == len(set(asked)) <= len(has)
    assert sum(has) < len(has) or len(asked) == len(drawn)


def test_plots_of_few_trials_say_nothing_and_those_of_many_what_they_draw(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = of_trials(findings, 60)
    assert len(texts(few)) == 2
    assert not any("are drawn" in text for text in texts(few))
    many = of_trials(findings, 61)
    assert ["60 trials of a cell are drawn" in text for text in texts(many)] == [True, True]
    assert [plot.about.count("median") for plot in latency_plots(many).values()] == [
        plot.about.count("median") for plot in latency_plots(few).values()
    ]


def test_trials_that_were_not_run_take_no_place_among_those_that_are_drawn(findings: Findings) -> None:
    half = of_trials(findings, 50)
    (cell,) = half.cells
    missing = tuple(TrialFinding(cell.name, number, number) for number in range(51, 101))
    planned = replace(half, cells=(replace(cell, trials=(*cell.trials, *missing)),))
    assert texts(planned) == texts(half)


def test_a_trial_without_details_takes_no_place_among_those_that_are_drawn(findings: Findings) -> None:
    many = of_trials(findings, 120)
    (cell,) = many.cells
    bare = tuple(replace(one, details=Details()) if one.number % 2 else one for one in cell.trials)
    (plot,) = latency_plots(replace(many, cells=(replace(cell, trials=bare),))).values()
    assert plot.about.count("median") == 60


def test_seconds_of_one_cell_after_the_other_are_read_once(findings: Findings) -> None:
    read: list[int] = []
    rows = Rows(0)
    rows.add_all("second", "delivered_per_s", value=np.arange(10.0), t=np.arange(10.0))

    def count(number: int) -> pa.Table:
        read.append(number)
        return pa.Table.from_batches([rows.batch()])

    shelf = Shelf(60)  # what one cell has
    cells = []
    for place in range(3):
        (cell,) = of_trials(findings, 5).cells
        asked = [Asked(number, partial(count, number), shelf) for number in range(5 * place, 5 * place + 5)]
        trials = tuple(replace(one, details=mine) for one, mine in zip(cell.trials, asked, strict=True))
        cells.append(replace(cell, name=f"cell-{place}", trials=trials))
    assert len(overtime_plots(replace(findings, cells=tuple(cells)))) == 3
    assert read == list(range(15))


def of_trials(findings: Findings, number: int) -> Findings:
    """The first cell, with so many trials that are like its first."""
    cell = findings.cells[0]
    details = Details(seconds={"delivered_per_s": [(0.5, 1.0), (1.5, 2.0)]}, ecdf=[(0.1, 0.5), (0.2, 1.0)])
    trials = tuple(
        TrialFinding(cell.name, one, one, Standing.VALID, metrics={"window_s": 2.0}, details=details)
        for one in range(1, number + 1)
    )
    return replace(findings, cells=(replace(cell, trials=trials),))


def texts(findings: Findings) -> list[str]:
    """What stands in the plots whose lines are trials."""
    return [plot.svg.decode() for plots in (latency_plots, overtime_plots) for plot in plots(findings).values()]
