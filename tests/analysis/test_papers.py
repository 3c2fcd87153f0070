"""Published against measured: the tables, the rows, the page."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from invented_results import FOLDER, PAPER, cells, findings, published_values, times

from analysis.claims import Verdict
from analysis.claims.comparisons import Quantity
from analysis.findings import CellFinding
from analysis.papers import PaperResult, hold, read_paper
from analysis.papers.build import write
from analysis.papers.paper import PaperError
from analysis.stationarity import WindowTrend
from records.stopping import Rule
from records.stopping import judge as judge_precision


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> PaperResult:
    """As published, but row 2 of set 1 delivers half as much, and row 4 was not run."""
    table = times(0.5, metric="delivered_per_s", cases=["set1-02"])(published_values())
    from_go = {
        q._replace(metric="published_from_go_per_s"): value * 1.1 for q, value in table.items() if q.metric[0] == "p"
    }
    kept = {q: value for q, value in (table | from_go).items() if q.case != "set1-04"}
    folder = tmp_path_factory.mktemp("campaign")
    return hold(PAPER, [findings(cells(kept), folder)])


def test_the_tables_have_all_rows_and_the_suspect_ones_in_both_readings() -> None:
    assert [len([one for one in PAPER.cases if one.startswith(which)]) for which in ("set1", "set2")] == [32, 18]
    doubtful = [(row.case, row.reading) for row in PAPER.rows if row.note]
    assert doubtful == [
        ("set2-17", "printed"), ("set2-18", "printed"), ("set2-17", "exchanged"), ("set2-18", "exchanged"),
    ]  # fmt: skip
    seventeen = Quantity("set2-17", "wireline", "delivered_per_s")
    exchanged = PAPER.published("exchanged")
    assert PAPER.published().by_seed(seventeen) == {0: 46731.0}
    assert exchanged.by_seed(seventeen) == {0: 57.19}
    assert exchanged.by_seed(seventeen._replace(case="set2-18")) == {0: 467.31}


def test_published_latencies_are_seconds_here() -> None:
    latency = Quantity("set1-05", "wireless", "latency_mean_s")
    assert PAPER.published().by_seed(latency) == {0: pytest.approx(137.4022)}


def test_the_file_says_where_its_numbers_are_from() -> None:
    comment = "".join(line for line in (FOLDER / "published.csv").read_text().splitlines() if line.startswith("#"))
    assert all(word in comment for word in ("Table 1", "Table 2", "Figures 8 to 11", "figures 12 to 14"))


def test_a_missing_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match=r"paper\.yaml: No such file"):
        read_paper(tmp_path)


def test_rows_have_published_and_measured_and_the_ratio_of_the_networks(result: PaperResult) -> None:
    row = next(row for row in result.rows if row.row.case == "set1-02")
    delivered = {one.quantity.network: one for one in row.figures if one.quantity.metric == "delivered_per_s"}
    assert delivered["wireless"].published is not None
    assert delivered["wireless"].published.value == pytest.approx(7.6)
    assert delivered["wireless"].ours is not None
    assert delivered["wireless"].ours.mean == pytest.approx(3.8, rel=0.01)
    published = {one.quantity.network: one for one in row.figures if one.quantity.metric == "published_per_s"}
    assert published["wireless"].from_go is not None
    assert published["wireless"].from_go.mean == pytest.approx(8.36, rel=0.01)
    ratio = next(one for one in row.ratios if one.metric == "delivered_per_s")
    assert ratio.published.centre == pytest.approx(7.6 / 49.3)
    assert ratio.ours.centre == pytest.approx(7.6 / 49.3, rel=0.01)


def test_link_bound_rows_are_held_against_the_published_values(result: PaperResult) -> None:
    assert len(result.bound) == 16
    near = {row.figures.quantity.case: row.near for row in result.bound}
    assert (near.pop("set1-02"), near.pop("set1-04")) == (False, None)
    assert set(near.values()) == {True}
    assert result.near == 14
    sides = {row.figures.quantity.case: row.figures.quantity.metric for row in result.bound}
    assert (sides["set1-18"], sides["set1-26"]) == ("delivered_per_s", "published_per_s")


def test_a_doubtful_row_is_compared_both_ways(result: PaperResult) -> None:
    both = [row for row in result.rows if row.row.case == "set2-18"]
    found = [next(one for one in row.figures if one.quantity.metric == "delivered_per_s") for row in both]
    assert [one.published and one.published.value for one in found] == [57.19, 467.31]
    assert found[0].ours == found[1].ours
    assert found[0].ours is not None


@pytest.mark.usefixtures("blank_plots")
def test_doubtful_rows_are_marked_wherever_they_are_used(result: PaperResult, tmp_path: Path) -> None:
    text = write(result, tmp_path).read_text()
    rows, rest = text.split('id="ratios"')
    ratios, deciding = rest.split('id="deciding"')
    for part, tables in ((rows.split('id="rows"')[1], 3), (ratios, 1)):
        assert part.count("suspect: looks exchanged") == 2 * tables
        assert part.count("values of row 1") == 2 * tables
    decides = deciding.split('id="claim-object-costs-throughput"')[1].split("</table>")[0]
    assert "printed: " in decides
    assert "exchanged: " in decides


@pytest.mark.usefixtures("blank_plots")
def test_how_sure_a_mean_is_stands_beside_it(tmp_path: Path) -> None:
    few = {q: value for q, value in published_values().items() if q.case == "set1-01"}
    rule = Rule(least=3, most=3, half_width=0.05, metrics=("delivered_per_s", "latency_mean_s"))

    def doubted(cell: CellFinding) -> CellFinding:
        spread = [{"delivered_per_s": value, "latency_mean_s": 1.0} for value in (90.0, 100.0, 110.0)]
        for number, trial in enumerate(cell.trials):
            change = (0.2, 0.3, -0.1)[number % 3]
            trial.trend_tests = [WindowTrend(series="latency_s", change=change, p=0.001, p_adjusted=0.01)]
        return replace(cell, precision=judge_precision(rule, spread, run=3))

    few_cells = tuple(doubted(cell) for cell in cells(few, trials=3))
    found = hold(PAPER, [findings(few_cells, tmp_path)])
    row = next(row for row in found.rows if row.row.case == "set1-01")
    doubts = {one.quantity.metric: one.doubts for one in row.figures}
    assert doubts == {
        "published_per_s": "",
        "delivered_per_s": "±25 % when trials ended",
        "latency_mean_s": "rose in 2, fell in 1 of 3 windows",
    }
    assert "rose in 2, fell in 1 of 3 windows" in write(found, tmp_path).read_text()
    (line,) = [
        one
        for one in csv.DictReader((tmp_path / "paper-tables" / "rows.csv").open())
        if (one["case"], one["network"], one["metric"]) == ("set1-01", "wireless", "delivered_per_s")
    ]
    assert line["doubts"] == "±25 % when trials ended"


def test_each_claim_is_judged_by_ours_and_by_both_readings(result: PaperResult) -> None:
    claims = {one.ours.claim.id: one for one in result.claims}
    assert set(claims["object-costs-throughput"].published) == {"printed", "exchanged"}
    assert claims["o2o-5k-wireless-types-equal"].ours.verdict is Verdict.INCONCLUSIVE  # set1-04 was not run
    assert claims["f2m-100-wire-six-to-eighteen"].ours.verdict is Verdict.HOLDS


@pytest.mark.usefixtures("blank_plots")
def test_one_trial_is_inconclusive_and_leans_as_the_published_values_do(tmp_path: Path) -> None:
    one = hold(PAPER, [findings(cells(published_values(), trials=1, noise=0.0), tmp_path)])
    assert {claim.ours.verdict for claim in one.claims} == {Verdict.INCONCLUSIVE}
    leaning = {claim.ours.claim.id: claim.ours.leaning for claim in one.claims}
    assert leaning == {claim.ours.claim.id: claim.published["exchanged"].verdict for claim in one.claims}
    assert "by the means alone: holds" in write(one, tmp_path).read_text()


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.tables: list[int] = []
        self.pictures = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        if tag == "a":
            self.targets.add((values.get("href") or "").removeprefix("#"))
        self.tables += [0] if tag == "table" else []
        if tag == "tr":
            self.tables[-1] += 1
        self.pictures += tag == "img"

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_every_row_every_claim_and_every_figure(result: PaperResult, tmp_path: Path) -> None:
    path = write(result, tmp_path / "out")
    page = Page()
    page.feed(path.read_text())
    assert page.targets <= page.ids
    assert {f"claim-{claim.id}" for claim in PAPER.claims} <= page.ids
    assert page.pictures == 8
    assert page.tables.count(1 + len(PAPER.rows)) == 4  # a table for each metric, and one of ratios
    assert f"Of {len(PAPER.claims)} claims" in page.text
    assert (
        "Of 15 measured link-bound rows 14 are within 15 % of the published value inside the window, 4 counted from go."
    ) in page.text
    plots = sorted(one.name for one in (tmp_path / "out" / "paper-plots").glob("*.png"))
    assert plots == [*(f"figure-{number:02}.png" for number in range(8, 15)), "measured-against-published.png"]


@pytest.mark.usefixtures("blank_plots")
def test_the_tables_hold_the_numbers_behind_the_page(result: PaperResult, tmp_path: Path) -> None:
    write(result, tmp_path)
    tables = tmp_path / "paper-tables"
    rows = list(csv.DictReader((tables / "rows.csv").open()))
    assert len(rows) == len(PAPER.rows) * 6
    one = next(r for r in rows if (r["case"], r["network"], r["metric"]) == ("set1-02", "wireless", "delivered_per_s"))
    assert float(one["by_published"]) == pytest.approx(0.5, rel=0.01)
    claims = list(csv.DictReader((tables / "claims.csv").open()))
    assert {row["claim"] for row in claims} == {claim.id for claim in PAPER.claims}
    told = json.loads((tables / "claims.json").read_text())
    assert told["link_bound"] == {"near": 14, "near_from_go": 4, "measured": 15}
    assert told["claims"]["auto-beats-dups-ok"]["published"] == {
        "printed": "does not hold",
        "exchanged": "does not hold",
    }


def test_nothing_measured_still_makes_a_page(tmp_path: Path) -> None:
    path = write(hold(PAPER, [findings((), tmp_path)]), tmp_path)
    assert "Nothing to draw" in path.read_text()
