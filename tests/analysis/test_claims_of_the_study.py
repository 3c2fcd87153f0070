"""Every claim of the study: invented results that satisfy it and that violate it, and the published numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from invented_results import (
    PAPER,
    Change,
    Table,
    as_published,
    published_values,
    publishers_far_ahead,
    results,
    scattered,
    times,
    turned_round,
)

from analysis.claims import Claim, Verdict, judge
from analysis.claims.vocabulary import NoDifference

WIRE, WIRELESS = ["wireline"], ["wireless"]


def each(*changes: Change) -> Change:
    """All of these, one after the other."""

    def changed(table: Table) -> Table:
        for change in changes:
            table = change(table)
        return table

    return changed


# The study's own numbers do not support these sentences of its text; what would have to be otherwise.
SUPPORTED_IF: dict[str, Change] = {
    "o2o-100-wire-durable-publishers-ahead": times(
        1.2, metric="published_per_s", cases=["set1-05", "set1-09", "set1-13"]
    ),
    "o2o-100-wireless-nondurable-twice": times(0.75, metric="delivered_per_s", cases=["set1-15"], networks=WIRELESS),
    "o2o-100-wireless-durable-publishers-ahead": times(
        2, metric="published_per_s", cases=["set1-01"], networks=WIRELESS
    ),
    "o2o-5k-wire-durable-publishers-ahead": times(2, metric="published_per_s", cases=["set1-02"], networks=WIRE),
    "o2o-5k-wireless-linear": times(0.85, metric="delivered_per_s", cases=["set1-06", "set1-08"], networks=WIRELESS),
    "o2o-5k-wireless-connections-matter-little": times(
        1.6, metric="delivered_per_s", cases=["set1-02", "set1-04"], networks=WIRELESS
    ),
    "o2o-latency-nondurable-lower": times(0.5, metric="latency_mean_s", cases=["set1-03"], networks=WIRELESS),
    "o2o-latency-grows-with-size": times(
        12, metric="latency_mean_s", cases=["set1-06", "set1-10", "set1-14", "set1-16"]
    ),
    "o2o-latency-size-order-of-magnitude": times(10, metric="latency_mean_s", cases=["set1-02"], networks=WIRE),
    "f2m-wireless-slower": times(0.8, metric="delivered_per_s", cases=["set1-21"], networks=WIRELESS),
    "f2m-wire-latency-linear": each(
        times(0.45, metric="latency_mean_s", cases=["set1-21", "set1-22"], networks=WIRE),
        times(1.6, metric="latency_mean_s", cases=["set1-23", "set1-24"], networks=WIRE),
    ),
    "f2m-wire-latency-grows-with-size": times(1.3, metric="latency_mean_s", cases=["set1-22"], networks=WIRE),
    "f2m-wireless-latency-higher": times(2, metric="latency_mean_s", cases=["set1-17"], networks=WIRELESS),
    "m2f-wire-nondurable-keeps-up": times(3, metric="delivered_per_s", cases=["set1-28"], networks=WIRE),
    "m2f-wire-publishers-gain": each(
        times(1.2, metric="delivered_per_s", cases=["set1-31"], networks=WIRE),
        times(0.3, metric="delivered_per_s", cases=["set1-29"], networks=WIRE),
        times(0.25, metric="delivered_per_s", cases=["set1-30"], networks=WIRE),
        times(0.17, metric="delivered_per_s", cases=["set1-32"], networks=WIRE),
        times(1.1, metric="published_per_s", cases=["set1-29", "set1-30", "set1-31"], networks=WIRE),
        times(0.42, metric="published_per_s", cases=["set1-32"], networks=WIRE),
    ),
    "m2f-latency-durable-higher": times(
        0.3, metric="latency_mean_s", cases=["set1-27", "set1-28", "set1-31", "set1-32"]
    ),
    "m2f-latency-nondurable-wireless": times(
        20, metric="latency_mean_s", cases=["set1-28", "set1-31", "set1-32"], networks=WIRELESS
    ),
    "m2f-latency-durable-wireless": times(
        1.5, metric="latency_mean_s", cases=["set1-25", "set1-30"], networks=WIRELESS
    ),
    "auto-beats-dups-ok": times(0.9, metric="delivered_per_s", cases=["set2-02"], networks=WIRE),
    "m2f-durable-poor-with-publishers": times(0.1, metric="delivered_per_s", cases=["set1-29", "set1-30"]),
    "selector-loads-the-broker": times(0.5, metric="published_per_s", cases=["set2-14"], networks=WIRE),
    "connections-cost-throughput": times(
        0.005, metric="delivered_per_s", cases=["set1-13", "set1-14", "set1-15", "set1-16"]
    ),
    "persistence-costs-throughput-everywhere": times(
        0.9,
        metric="delivered_per_s",
        cases=["set2-01", "set2-02", "set2-05", "set2-06", "set2-09", "set2-10", "set2-13", "set2-14"],
    ),
}
VIOLATED_BY: dict[str, Change] = {
    "selector-loads-the-broker": as_published,
    "m2f-durable-poor-with-publishers": as_published,
    "durable-wireless-in-time": publishers_far_ahead,
    "nondurable-small-share-late": publishers_far_ahead,
}


def violation(claim: Claim) -> Change:
    default = scattered if all(isinstance(test, NoDifference) for test in claim.tests) else turned_round
    return VIOLATED_BY.get(claim.id, default)


each_claim = pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.id)


@each_claim
def test_results_that_satisfy_a_claim(claim: Claim) -> None:
    table = SUPPORTED_IF.get(claim.id, as_published)(published_values())
    found = judge(claim, results(table))
    assert found.verdict is Verdict.HOLDS, [one for one in found.outcomes if one.answer != "yes"]


@each_claim
def test_results_that_violate_a_claim(claim: Claim) -> None:
    found = judge(claim, results(violation(claim)(published_values())))
    assert found.verdict is Verdict.FAILS, [one for one in found.outcomes if one.answer != "no"]


@each_claim
def test_one_trial_decides_nothing(claim: Claim) -> None:
    found = judge(claim, results(published_values(), trials=1))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert all(one.centre is not None and one.why for one in found.outcomes)


@each_claim
def test_nothing_measured_is_inconclusive_and_says_what_is_missing(claim: Claim) -> None:
    found = judge(claim, results({}))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert all("was not run on" in one.why for one in found.outcomes)


def test_the_published_numbers_support_all_claims_but_those_that_are_known() -> None:
    supported = {name: [judge(claim, PAPER.published(name)) for claim in PAPER.claims] for name in PAPER.readings}
    for found in supported.values():
        assert {one.claim.id for one in found if one.verdict is not Verdict.HOLDS} == set(SUPPORTED_IF)
        assert Verdict.INCONCLUSIVE not in {one.verdict for one in found}


def test_there_are_enough_claims_and_each_section_has_some() -> None:
    assert len(PAPER.claims) >= 25
    sections = " ".join(claim.section for claim in PAPER.claims)
    assert all(section in sections for section in ("5.1.1", "5.1.2", "5.1.3", "5.2", "6", "7"))


def test_claims_stand_in_the_order_of_the_sections() -> None:
    first = [claim.section.split(",")[0] for claim in PAPER.claims if claim.section.startswith("5")]
    assert all(a <= b for a, b in pairwise(first))
