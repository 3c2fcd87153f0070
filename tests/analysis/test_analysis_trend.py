"""The trend test: quiet where there is no trend, however the seconds depend on each other; awake where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics import trend
from analysis.statistics.trend import batch_counts, batch_medians

ROUNDS, BATCHES = 2000, 64


def dependent(generator: np.random.Generator, phi: float) -> np.ndarray:
    """Stationary first-order autoregressive series; phi: correlation of neighbouring batches."""
    series = np.empty((ROUNDS, BATCHES))
    series[:, 0] = generator.standard_normal(ROUNDS)
    for at in range(1, BATCHES):
        noise = generator.standard_normal(ROUNDS)
        series[:, at] = phi * series[:, at - 1] + np.sqrt(1 - phi * phi) * noise
    return series


def alarms(series: np.ndarray) -> float:
    found = [trend(one) for one in series]
    return sum(one is not None and one.p <= 0.05 for one in found) / len(found)


@pytest.mark.parametrize(("phi", "most"), [(0.0, 0.065), (0.3, 0.07), (0.6, 0.085)])
def test_stationary_windows_raise_few_alarms(phi: float, most: float) -> None:
    share = alarms(10 + dependent(np.random.default_rng(5), phi))
    assert 0.035 <= share <= most


def test_one_stall_is_no_trend() -> None:
    series = 10 + dependent(np.random.default_rng(6), 0.3)
    series[:, 3] = 0.0
    assert alarms(series) <= 0.075


@pytest.mark.parametrize("phi", [0.0, 0.3])
def test_a_real_trend_is_found_and_measured(phi: float) -> None:
    ramp = np.linspace(-1, 1, BATCHES)
    series = 10 + dependent(np.random.default_rng(7), phi) + 1.5 * ramp  # from 8.5 to 11.5, spread 1
    assert alarms(series) >= 0.9
    changes = [found.change for one in series if (found := trend(one)) is not None]
    assert np.mean(changes) == pytest.approx(0.305, abs=0.01)


@given(st.lists(st.floats(1, 1e6), min_size=16, max_size=80), st.floats(0.01, 100))
def test_neither_the_unit_nor_the_direction_of_time_changes_the_test(sample: list[float], factor: float) -> None:
    values = np.array(sample)
    forth, back, scaled = trend(values), trend(values[::-1]), trend(values * factor)
    assert forth is not None
    assert back is not None
    assert scaled is not None
    assert back.p == pytest.approx(forth.p, abs=1e-6)
    assert back.change == pytest.approx(-forth.change, abs=1e-9)
    if len(np.unique(values * factor)) == len(np.unique(values)):
        assert scaled.p == pytest.approx(forth.p, abs=1e-6)


def test_what_does_not_change_has_no_trend_and_little_is_not_judged() -> None:
    steady = trend(np.full(20, 3.0))
    assert steady is not None
    assert (steady.change, steady.p) == (0.0, 1.0)
    assert trend(np.arange(15.0)) is None
    assert len(batch_medians(np.arange(63.0))) == 0
    assert len(batch_counts(np.arange(31), start_ns=0, end_ns=31)) == 0


def test_batches_keep_every_event_of_the_window() -> None:
    t_ns = np.random.default_rng(8).integers(0, 1000, 500)
    counts = batch_counts(t_ns, start_ns=200, end_ns=900)
    assert len(counts) == 64
    assert counts.sum() == np.count_nonzero((t_ns >= 200) & (t_ns < 900))
    assert len(batch_medians(np.arange(1000.0))) == 64
