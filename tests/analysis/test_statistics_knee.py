"""Where a curve bends: against curves whose bend is known, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from analysis.statistics import Bend, bend

NODES = [1, 2, 4, 8, 16, 32]


def found(x: list[float], y: list[float]) -> Bend:
    result = bend(x, y)
    assert result is not None
    return result


@given(
    at=st.floats(2.5, 15.5), left=st.floats(-5, 5), change=st.floats(0.5, 5), start=st.floats(-100, 100),
    down=st.booleans(),
)  # fmt: skip
def test_a_curve_of_two_lines_bends_where_they_meet(
    at: float, left: float, change: float, start: float, down: bool
) -> None:
    right = left + (-change if down else change)
    y = [start + left * min(x, at) + right * max(x - at, 0.0) for x in NODES]
    result = found(list(NODES), y)
    assert result.at == pytest.approx(at, rel=1e-6)
    assert not result.straight


@given(start=st.floats(-100, 100), slope=st.floats(-5, 5))
def test_one_line_does_not_bend(start: float, slope: float) -> None:
    assert found(list(NODES), [start + slope * x for x in NODES]).straight


def test_the_best_bend_is_the_one_of_least_squares() -> None:
    """Against scipy's search from many starts."""
    generator = np.random.default_rng(5)

    def lines(x: np.ndarray, at: float, y0: float, left: float, right: float) -> np.ndarray:
        return y0 + left * np.minimum(x - at, 0) + right * np.maximum(x - at, 0)

    for _ in range(4):
        x = np.repeat(np.array(NODES, dtype=float), 3)
        y = np.minimum(x, generator.uniform(3, 14)) + generator.normal(0, 1.0, len(x))
        least = math.inf
        for start in np.linspace(2.2, 15.8, 8):
            try:
                fitted, _ = curve_fit(lines, x, y, [start, start, 1, 0], bounds=([2, -99, -99, -99], [16, 99, 99, 99]))
            except RuntimeError:
                continue
            least = min(least, float(((lines(x, *fitted) - y) ** 2).sum()))
        assert found(x.tolist(), y.tolist()).curve.best <= least * (1 + 1e-9)


@pytest.mark.parametrize(("true", "noise", "trials"), [(6.0, 0.4, 3), (8.0, 0.4, 5)])
def test_intervals_hold_the_truth_as_often_as_they_say(true: float, noise: float, trials: int) -> None:
    generator = np.random.default_rng(1)
    x = np.repeat(np.array(NODES, dtype=float), trials)
    held = bends = false = 0
    for _ in range(150):
        scatter = generator.normal(0, noise, len(x))
        result = found(x.tolist(), (np.minimum(x, true) + scatter).tolist())
        assert result.low is not None
        assert result.high is not None
        held += result.low <= true <= result.high
        bends += not result.straight
        false += not found(x.tolist(), (x + scatter).tolist()).straight
    assert 0.90 <= held / 150 <= 1
    assert bends / 150 > 0.95
    assert false / 150 < 0.09


@given(seed=st.integers(0, 10_000), limit=st.floats(1, 32))
def test_tests_agree_with_the_interval(seed: int, limit: float) -> None:
    x = np.repeat(np.array(NODES, dtype=float), 3)
    y = np.minimum(x, 8) + np.random.default_rng(seed).normal(0, 0.5, len(x))
    result = found(x.tolist(), y.tolist())
    assert result.low is not None
    assert result.high is not None
    step = 0.16  # the interval's ends lie on a grid, of hundredths of the way between two places
    if limit < result.low - step:
        assert result.p_above(limit) <= 0.025
    if result.low + step < limit < result.at:
        assert result.p_above(limit) > 0.025 * 0.9
    if limit > result.high + step:
        assert result.p_below(limit) <= 0.025


def test_a_bend_in_the_first_gap_has_no_lower_end() -> None:
    """Whatever the first value is, a line through it meets the other one before the second place."""
    y = [0.0, 10.0, 10.1, 9.9, 10.0, 10.1]
    result = found([1, 2, 3, 4, 5, 6], y)
    assert result.low == -math.inf
    assert result.p_above(1.5) > 0.49


def test_few_values_have_a_bend_and_no_interval() -> None:
    result = found([1, 2, 3, 4], [1, 2, 2, 2])
    assert (result.at, result.low, result.high, result.none) == (2, None, None, None)
    assert bend([1, 2, 3, 3], [1, 2, 3, 3]) is None
