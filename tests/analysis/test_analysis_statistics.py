from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.metrics import METRICS
from analysis.statistics import Estimate, Ratio, estimate, paired_ratio, t_factor
from analysis.units import digits, factor_text, interval, quantity, times_text

values = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=30)
positive = st.floats(1e-3, 1e6)


def test_students_t_is_the_tabulated_one() -> None:
    assert [round(t_factor(n), 3) for n in (2, 3, 5, 30)] == [12.706, 4.303, 2.776, 2.045]


def test_the_interval_is_the_one_worked_out_by_hand() -> None:
    found = estimate([9.0, 10.0, 11.0])
    assert found is not None
    assert (found.n, found.mean) == (3, 10.0)
    half = 4.302653 / math.sqrt(3)
    assert (found.low, found.high) == (pytest.approx(10 - half, rel=1e-6), pytest.approx(10 + half, rel=1e-6))


def test_one_trial_has_a_mean_and_no_interval() -> None:
    assert estimate([4.0]) == Estimate(n=1, mean=4.0, low=None, high=None)
    assert estimate([]) is None
    assert "1 trial" in interval(METRICS["delivered_per_s"], estimate([4.0]))


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = estimate([0.1 + 0.2, 0.3, 0.3])
    assert found is not None
    assert found.low == pytest.approx(found.high, rel=1e-12)


@given(values, st.floats(0.1, 100))
def test_mean_and_interval_scale_with_the_unit(sample: list[float], factor: float) -> None:
    small, large = estimate(sample), estimate([factor * value for value in sample])
    assert small is not None
    assert large is not None
    assert large.mean == pytest.approx(factor * small.mean)
    for one, other in ((small.low, large.low), (small.high, large.high)):
        assert other == pytest.approx(factor * (one or 0), rel=1e-6, abs=1e-9 * large.mean)


@given(values)
def test_the_interval_holds_the_mean_and_does_not_depend_on_the_order(sample: list[float]) -> None:
    found, turned = estimate(sample), estimate(sample[::-1])
    assert found is not None
    assert turned is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    assert turned.mean == pytest.approx(found.mean)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=10))
def test_the_ratio_turned_round_is_its_inverse(pairs: list[tuple[float, float]]) -> None:
    forth, back = paired_ratio(pairs), paired_ratio([(b, a) for a, b in pairs])
    assert forth.ratio is not None
    assert forth.low is not None
    assert forth.high is not None
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assume(forth.high < 1e100)
    assert back.low == pytest.approx(1 / forth.high)


@given(st.floats(0.01, 100), st.lists(positive, min_size=2, max_size=10))
def test_a_constant_factor_is_found_without_spread(factor: float, sample: list[float]) -> None:
    found = paired_ratio([(value, value * factor) for value in sample])
    assert found.ratio == pytest.approx(factor)
    assert found.low == pytest.approx(factor, rel=1e-6)
    assert found.high == pytest.approx(factor, rel=1e-6)


def test_pairing_removes_what_the_seeds_have_in_common() -> None:
    pairs = [(100.0, 10.0), (200.0, 20.5), (400.0, 39.0)]
    found = paired_ratio(pairs)
    assert found.high is not None
    assert found.low is not None
    assert found.ratio == pytest.approx((0.1 * 0.1025 * 0.0975) ** (1 / 3))
    assert found.high / found.low < 1.15


@pytest.mark.parametrize("pairs", [[(0.0, 1.0), (1.0, 2.0)], [(1.0, 0.0)], [(0.0, 0.0)]])
def test_a_zero_makes_the_ratio_undefined_and_says_so(pairs: list[tuple[float, float]]) -> None:
    found = paired_ratio(pairs)
    assert found.ratio is None
    assert "zero" in factor_text(found)


def test_without_pairs_or_with_one_there_is_no_interval() -> None:
    assert paired_ratio([]).undefined == "no two valid trials share a seed"
    assert paired_ratio([(2.0, 1.0)]) == Ratio(n=1, ratio=0.5)
    assert "no interval" in factor_text(paired_ratio([(2.0, 1.0)]))


def test_an_interval_around_one_shows_no_difference() -> None:
    unclear = "no difference detectable; more than {} would have shown"
    assert times_text(Ratio(n=3, ratio=1.2, low=0.9, high=1.6)) == unclear.format("33 %") + " (3 pairs)"
    assert times_text(Ratio(n=3, ratio=1.2, low=0.1, high=14.4)) == unclear.format("12 times") + " (3 pairs)"
    assert times_text(Ratio(n=3, ratio=1.0, low=0.96, high=1.04)) == "equal within 5 % (3 pairs)"
    assert times_text(Ratio(n=3, ratio=0.1, low=0.09, high=0.111)) == "10.0 times less, ± 11 % (3 pairs)"
    assert times_text(Ratio(n=2, ratio=0.1, low=0.02, high=0.5)) == "10.0 times less, 2.00 to 50.0 (2 pairs)"
    assert times_text(Ratio(n=3, ratio=1.25, low=1.2, high=1.3)) == "25.0 % more (3 pairs)"


@given(st.floats(1e-9, 1e12))
def test_three_digits_are_within_half_a_per_cent(value: float) -> None:
    shown = float(digits(value).replace("\u202f", ""))
    assert shown == pytest.approx(value, rel=0.0051)


def test_values_carry_their_unit_and_a_fitting_prefix() -> None:
    assert quantity(METRICS["latency_p50_s"], 0.0123) == "12.3 ms"
    assert quantity(METRICS["goodput_bit_s"], 1_234_567.0) == "1.23 Mbit/s"
    assert quantity(METRICS["loss_share"], 0.031) == "3.10 %"
    assert quantity(METRICS["loss_share"], 0.0) == "0 %"
    assert quantity(METRICS["deliveries"], 12345.0) == "12\u202f345"
    assert quantity(METRICS["latency_p50_s"], None) == "–"
    assert interval(METRICS["latency_p50_s"], Estimate(n=3, mean=0.0123, low=0.0119, high=0.0127)) == "12.3 ± 0.4 ms"
    late = Estimate(n=3, mean=12.3, low=None, high=None, at_least=True)
    assert interval(METRICS["latency_p50_s"], late) == "≥ 12.3 s"
