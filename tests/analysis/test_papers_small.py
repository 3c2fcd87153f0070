"""A second study needs nothing but its folder: from its files to its page."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from small_study import RECORD, campaign, changed, write_study

from analysis.claims import Verdict
from analysis.papers import PaperResult, hold, read_paper
from analysis.papers.build import write

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> PaperResult:
    folder = tmp_path_factory.mktemp("small")
    paper = read_paper(write_study(folder / "study"))
    return hold(paper, [campaign(paper, folder / "campaign")])


@pytest.fixture(scope="module")
def page(result: PaperResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(result, tmp_path_factory.mktemp("page"))


def test_claims_are_judged_by_ours_and_by_numbers_as_exact_as_they_are(result: PaperResult) -> None:
    found = {one.ours.claim.id: (one.ours.verdict, one.published["printed"].verdict) for one in result.claims}
    assert found == {
        "grows": (Verdict.HOLDS, Verdict.HOLDS),
        "saturates": (Verdict.HOLDS, Verdict.INCONCLUSIVE),  # one of its published values is a bound
        "three-ways": (Verdict.HOLDS, Verdict.HOLDS),
        "wifi-tenth": (Verdict.HOLDS, Verdict.HOLDS),
    }


def test_a_claim_on_a_series_has_its_cases_and_its_places(result: PaperResult) -> None:
    (knee,) = next(claim for claim in result.paper.claims if claim.id == "saturates").tests
    assert knee.model_dump(include={"series", "at", "metric", "network"}) == {
        "series": ("n1", "n2", "n4", "n8", "n16", "n32"), "at": (1, 2, 4, 8, 16, 32), "metric": "delivered_per_s",
        "network": ("lan",),
    }  # fmt: skip


def test_every_network_is_compared_with_the_first_one(result: PaperResult, page: Path) -> None:
    rows = {row.row.case: row for row in result.rows}
    ratios = {(one.metric, one.network): one for one in rows["n8"].ratios}
    assert ratios["delivered_per_s", "wifi"].published.centre == pytest.approx(0.1)
    assert ratios["delivered_per_s", "satellite"].published.sign == "≤"
    assert ratios["delivered_per_s", "satellite"].ours.centre == pytest.approx(0.01, rel=0.03)
    table = page.read_text().split("<h2>Networks by lan</h2>")[1].split("</table>")[0]
    assert re.findall(r"<th[^>]*>([^<]*), published</th>", table) == [
        "Subscriber throughput, wifi", "Subscriber throughput, satellite",
    ]  # fmt: skip


def test_the_page_says_how_exact_published_values_are(page: Path) -> None:
    text = page.read_text()
    rows = text.split('id="rows"')[1].split('id="ratios"')[0]
    assert all(
        told in rows for told in ("≈ 2\u202f000", "≥ 8\u202f480", "≤ 80.0", "≈ 40.0 ms", "derived", "within 10 %")
    )
    with (page.parent / "paper-tables" / "rows.csv").open() as file:
        exact = {(row["case"], row["network"]): row["how_exact"] for row in csv.DictReader(file) if row["published"]}
    assert (exact["n32", "lan"], exact["n8", "satellite"], exact["plain1", "lan"]) == ("at_least", "at_most", "derived")


def test_only_rows_and_sections_of_which_something_was_published_are_shown(page: Path) -> None:
    text = page.read_text()
    latency = text.split("<h3>Median latency")[1].split("</table>")[0]
    assert latency.count("<tr>") == 1 + 3
    assert "Link-bound rows" not in text


def test_each_figure_is_drawn(page: Path) -> None:
    plots = sorted((page.parent / "paper-plots").glob("*.png"))
    names = ["figure-06", "figure-5.1", "figure-5.2", "measured-against-published"]
    assert [plot.stem for plot in plots] == names
    assert all(plot.read_bytes().startswith(PNG) for plot in plots)
    assert "satellite, 64 B, published and ours: 1: about 10, ours " in page.read_text()


def test_a_study_of_one_network_has_a_page_without_ratios(tmp_path: Path) -> None:
    published = (
        "figure,series,x,metric,unit,value,how_exact\n1,all,few,delivered_per_s,1/s,5,printed\n"
        "1,all,many,delivered_per_s,1/s,0,at_most\n"
    )
    claims = (
        "claims:\n  - {id: many-is-less, section: '1', finding: Many deliver less than few do., tests: [{test: ratio, "
        "metric: delivered_per_s, network: lan, pairs: [[many, few]], below: 1}]}\n"
    )
    record = (
        "name: one\ntitle: One\nauthors: Nobody\nnetworks: {lan: wireline-100m}\nfigures: [{figure: 1, title: One}]\n"
    )
    paper = read_paper(write_study(tmp_path / "study", record=record, published=published, claims=claims))
    found = hold(paper, [campaign(paper, tmp_path / "campaign")])
    page = write(found, tmp_path / "out")
    assert " by lan" not in page.read_text()
    assert found.claims[0].published["printed"].verdict is Verdict.INCONCLUSIVE  # of zero there is no ratio
    assert (tmp_path / "out" / "paper-plots" / "figure-01.png").exists()


def test_published_rows_that_the_link_decides_may_be_bounds(tmp_path: Path) -> None:
    bound = (
        "link_bound:\n  network: lan\n  within_percent: 5\n  rows:\n"
        "    - {metric: delivered_per_s, cases: [n2, n8, n32]}\nfigures:\n"
    )
    paper = read_paper(write_study(tmp_path / "study", record=changed("figures:\n", bound, text=RECORD)))
    found = hold(paper, [campaign(paper, tmp_path / "campaign")])
    cells = {case: cell for (case, network), cell in found.evidence.cells.items() if network == "lan"}
    for case, factor in (("n2", 1.14), ("n8", 1.2), ("n32", 3.0)):
        for trial in cells[case].trials:
            trial.metrics["delivered_per_s"] *= factor
    again = hold(paper, found.campaigns)
    near = {row.figures.quantity.case: row.near for row in again.bound}
    assert near == {"n2": True, "n8": False, "n32": True}  # about 2000, 8000, at least 8480
