"""Intervals of what cannot be negative, of shares, and of what was never seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.compare import compare
from analysis.estimates import counted, estimated, of_values
from analysis.findings import CellFinding, Standing, TrialFinding
from analysis.metrics import METRICS
from analysis.report.summary import MetricSummary
from analysis.report.view import _comparison
from analysis.statistics import Count, Estimate, estimate, never_certain, paired, share
from analysis.units import interval

positive = st.lists(st.floats(0, 1e6), min_size=2, max_size=9)
shares = st.lists(st.floats(0, 1), min_size=2, max_size=9)
counts = st.lists(
    st.integers(1, 500).flatmap(lambda of: st.builds(Count, st.integers(0, of), st.just(of))), min_size=2, max_size=6
)


def cell(*trials: dict[str, float]) -> CellFinding:
    made = [TrialFinding("c", n, n, standing=Standing.VALID, metrics=one) for n, one in enumerate(trials, start=1)]
    return CellFinding(name="c", levels={}, trials=tuple(made))


def ends(found: Estimate | None) -> tuple[float, float]:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@given(positive)
def test_what_cannot_be_negative_has_an_interval_that_is_not(values: list[float]) -> None:
    found = estimate(values, "positive")
    low, high = ends(found)
    assert found is not None
    assert 0 <= low <= found.mean <= high


@given(shares)
def test_a_share_stays_between_nothing_and_all(values: list[float]) -> None:
    found = estimate(values, "share")
    low, high = ends(found)
    assert found is not None
    assert 0 <= low <= found.mean <= high <= max(1.0, found.mean)


def test_no_latency_is_written_with_an_interval_below_zero() -> None:
    """Three 99th percentiles whose plain t interval is 19.7 ± 38.6 ms."""
    values = [0.03745, 0.0130, 0.0086]
    plain = estimate(values)
    assert plain is not None
    assert interval(METRICS["latency_p99_s"], plain) == "19.7 ± 38.6 ms"
    found = cell(*({"latency_p99_s": value} for value in values)).estimate("latency_p99_s")
    assert interval(METRICS["latency_p99_s"], found) == "19.7 [2.45, 106] ms"


def test_below_five_trials_the_interval_is_students_on_logarithms() -> None:
    values = [10.0, 20.0, 40.0]
    low, high = ends(estimate(values, "positive"))
    oracle = stats.t.interval(0.95, 2, loc=math.log(20), scale=math.log(2) / math.sqrt(3))
    assert (math.log(low), math.log(high)) == (pytest.approx(oracle[0]), pytest.approx(oracle[1]))


def test_from_five_trials_on_it_is_the_bootstrap() -> None:
    values = [1.0, 1.1, 1.3, 0.9, 7.0]
    low, high = ends(estimate(values, "positive"))
    assert min(values) <= low < high <= max(values)
    assert high - low != pytest.approx(2 * stats.sem(values) * stats.t.ppf(0.975, 4), rel=0.01)


def test_a_zero_among_few_values_cuts_the_interval_at_zero() -> None:
    assert ends(estimate([0.0, 1.0], "positive"))[0] == 0
    low, high = ends(estimate([0.0, 0.5, 1.0], "share"))
    assert (low, high) == (0.0, 1.0)


def test_nothing_lost_in_two_trials_of_130_is_a_bound_of_about_one_per_cent() -> None:
    trials = [{"lost": 0.0, "expected": 130.0, "loss_share": 0.0}] * 2
    found = cell(*trials).estimate("loss_share")
    assert ends(found) == (0.0, pytest.approx(3 / 260, rel=0.01))
    assert interval(METRICS["loss_share"], found) == "0 [0, 1.15] %"
    number = cell(*trials).estimate("lost")
    assert ends(number) == (0.0, pytest.approx(1.5, rel=0.01))
    everything = [{"lost": 130.0, "expected": 130.0, "loss_share": 1.0}] * 2
    assert ends(cell(*everything).estimate("loss_share")) == (pytest.approx(1 - 3 / 260, rel=0.01), 1.0)


def test_where_trials_agree_the_interval_is_clopper_and_pearsons() -> None:
    found = share([Count(3, 100), Count(5, 100), Count(4, 100)])
    oracle = stats.binomtest(12, 300).proportion_ci(method="exact")
    assert ends(found) == (pytest.approx(oracle.low), pytest.approx(oracle.high))


def test_a_single_loss_says_little_more_than_none() -> None:
    for trials in (2, 3, 5):
        one = share([Count(int(number == 0), 130) for number in range(trials)])
        oracle = stats.binomtest(1, 130 * trials).proportion_ci(method="exact")
        assert ends(one) == (pytest.approx(oracle.low), pytest.approx(oracle.high))


def test_where_losses_come_in_one_trial_they_are_not_independent() -> None:
    apart = ends(share([Count(0, 1000), Count(0, 1000), Count(60, 1000)]))
    alike = ends(share([Count(20, 1000), Count(20, 1000), Count(20, 1000)]))
    assert apart[1] > 3 * alike[1]
    assert apart[0] < alike[0] / 3


def test_trials_that_are_worth_less_than_one_that_was_found_bound_nothing_from_below() -> None:
    assert ends(share([Count(30, 1000), Count(0, 1000)]))[0] == 0.0
    assert ends(share([Count(970, 1000), Count(1000, 1000)]))[1] == 1.0


@given(counts)
def test_a_counted_share_has_its_mean_inside(found: list[Count]) -> None:
    estimated_share = share(found)
    low, high = ends(estimated_share)
    assert estimated_share is not None
    assert 0 <= low <= estimated_share.mean <= high <= 1
    assert high > low


@pytest.mark.parametrize(("p", "of", "together"), [(0.012, 130, 0.0), (0.05, 60, 0.0), (0.05, 400, 0.05)])
def test_counted_shares_cover_the_truth(p: float, of: int, together: float) -> None:
    """together: correlation of two messages of one trial (beta-binomial)."""
    generator = np.random.default_rng(11)
    rounds, held = 500, 0
    for _ in range(rounds):
        if together:
            size = 1 / together - 1
            of_trials = generator.beta(p * size, (1 - p) * size, 3)
        else:
            of_trials = np.full(3, p)
        low, high = ends(share([Count(int(k), of) for k in generator.binomial(of, of_trials)]))
        held += low <= p <= high
    # Losses that come together, in three trials, some of which have none: no interval is exact there.
    assert held / rounds > (0.85 if together else 0.93)


def test_a_single_trial_has_no_interval_and_copies_beyond_the_messages_are_no_share() -> None:
    assert share([Count(0, 130)]) == Estimate(n=1, mean=0.0, low=None, high=None)
    assert share([]) is None
    assert share([Count(3, 2), Count(1, 2)]) is None
    trials = [{"duplicates": 30.0, "expected": 10.0, "lost": 0.0, "in_doubt": 0.0, "duplicate_share": 3.0}] * 2
    assert ends(estimated("duplicate_share", trials)) == (3.0, 3.0)


def test_older_records_that_do_not_count_are_taken_as_they_are() -> None:
    trials = [{"retr_share_uplink": 0.02}, {"retr_share_uplink": 0.04}]
    assert counted("retr_share_uplink", trials) == ()
    assert estimated("retr_share_uplink", trials) == of_values("retr_share_uplink", [0.02, 0.04])
    assert counted("air_utilisation", trials) == ()


def test_two_groups_without_a_loss_are_not_known_to_be_equal() -> None:
    none = paired([(0.0, 0.0), (0.0, 0.0)])
    assert none is not None
    assert none.half_width == 0
    looked = [Count(0, 130), Count(0, 130)]
    found = never_certain(none, looked, looked)
    assert found.half_width == pytest.approx(0.0106, abs=0.0005)
    assert found.p_below(0.005) > 0.025  # that B loses half a point more cannot be excluded
    wide = paired([(0.0, 0.5), (0.0, 0.1)])
    assert wide is not None
    assert never_certain(wide, looked, looked) is wide
    assert never_certain(none, [], looked) is none


def test_that_no_difference_shows_is_told_where_neither_side_lost_anything() -> None:
    trials = [{"lost": 0.0, "expected": 130.0, "loss_share": 0.0}] * 2
    found = _comparison(compare(cell(*trials), cell(*trials), "loss_share"))
    assert found["ratio"].text == "both zero"
    assert found["words"] == "no difference detectable; more than 1.1 points would have shown (2 pairs)"
    assert found["before"].text == "0 [0, 1.15] %"


def test_a_lower_bound_is_written_as_one() -> None:
    metric = METRICS["latency_mean_s"]
    bound = Estimate(n=3, mean=12.0, low=None, high=None, at_least=True)
    assert interval(metric, bound) == "≥ 12.0 s"
    assert interval(metric, Estimate(n=1, mean=12.0, low=None, high=None, at_least=True)) == "≥ 12.0 s (1 trial)"
    assert interval(metric, Estimate(n=3, mean=0.0, low=0.0, high=0.0)) == "0 ± 0 s"
    assert MetricSummary(n=3, mean=12.0, low=None, high=None, at_least=True, text="≥ 12.0 s").at_least


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({}, {}, "neither has any"),
        ({}, {"noticed_after_s": 1.0}, "the baseline has none"),
        ({"noticed_after_s": 1.0}, {}, "it has none"),
    ],
)
def test_what_a_cell_does_not_have_is_not_told_of_its_seeds(
    first: dict[str, float], second: dict[str, float], why: str
) -> None:
    assert compare(cell(first, first), cell(second, second), "noticed_after_s").ratio.undefined == why
    nobody = CellFinding(name="c", levels={}, trials=())
    found = compare(nobody, cell({"noticed_after_s": 1.0}), "noticed_after_s")
    assert found.ratio.undefined == "no two valid trials share a seed"
