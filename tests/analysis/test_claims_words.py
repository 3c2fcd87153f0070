"""One rule for words: what `much` or `about` means stands in the head of a file of claims, and every band obeys it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from invented_results import FOLDER, PAPER, published_values
from invented_results import results as measured

from analysis.claims import Claim, ClaimError, Verdict, judge, load_claims
from analysis.claims.comparisons import Comparison, comparisons
from analysis.claims.vocabulary import Knee
from analysis.claims.wording import asked, subject

FILE = yaml.safe_load((FOLDER / "claims.yaml").read_text())
CLAIMS = {claim.id: claim for claim in PAPER.claims}
NUMBERS = {"about": (0.8, 1.25), "more than": (1.0, None), "less than": (None, 1.0), "from to": (0.91, 1.1)}
BANDS = {
    "more": (1.0, None), "less": (None, 1.0), "much more": (2.0, None), "much less": (None, 0.5),
    "slightly more": (1.0, 1.25), "order of magnitude more": (10.0, None), "order of magnitude less": (None, 0.1),
    "nearly the same": (1 / 1.1, 1.1), "similar": (0.8, 1.25), "roughly similar": (1 / 1.5, 1.5),
    "not much apart": (0.5, 2.0), "small part late": (0.8, None), "large part late": (None, 0.8), "most": (0.5, None),
    "no knee": (0.9, None), "rising": (1.0, None), "linear": (0.8, 1.25),
}  # fmt: skip


def compared(name: str) -> list[Comparison]:
    return [one for test in CLAIMS[name].tests for one in comparisons(test)]


def supports(name: str) -> Verdict:
    return judge(CLAIMS[name], PAPER.published()).verdict


def test_the_head_has_these_words_and_no_others() -> None:
    assert set(FILE["words"]) == set(BANDS) | set(NUMBERS)


def test_no_test_has_a_band_of_its_own() -> None:
    for claim in FILE["claims"]:
        for test in claim["tests"]:
            assert not {"above", "below", "within_percent", "tolerance_percent"} & set(test), claim["id"]
            assert ("word" in test) == (test["test"] != "knee"), claim["id"]


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.id)
def test_each_band_is_the_rules(claim: Claim) -> None:
    for test in claim.tests:
        if isinstance(test, Knee):
            continue
        low, high = BANDS.get(test.word, (None, None))
        if test.word in NUMBERS:
            ends = test.number if isinstance(test.number, tuple) else (test.number, test.number)
            low, high = (
                None if factor is None or end is None else factor * end
                for factor, end in zip(NUMBERS[test.word], ends, strict=True)
            )
        else:
            assert test.number is None
        for one in comparisons(test):
            assert (one.low, one.high) == (pytest.approx(low), pytest.approx(high)), subject(one)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.id)
def test_most_and_any_are_the_texts(claim: Claim) -> None:
    """A sentence is of all cases unless it says otherwise, in words that the finding then has, too."""
    for test in claim.tests:
        words = {"all": ("",), "most": ("most",), "any": ("may", "can")}[test.for_]
        assert any(word in claim.finding.lower() for word in words)


def test_overall_throughput_is_the_sum_of_the_cases() -> None:
    (halves,) = compared("f2m-wire-size-halves")
    found = judge(CLAIMS["f2m-wire-size-halves"], PAPER.published()).outcomes[0]
    assert found.centre == pytest.approx(3924.9 / 8034.2)
    assert subject(halves).startswith("(set1-18 + set1-20 + set1-22 + set1-24) / (set1-17 + set1-19")
    assert supports("f2m-wire-size-halves") is Verdict.HOLDS
    tenth = compared("o2o-100-wireless-tenth")
    assert {one.case for one in tenth[0].over} == {"set1-03", "set1-07", "set1-11", "set1-15"}
    assert supports("o2o-100-wireless-tenth") is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("o2o-100-wireless-durable-publishers-ahead", "set1-01"),
        ("o2o-5k-wire-durable-publishers-ahead", "set1-02"),
        ("o2o-latency-nondurable-lower", "set1-03"),
        ("latency-nondurable-wireless-more", "set1-03"),
    ],
)
def test_no_pair_is_left_out_that_the_text_does_not_except(name: str, case: str) -> None:
    assert case in {quantity.case for one in compared(name) for quantity in one.quantities}


def test_the_peak_is_compared_where_it_is() -> None:
    (peak,) = compared("o2o-5k-wire-thirty-five-times")
    assert [one.case for one in peak.quantities] == ["set1-08", "set1-06"]
    assert asked(peak) == "above 35.0"


def test_two_sentences_are_two_claims() -> None:
    for model, wire, wireless in (("f2m", (1.2, 10), (1.2, 11.6)), ("m2f", (1.1, 39.5), (1.1, 2.2))):
        for network, ends in (("wire", wire), ("wireless", wireless)):
            found = compared(f"{model}-{network}-latency-grows-with-size")
            assert {one.over[0].network for one in found} == {"wireline" if network == "wire" else network}
            assert {(round(one.low or 0, 6), round(one.high or 0, 6)) for one in found} == {
                (round(0.91 * ends[0], 6), round(1.1 * ends[1], 6))
            }


def test_linear_is_a_line_and_not_twice() -> None:
    """Between 2 and 800 connections: what grows by steps of equal size is linear, what only grows is not."""
    line = {"set1-02": 10.0, "set1-06": 10.0 + 98 / 40, "set1-10": 10.0 + 398 / 40, "set1-14": 10.0 + 798 / 40}
    line |= {case.replace(case[-2:], f"{int(case[-2:]) + 2:02}"): value for case, value in line.items()}
    claim, table = CLAIMS["o2o-5k-wireless-linear"], published_values()
    for bent, verdict in ((1.0, Verdict.HOLDS), (1.6, Verdict.FAILS)):
        for quantity in table:
            if quantity.case in line and quantity.metric == "delivered_per_s":
                table[quantity] = line[quantity.case] * (bent if quantity.case in ("set1-06", "set1-08") else 1.0)
        assert judge(claim, measured(table)).verdict is verdict
    in_proportion = compared("f2m-wire-latency-linear")
    assert {(round(one.low or 0, 3), round(one.high or 0, 3)) for one in in_proportion} == {(1.726, 2.696)}


GOOD: dict[str, Any] = {
    "words": {"much more": {"above": 2}, "about": {"above": 0.8, "below": 1.25, "of": "number"},
              "from to": {"above": 0.9, "below": 1.1, "of": "range"}, "similar": {"within_percent": 25}},
    "claims": [{"id": "some-claim", "section": "5", "finding": "One is faster than two.", "tests": [
        {"test": "ratio", "metric": "delivered_per_s", "network": "wire", "pairs": [["one", "two"]]}]}],
}  # fmt: skip


def load(folder: Path, *, words: object = None, **test: object) -> tuple[Claim, ...]:
    data = yaml.safe_load(yaml.safe_dump(GOOD))
    data["claims"][0]["tests"][0] |= test
    if words is not None:
        data["words"] = words
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_claims(path, cases=("one", "two", "three"), networks=("wire",))


@pytest.mark.parametrize(
    ("test", "band"),
    [
        ({"word": "much more"}, (2.0, None)),
        ({"word": "about", "number": 50}, (40.0, 62.5)),
        ({"word": "from to", "number": [6, 18]}, (5.4, pytest.approx(19.8))),
        ({"above": 3}, (3.0, None)),
    ],
)
def test_a_word_gives_its_band(test: dict[str, Any], band: tuple[float, float], tmp_path: Path) -> None:
    (claim,) = load(tmp_path, **test)
    (one,) = comparisons(claim.tests[0])
    assert (one.low, one.high) == (pytest.approx(band[0]), band[1])


@pytest.mark.parametrize(
    ("test", "words", "message"),
    [
        ({"word": "much mroe"}, None, r"claims.0.tests.0: 'much mroe' is no word of this file: did you mean 'much mo"),
        ({"word": "much more"}, {}, r"'much more' is no word of this file: there are none"),
        ({"word": "much more", "above": 3}, None, "'much more' says what above is; leave one of the two out"),
        ({"word": "much more", "number": 3}, None, "'much more' is of no number"),
        ({"word": "about"}, None, "'about' needs number: a number above 0"),
        ({"word": "about", "number": [1, 2]}, None, "'about' needs number: a number above 0"),
        ({"word": "about", "number": -2}, None, "'about' needs number: a number above 0"),
        ({"word": "from to", "number": 2}, None, "'from to' needs number: two numbers above 0"),
        ({"word": "similar"}, None, "'similar' gives within_percent, and ratio takes above, below"),
        ({"number": 3, "above": 1}, None, "number belongs to a word"),
        ({"word": "odd"}, {"odd": {}}, "words.odd: .*a word needs a band"),
        ({"word": "odd"}, {"odd": {"within_percent": 5, "of": "number"}}, "only above and below are of a number"),
        ({"test": "linear", "pairs": None}, None, "series"),
    ],
)
def test_a_word_that_gives_no_band_is_refused(
    test: dict[str, Any], words: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ClaimError, match=message):
        load(tmp_path, words=words, **test)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ({"test": "linear", "series": ["one", "two"], "at": [1, 2]}, "two points are always on a line"),
        ({"test": "linear", "series": ["one", "two", "three"], "at": [1, 3, 2]}, "at needs 3 rising numbers"),
        ({"test": "totals", "pairs": [["one", "two"]], "above": 1, "over": {"network": "wire"},
          "under": {"metric": "published_per_s"}}, "totals are sums of single cases"),
        ({"test": "totals", "pairs": [["one", "two"]], "above": -1}, "a ratio is above 0"),
    ],
)  # fmt: skip
def test_malformed_lines_and_totals_are_refused(test: dict[str, Any], message: str) -> None:
    base = {"metric": "delivered_per_s", "network": "wire", "within_percent": 25} if test["test"] == "linear" else {
        "metric": "delivered_per_s", "network": "wire"}  # fmt: skip
    with pytest.raises(ValueError, match=message):
        Claim.model_validate({"id": "one", "section": "5", "finding": "what is found here", "tests": [base | test]})
