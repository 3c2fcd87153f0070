from __future__ import annotations

import numpy as np
import pytest
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st

from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile
from emulation.proof import expectation


def side(**settings: object) -> DirectionProfile:
    return profile(**settings).uplink


def of(kind: object) -> np.ndarray:
    """Jitters in units of what is asked."""
    jitter, values = distribution.table(side(delay=1, jitter=0.1, jitter_distribution=kind))
    return values / distribution.SCALE * jitter / 0.1


@pytest.mark.parametrize(("kind", "deviation"), [("uniform", 1 / np.sqrt(3)), ("normal", 1.0), ("pareto", 1.0)])
def test_distributions_have_no_mean_and_the_deviation_that_their_name_says(kind: str, deviation: float) -> None:
    table = of(kind)
    assert table.mean() == pytest.approx(0, abs=0.001)
    assert table.std() == pytest.approx(deviation, rel=0.002)


def test_a_uniform_jitter_is_half_the_width() -> None:
    assert (of("uniform").min(), of("uniform").max()) == (pytest.approx(-1, abs=1e-3), pytest.approx(1, abs=1e-3))


def test_a_pareto_tail_is_on_one_side() -> None:
    table = of("pareto")
    assert np.median(table) < 0
    assert table.max() > 10
    assert table.min() > -0.7


@given(st.lists(st.integers(-32768, 32767), min_size=2, max_size=50))
def test_a_measured_distribution_is_taken_as_it_is(values: list[int]) -> None:
    made = side(delay=1, jitter=0.1, jitter_distribution={"values": values})
    assert distribution.table(made)[0] == 0.1
    assert distribution.table(made)[1].tolist() == values


@given(st.integers(0, 5000), st.floats(1e-9, 0.99))
def test_a_binomial_interval_has_the_mean_inside(n: int, share: float) -> None:
    found = expectation.binomial(n, share)
    assert 0 <= found.low <= np.ceil(n * share)
    assert np.floor(n * share) <= found.high <= n


def test_damage_that_nobody_notices_is_allowed_for() -> None:
    found = expectation.corrupted(10_000, 0.05)
    assert found.low < 400
    assert found.high > 500
    assert expectation.corrupted(10_000, 0.0) == expectation.Interval(0, 0)


def test_packets_that_keep_order_wait_for_those_before_them() -> None:
    settings = {"delay": 0.05, "jitter": 0.02}
    kept = expectation.delays(side(**settings), packets=100, spacing_s=0.001)
    free = expectation.delays(side(**settings, keep_order=False), packets=100, spacing_s=0.001)
    leaves = kept + np.arange(100) * 0.001
    assert np.all(np.diff(leaves, axis=1) >= -1e-12)
    assert kept.mean() > free.mean() + 0.005
    assert free.mean() == pytest.approx(0.05, abs=0.001)


def test_packets_that_are_reordered_do_not_wait_at_all() -> None:
    found = expectation.delays(side(delay=0.05, reorder=0.3), packets=200, spacing_s=0.01)
    assert np.mean(found == 0) == pytest.approx(0.3, abs=0.01)
    assert np.allclose(found[found > 0], 0.05)


def test_what_is_expected_of_a_median_and_a_spread_contains_the_truth() -> None:
    runs = expectation.delays(side(delay=0.05, jitter=0.01), packets=200, spacing_s=1.0)
    median, spread = expectation.delay(runs, 0.5), expectation.spread(runs)
    assert median.low < 0.05 < median.high
    assert spread.low < 0.01 < spread.high
