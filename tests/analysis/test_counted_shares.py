"""Shares that were counted and did not spread: a ratio of theirs is no certainty, and one trial decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from claim_values import Values, trials

from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.judge import Verdict, judge
from analysis.claims.outcomes import Answer, outcome
from analysis.claims.vocabulary import Claim
from analysis.compare import compare
from analysis.estimates import estimated
from analysis.findings import CellFinding, Standing, TrialFinding
from analysis.statistics import Answer as Told
from analysis.statistics import Count, estimate, never_certain, paired, paired_ratio

LOSS, OTHER = (Quantity(name, "wire", "loss_share") for name in "ab")


def counted(**lost: Sequence[int]) -> Values:
    """Of each case, what each of its trials lost of 130."""
    quantities = {"a": LOSS, "b": OTHER}
    return Values(
        {quantities[case]: trials(*(one / 130 for one in many)) for case, many in lost.items()},
        counted={quantities[case]: [Count(one, 130) for one in many] for case, many in lost.items()},
    )


def cell(*lost: int, expected: Sequence[int] = (130, 130)) -> CellFinding:
    found = tuple(
        TrialFinding("c", seed, seed, standing=Standing.VALID,
                     metrics={"lost": float(one), "expected": float(of), "loss_share": one / of})
        for seed, (one, of) in enumerate(zip(lost, expected, strict=True))
    )  # fmt: skip
    return CellFinding(name="c", levels={"network": "air"}, trials=found)


@pytest.mark.parametrize("band", [{"above": 0.01}, {"below": 0.01}])
def test_one_trial_without_a_loss_decides_nothing(band: dict[str, float]) -> None:
    test = {"test": "between", "metric": "loss_share", "network": "wire", "cases": ["a"], **band}
    claim = Claim.model_validate({"id": "one", "section": "1", "finding": "Little is lost here.", "tests": [test]})
    one = Values({LOSS: trials(0.0)}, counted={LOSS: [Count(0, 1000)]})
    assert judge(claim, one).verdict is Verdict.INCONCLUSIVE
    assert judge(claim, one).outcomes[0].why == "one trial, no interval"
    two = Values({LOSS: trials(0.0, 0.0)}, counted={LOSS: [Count(0, 1000)] * 2})
    assert judge(claim, two).verdict is not Verdict.INCONCLUSIVE


def test_losses_that_are_alike_in_few_messages_are_not_proven_equal_or_unequal() -> None:
    same, twice = compare(cell(1, 1), cell(1, 1), "loss_share"), compare(cell(1, 1), cell(2, 2), "loss_share")
    assert same.answer is Told.UNDETECTED
    assert (twice.ratio.ratio, twice.answer, twice.tone) == (pytest.approx(2), Told.UNDETECTED, "even")
    assert twice.ratio.low is not None
    assert twice.ratio.low < 1
    plain = compare(cell(1, 3), cell(2, 5), "loss_share")
    assert plain.ratio == paired_ratio([(1 / 130, 2 / 130), (3 / 130, 5 / 130)])  # their spread says more


@pytest.mark.parametrize("expected", [(130, 131), (1000, 1002)])
def test_a_few_more_that_were_looked_at_make_no_certainty(expected: tuple[int, int]) -> None:
    same = compare(cell(1, 1, expected=expected), cell(1, 1, expected=expected), "loss_share")
    one_more = compare(cell(1, 1, expected=expected), cell(2, 2, expected=expected[::-1]), "loss_share")
    assert (same.answer, one_more.answer) == (Told.UNDETECTED, Told.UNDETECTED)
    assert one_more.ratio.low is not None
    assert one_more.ratio.low < 1


def test_numbers_that_are_alike_are_as_uncertain_as_their_shares() -> None:
    share, number = (compare(cell(1, 1), cell(2, 2), metric) for metric in ("loss_share", "lost"))
    assert (number.ratio.low, number.ratio.high) == pytest.approx((share.ratio.low, share.ratio.high))
    assert number.answer is share.answer is Told.UNDETECTED
    for one in (number, share):
        assert one.difference is not None
        assert one.difference.low is not None
        assert one.difference.low < 0
    assert number.difference.low == pytest.approx(share.difference.low * 130)  # type: ignore[union-attr,operator]


def test_broadcasts_that_all_reached_all_are_no_certainty() -> None:
    of = {"broadcasts": 20.0, "reached_all": 20.0, "reached_all_share": 1.0}
    found = estimated("reached_all_share", [of, of])
    assert found is not None
    assert (found.mean, found.high) == (1, 1)
    assert found.low == pytest.approx(0.05 ** (1 / 40))


def test_more_copies_than_messages_are_no_traceback() -> None:
    even = paired([(2.0, 2.0), (2.02, 2.02)])
    assert even is not None
    copies = [Count(200, 100), Count(200, 99)]
    assert never_certain(even, copies, copies).error is not None


def test_a_loss_where_there_was_none_is_worse_though_a_zero_has_no_ratio() -> None:
    lost, kept = compare(cell(0, 0), cell(40, 39), "loss_share"), compare(cell(40, 39), cell(0, 0), "loss_share")
    assert (lost.ratio.ratio, lost.tone, kept.tone) == (None, "worse", "better")
    assert compare(cell(0, 0), cell(1, 1), "loss_share").tone == "even"


def test_the_error_of_a_logarithm_is_that_of_the_share_by_the_share() -> None:
    none = paired([(-1.0, -1.0), (-1.0, -1.0)])
    assert none is not None
    looked = [Count(100, 1000), Count(100, 1000)]
    found = never_certain(none, looked, looked, logarithms=True)
    assert found.error == pytest.approx((2 * 0.9 / (0.1 * 2000)) ** 0.5, rel=0.01)
    weighed = never_certain(none, looked, looked, weights=(1.0, 3.0))
    assert weighed.error == pytest.approx((10 * 0.1 * 0.9 / 2000) ** 0.5, rel=0.01)


def test_claims_of_ratios_know_how_many_were_counted() -> None:
    equal = Comparison(over=(LOSS,), under=(OTHER,), scale="ratio", low=0.95, high=1.05)
    assert outcome(equal, counted(a=[1, 1], b=[1, 1])).answer is Answer.UNCLEAR
    fewer = Comparison(over=(LOSS,), under=(OTHER,), scale="ratio", high=0.5)
    found = outcome(fewer, counted(a=[0, 0], b=[1, 1]))
    assert (found.answer, found.centre) == (Answer.UNCLEAR, None)
    assert found.chance is not None
    assert found.chance.inside > 0.025
    assert outcome(fewer, counted(a=[0, 0], b=[40, 40])).answer is Answer.YES


def test_a_share_above_one_is_no_share_and_has_both_ends() -> None:
    found = estimate([2.8, 3.2], "share")
    assert found is not None
    assert found.high is not None
    assert found.high > 3.2
    inside = estimate([0.9, 1.0], "share")
    assert inside is not None
    assert inside.high == 1.0
    doubled = LOSS._replace(metric="duplicate_share")
    twice = outcome(Comparison(over=(doubled,), scale="value", low=1.0), Values({doubled: trials(1.9, 2.0, 2.1)}))
    assert twice.high is not None
    assert twice.high > 2.1
