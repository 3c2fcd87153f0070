"""Of cells with very many trials a plot draws some, evenly, and says so."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.details import Details
from analysis.findings import Findings, Standing, TrialFinding
from analysis.plots.latency import latency_plots
from analysis.plots.lines import drawn_of, said_of
from analysis.plots.overtime import overtime_plots


@given(number=st.integers(0, 2_000), most=st.integers(2, 80))
def test_the_first_and_the_last_are_drawn_and_the_others_lie_evenly(number: int, most: int) -> None:
    drawn = drawn_of(range(number), most)
    assert len(drawn) == min(number, most)
    assert bool(said_of(range(number), most=most)) == (number > most)
    if number > most:
        steps = {after - before for before, after in pairwise(drawn)}
        assert (drawn[0], drawn[-1]) == (0, number - 1)
        assert max(steps) - min(steps) <= 1


def test_plots_of_few_trials_say_nothing_and_those_of_many_what_they_draw(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = of_trials(findings, 60)
    assert not any("trials are drawn" in text for text in texts(few))
    many = of_trials(findings, 61)
    assert all("60 of" in text and "61 trials are drawn" in text for text in texts(many))
    assert [plot.about.count("median") for plot in latency_plots(many).values()] == [
        plot.about.count("median") for plot in latency_plots(few).values()
    ]


def test_trials_that_were_not_run_take_no_place_among_those_that_are_drawn(findings: Findings) -> None:
    half = of_trials(findings, 50)
    (cell,) = half.cells
    missing = tuple(TrialFinding(cell.name, number, number) for number in range(51, 101))
    planned = replace(half, cells=(replace(cell, trials=(*cell.trials, *missing)),))
    assert texts(planned) == texts(half)


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
