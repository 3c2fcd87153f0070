"""What a study computes or simulates: what is read of it, how it is judged, where it stands on the page."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import CLAIMS, RECORD, campaign, changed, write_study

from analysis.claims import Verdict
from analysis.papers import PaperError, hold, read_paper
from analysis.papers.build import write
from analysis.papers.computed import HEAD, ComputedError, read_computed
from analysis.papers.record import ComputedCases

ASKED = ComputedCases(program="chance.py", cases={"chance": "chance of something", "ways": "ways of another thing"})
LINES = (
    "chance,computed_share,,0.25\nways,computed_number,1,2.0\nways,computed_number,2,2.5\nways,computed_number,3,2.2\n"
)
RECORDED = RECORD + (
    "unpublished: [n64]\ncomputed: {program: chance.py, cases: {chance: chance of something, ways: ways of another "
    "thing}}\n"
)
CLAIMED = (
    CLAIMS
    + """\
  - id: a-quarter
    section: "7"
    finding: The chance is one in four.
    tests: [{test: within_percent, metric: computed_share, network: lan, cases: [chance], of: 0.25, percent: 1}]
  - id: two-ways
    section: "7"
    finding: There are more than two and less than three ways.
    tests: [{test: between, metric: computed_number, network: lan, cases: [ways], above: 1.5, below: 3}]
  - id: three-ways-or-more
    section: "7"
    finding: There are more than three ways to go on.
    tests: [{test: between, metric: computed_number, network: lan, cases: [ways], above: 3}]
  - id: sixty-four
    section: "7"
    finding: Sixty-four nodes deliver more than thirty-two.
    tests: [{test: ratio, metric: delivered_per_s, network: lan, pairs: [[n64, n32]], above: 1}]
  - id: apples-and-pears
    section: "7"
    finding: There are more ways than eight nodes deliver.
    tests: [{test: ratio, metric: delivered_per_s, network: lan, pairs: [[{case: ways, metric: computed_number}, n8]],
             above: 1}]
"""
)
ROW = "7,chance,one,computed_share,%,26,printed,lan,chance\n"


def printed(lines: str = LINES) -> str:
    return f"{','.join(HEAD)}\n{lines}"


@pytest.mark.usefixtures("blank_plots")
def test_claims_are_judged_by_what_is_computed_and_the_page_says_by_which_command(tmp_path: Path) -> None:
    published = (write_study(tmp_path / "plain") / "published.csv").read_text() + ROW
    paper = read_paper(write_study(tmp_path / "study", record=RECORDED, published=published, claims=CLAIMED))
    assert "chance" not in paper.cases, "nobody has to run it"
    computed = read_computed(printed(), ASKED, command="python chance.py {case}")
    result = hold(paper, [campaign(paper, tmp_path / "campaign")], computed=computed)
    claims = {one.ours.claim.id: one for one in result.claims}
    assert {name: claims[name].ours.verdict for name in list(claims)[-5:]} == {
        "a-quarter": Verdict.HOLDS,  # one value that is exact needs no interval
        "two-ways": Verdict.HOLDS,
        "three-ways-or-more": Verdict.FAILS,
        "sixty-four": Verdict.INCONCLUSIVE,
        "apples-and-pears": Verdict.INCONCLUSIVE,
    }
    assert claims["a-quarter"].published["printed"].verdict is Verdict.FAILS
    assert not claims["a-quarter"].from_go.judged
    assert claims["sixty-four"].ours.outcomes[0].why == "n64 was not run on lan"
    assert claims["apples-and-pears"].ours.outcomes[0].why == "one value is computed, one is of trials"
    page = write(result, tmp_path / "page").read_text()
    table = page.split('id="computed"')[1].split("</table>")[0]
    assert all(told in table for told in ("25.0 %", "26.0 %", "2.23 [", "3 seeds", "python chance.py ways"))
    rows = page.split('id="rows"')[1].split('id="ratios"')[0]
    assert ">chance<" not in rows
    with (tmp_path / "page" / "paper-tables" / "computed.csv").open() as file:
        table_rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert table_rows[:2] == [
        ("chance", "computed_share", "", "0.25", "python chance.py chance"),
        ("ways", "computed_number", "1", "2.0", "python chance.py ways"),
    ]


def test_a_study_whose_values_were_not_computed_leaves_them_open(tmp_path: Path) -> None:
    paper = read_paper(write_study(tmp_path / "study", record=RECORDED, claims=CLAIMED))
    result = hold(paper, [campaign(paper, tmp_path / "campaign")])
    (found,) = (one.ours for one in result.claims if one.ours.claim.id == "a-quarter")
    assert (found.verdict, found.outcomes[0].why) == (Verdict.INCONCLUSIVE, "chance was not computed")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begins with case,metric,seed,value"),
        ("chance,computed_share,,0.25\n", "begins with case,metric,seed,value"),
        (printed("chance,computed_share,,0.25\n"), "prints no value of ways"),
        (printed("chanse,computed_share,,0.25\n"), "line 2 of its output: 'chanse' is no case of `computed`: did you"),
        (printed("chance,computed_shares,,0.25\n"), "line 2 of its output: 'computed_shares' is no computed metric"),
        (printed("chance,computed_share,one,0.25\n"), "seed: 'one' is no number"),
        (printed("chance,computed_share,,nan\n"), "value: 'nan' is no number"),
        (printed("chance,computed_share,\n"), "3 cells, not 4"),
        (
            printed(f"{LINES}ways,computed_number,3,1\n"),
            "line 6 of its output: ways has a value of seed 3 beside 1, 2, 3",
        ),
        (printed(f"{LINES}ways,computed_number,,1\n"), "ways has a value of seed none beside"),
    ],
)
def test_output_that_cannot_be_used_is_refused(text: str, told: str) -> None:
    with pytest.raises(ComputedError) as caught:
        read_computed(text, ASKED, command="{case}")
    assert told in str(caught.value)


@given(st.text(max_size=200))
def test_any_output_ends_in_values_or_an_error(text: str) -> None:
    with pytest.raises(ComputedError):
        read_computed(printed(text), ASKED, command="{case}")


@pytest.mark.parametrize(
    ("record", "row", "told"),
    [
        (
            RECORDED,
            ROW.replace("computed_share,%", "delivered_per_s,1/s"),
            "case 'chance' is computed, so its metric is",
        ),
        (RECORDED, ROW.replace("lan,chance", "lan,n4"), "case 'n4' is not computed, so its metric is one of trials"),
        (changed("[n64]", "[n64, ways]", RECORDED), "", "unpublished: 'ways' is computed"),
        (changed("chance.py", "../chance.py", RECORDED), "", "computed.program"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(record: str, row: str, told: str, tmp_path: Path) -> None:
    published = (write_study(tmp_path / "plain") / "published.csv").read_text() + row
    with pytest.raises(PaperError) as caught:
        read_paper(write_study(tmp_path / "study", record=record, published=published))
    assert told in str(caught.value)
