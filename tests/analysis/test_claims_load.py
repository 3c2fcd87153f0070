"""Malformed claims are refused with file, line, value and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import ClaimError, load_claims

CASES, NETWORKS = ("one", "two", "three"), ("wire", "air")
GOOD = """\
claims:
  - id: some-claim
    section: 5.1.1
    finding: One is faster than two.
    tests:
      - test: ratio
        metric: delivered_per_s
        network: wire
        pairs: [[one, two]]
        above: 1
"""


def load(folder: Path, text: str) -> object:
    path = folder / "claims.yaml"
    path.write_text(text)
    return load_claims(path, cases=CASES, networks=NETWORKS)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("test: ratio", "test: ration", r"claims\.yaml:6: .*'ration'.*'no_difference'"),
        ("above: 1", "abvoe: 1", r"claims\.yaml:10: claims\.0\.tests\.0\.abvoe: unknown key; see analysis/claims/voc"),
        ("        above: 1\n", "", r":6: claims\.0\.tests\.0: needs above, below, or both"),
        ("above: 1", "above: -2", r":6: claims\.0\.tests\.0: a ratio is above 0"),
        ("above: 1", "above: much", r":10: claims\.0\.tests\.0\.above: 'much': .*number"),
        ("above: 1", "{above: 2, below: 1}", r"claims\.yaml:\d+"),
        ("above: 1", "above: 2\n        below: 1", r":6: .*nothing lies above 2 and below 1"),
        ("above: 1", "above: .inf", r":10: .*above: inf: .*finite"),
        ("pairs: [[one, two]]", "pairs: [[one]]", r":9: claims\.0\.tests\.0\.pairs\.0\.1: is missing"),
        (
            "pairs: [[one, two]]",
            "pairs: [[one, tow]]",
            r":6: claims\.0\.tests\.0: 'tow' is no case: did you mean 'two'",
        ),
        ("pairs: [[one, two]]", "cases: [one]", r":6: .*over and under belong together, and cases need both"),
        ("pairs: [[one, two]]", "cases: [one]\n        pairs: [[one, two]]", r":6: .*either pairs .* or cases"),
        (
            "pairs: [[one, two]]",
            "cases: [one]\n        over: {network: air}\n        under: {network: air}",
            r":6: .*over and under are the same",
        ),
        ("metric: delivered_per_s", "metric: deliverd_per_s", r":6: .*no metric: did you mean 'delivered_per_s'"),
        ("network: wire", "network: water", r":6: .*'water' is no network: .*there are wire, air"),
        ("id: some-claim", "id: Some Claim", r":2: claims\.0\.id: 'Some Claim'"),
        ("    section: 5.1.1\n", "", r":2: claims\.0\.section: is missing"),
        ("section: 5.1.1", "section: 5.1", r":3: claims\.0\.section: 5\.1: has to be text"),
        ("finding: One is faster than two.", "finding: brief", r":4: claims\.0\.finding: 'brief': .*15"),
        (
            "        above: 1\n",
            "        above: 1\n        for: some\n",
            r":11: claims\.0\.tests\.0\.for: 'some': .*'any'",
        ),
        ("claims:", "claim:", r":1: "),
        ("  - id", "  -- id", r"claims\.yaml:\d+: not YAML"),
        ("above: 1", "above: 1\n        above: 2", r":11: the key 'above' is given twice"),
        ("above: 1", "<<: 3", r":10: << takes a mapping"),
        (
            "    tests:\n",
            "    tests:\n      - {test: never, metric: latency_p50_s, network: wire, cases: [one]}\n",
            r"'latency_p50_s' is no share that is counted, which are loss_share, in_doubt_share",
        ),
    ],
)
def test_a_malformed_claim_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ClaimError, match=message):
        load(tmp_path, GOOD.replace(old, new))


def test_a_series_has_each_case_once(tmp_path: Path) -> None:
    text = GOOD.replace("test: ratio", "test: knee").replace("pairs: [[one, two]]", "series: [one, two, one]")
    with pytest.raises(ClaimError, match=r"series: 'one' stands there twice"):
        load(tmp_path, text.replace("above: 1", "at: one"))


def test_a_knee_must_be_in_its_series(tmp_path: Path) -> None:
    text = GOOD.replace("test: ratio", "test: knee").replace("pairs: [[one, two]]", "series: [one, two]")
    with pytest.raises(ClaimError, match=r"the knee at 'three' is not in the series one, two"):
        load(tmp_path, text.replace("above: 1", "at: three"))


def test_an_id_is_one_claims_own(tmp_path: Path) -> None:
    with pytest.raises(ClaimError, match=r":11: claims\.1\.id: 'some-claim' is the id of claim 1 too"):
        load(tmp_path, GOOD + GOOD.removeprefix("claims:\n"))


def test_every_problem_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClaimError) as caught:
        load(tmp_path, GOOD.replace("id: some-claim", "id: X").replace("above: 1", "above: much"))
    assert len(str(caught.value).splitlines()) == 2


def test_a_mapping_can_be_taken_up_and_changed(tmp_path: Path) -> None:
    text = GOOD.replace("- test: ratio", "- &first\n        test: ratio") + "      - {<<: *first, above: 3}\n"
    (claim,) = load(tmp_path, text)  # type: ignore[misc]
    assert [test.above for test in claim.tests] == [1, 3]


@given(data=st.binary(max_size=400))
def test_any_file_ends_in_claims_or_a_claim_error(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "claims.yaml"
    path.write_bytes(data)
    with pytest.raises(ClaimError):
        load_claims(path, cases=CASES, networks=NETWORKS)


WORDS = st.sampled_from(["ratio", "knee", "one", "two", "wire", "delivered_per_s", "all", "1", "-1", ".nan", "null"])
KEYS = st.sampled_from(["test", "metric", "network", "pairs", "cases", "over", "under", "series", "at", "above", "for"])


TESTS = st.dictionaries(KEYS, st.one_of(WORDS, st.lists(WORDS, max_size=3).map(lambda one: f"[{', '.join(one)}]")))


@given(entries=TESTS)
def test_any_test_is_taken_or_refused_in_words(
    entries: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = "".join(f"\n        {key}: {value}" for key, value in entries.items()) or " {}"
    head = GOOD[: GOOD.index("      - test")]
    path = tmp_path_factory.mktemp("fuzz") / "claims.yaml"
    path.write_text(f"{head}      -{lines}\n")
    told = ""
    try:
        found = load_claims(path, cases=CASES, networks=NETWORKS)
    except ClaimError as error:
        found, told = (), str(error)
    assert bool(found) != told.startswith(str(path))
