"""What of campaigns is held against a study: both counts, like windows, cells, links and levels."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from invented_results import PAPER, cells, findings, published_values, times

from analysis.claims import Verdict
from analysis.claims.comparisons import Quantity
from analysis.papers import check, hold, on_other_links
from analysis.papers.build import write
from analysis.papers.paper import PaperError
from analysis.papers.result import COUNTED_FROM_GO
from analysis.papers.view import from_go_text, verdict_text
from analysis.stationarity import WindowTrend

pytestmark = pytest.mark.usefixtures("blank_plots")


def test_claims_are_judged_by_both_counts(tmp_path: Path) -> None:
    """As published inside the window; from go non-durable subscribers of many pairs get a fiftieth."""
    inside = published_values()
    from_go = {quantity._replace(metric=COUNTED_FROM_GO[quantity.metric]): value for quantity, value in inside.items()}
    many = ["set1-07", "set1-11", "set1-15"]
    table = inside | times(0.02, metric="delivered_from_go_per_s", cases=many)(from_go)
    result = hold(PAPER, [findings(cells(table), tmp_path)])
    verdicts = {one.ours.claim.id: (one.ours.verdict, one.from_go.verdict) for one in result.claims}
    assert verdicts["o2o-100-wire-nondurable-faster"] == (Verdict.HOLDS, Verdict.FAILS)
    assert verdicts["persistent-costs-throughput"] == (Verdict.HOLDS, Verdict.HOLDS)
    judged = [one for one in result.claims if one.from_go.judged]
    others = sum(one.ours.verdict is not one.from_go.verdict for one in judged)
    assert f", of {len(judged)} that this count can judge: {others} verdicts are others" in from_go_text(result)
    assert from_go_text(result) in write(result, tmp_path / "out").read_text()
    rows = list(csv.DictReader((tmp_path / "out" / "paper-tables" / "claims.csv").open()))
    mine = [row for row in rows if row["claim"] == "o2o-100-wire-nondurable-faster"]
    assert {(row["verdict"], row["from_go_verdict"], row["from_go_answer"]) for row in mine} == {
        ("holds", "does not hold", "no")
    }
    assert [float(row["from_go_effect"]) for row in mine] == [
        pytest.approx(0.02 * float(row["effect"]), rel=0.01) for row in mine
    ]
    alike = hold(PAPER, [findings(cells(inside | from_go), tmp_path)])
    assert from_go_text(alike) == ""


def test_how_much_arrives_inside_the_window_is_not_judged_from_go(tmp_path: Path) -> None:
    inside = published_values()
    from_go = {quantity._replace(metric=COUNTED_FROM_GO[quantity.metric]): value for quantity, value in inside.items()}
    result = hold(PAPER, [findings(cells(inside | from_go), tmp_path)])
    unjudged = {one.ours.claim.id for one in result.claims if not one.from_go.judged}
    assert {"durable-wire-late", "o2o-5k-wireless-in-time", "m2f-wire-durable-falls-behind"} <= unjudged
    assert "o2o-5k-wireless-no-knee" not in unjudged
    write(result, tmp_path / "out")
    verdicts = json.loads((tmp_path / "out" / "paper-tables" / "claims.json").read_text())["claims"]
    assert {name for name, one in verdicts.items() if one["from_go"] is None} == unjudged


@pytest.mark.parametrize(
    ("changes", "windows", "answer"),
    [
        ((0.5, 0.5), (45, 45), "yes"),
        ((0.5, 0.5), (45, 20), "unclear"),
        ((0.5, None), (45, 20), "yes"),
        ((-0.5, -0.5), (45, 20), "yes"),
        ((None, None), (45, 20), "yes"),
    ],
)
def test_latencies_that_rise_while_the_load_lasts_are_compared_in_equal_windows_only(
    changes: tuple[float | None, float | None], windows: tuple[int, int], answer: str, tmp_path: Path
) -> None:
    """Row 26 on wireless takes ten times as long as row 25; whether that is the load or the clock is the question."""
    table = published_values()
    latency = Quantity("set1-25", "wireless", "latency_mean_s")
    table[latency._replace(case="set1-26")] = 2 * table[latency]
    campaigns = []
    for case, window, change in zip(("set1-25", "set1-26"), windows, changes, strict=True):
        mine = cells({q: value for q, value in table.items() if q.case == case})
        for trial in mine[0].trials + mine[1].trials if change is not None else ():
            trial.trend_tests = [WindowTrend(series="latency_s", change=change, p=0.001, p_adjusted=0.01)]
        campaigns.append(findings(mine, tmp_path / case, window={"warmup_s": 5, "window_s": window}))
    claim = next(
        one for one in hold(PAPER, campaigns).claims if one.ours.claim.id == "m2f-wireless-latency-grows-with-size"
    )
    only = next(one for one in claim.ours.outcomes if latency in one.comparison.quantities)
    assert only.centre == pytest.approx(2, rel=0.01)
    assert only.answer == answer
    if answer == "unclear":
        assert only.why == (
            "both latencies rise for as long as the load lasts, and the windows differ (5 + 20 s, 5 + 45 s)"
        )
        assert only.why in write(hold(PAPER, campaigns), tmp_path / "out").read_text()


def test_what_differs_beside_the_link_is_on_the_page(tmp_path: Path) -> None:
    whole = cells(published_values())
    tcp = {"congestion_control": "reno", "sysctls": {"net.ipv4.tcp_recovery": "0"}, "window": {"window_s": 20}}
    pages = []
    for own in (tcp, {"congestion_control": "bbr", "sysctls": {}, "window": {"window_s": 30}}):
        campaigns = [
            findings(tuple(cell for cell in whole if cell.levels["network"] == "wireline-100m"), tmp_path, **tcp),
            findings(tuple(cell for cell in whole if cell.levels["network"] == "nistnet-80211"), tmp_path, **own),
        ]
        pages.append(write(hold(PAPER, campaigns), tmp_path / "out").read_text())
    told = "the networks of a case differ here in congestion_control: reno, bbr; sysctls.net.ipv4.tcp_recovery: 0, -."
    assert ["networks of a case differ" in page for page in pages] == [False, True]
    assert told in pages[1]


def test_a_later_campaign_without_a_valid_trial_takes_nothing_away(tmp_path: Path) -> None:
    few = {q: value for q, value in published_values().items() if q.case == "set1-01"}
    whole = cells(few)
    empty = tuple(replace(cell, trials=()) for cell in whole)
    found = hold(PAPER, [findings(whole, tmp_path / "first"), findings(empty, tmp_path / "second")])
    row = next(row for row in found.rows if row.row.case == "set1-01")
    assert all(one.ours is not None for one in row.figures if one.published is not None)


def test_a_campaign_that_varies_something_else_is_refused(tmp_path: Path) -> None:
    few = {q: value for q, value in published_values().items() if q.case == "set1-01"}
    twice = tuple(
        replace(cell, name=f"{cell.name},congestion_control={one}", levels=cell.levels | {"congestion_control": one})
        for one in ("reno", "bbr")
        for cell in cells(few)
    )
    with pytest.raises(PaperError, match="are both set1-01 on"):
        hold(PAPER, [findings(twice, tmp_path)])


def test_a_study_is_judged_on_another_link_with_one_level_of_what_varies(tmp_path: Path) -> None:
    table = published_values()
    wire = tuple(cell for cell in cells(table) if cell.levels["network"] == "wireline-100m")
    modern = tuple(
        replace(
            cell,
            name=f"{cell.name},{control}",
            levels=cell.levels | {"network": "lte", "congestion_control": control},
        )
        for control, factor in (("cubic", 1.0), ("bbr", 3.0))
        for cell in cells(times(factor, metric="delivered_per_s", cases=PAPER.cases, networks=["wireless"])(table))
        if cell.levels["network"] == "nistnet-80211"
    )
    campaigns = [findings(wire, tmp_path / "wire"), findings(modern, tmp_path / "modern")]
    lte = on_other_links(PAPER, {"wireless": "lte"})
    with pytest.raises(PaperError, match="are both set1-01 on"):
        hold(lte, campaigns)
    ratios = {}
    for control in ("cubic", "bbr"):
        found = hold(lte, campaigns, {"congestion_control": [control]})
        row = next(row for row in found.rows if row.row.case == "set1-02")
        ratios[control] = next(one.ours.centre for one in row.ratios if one.metric == "delivered_per_s")
    assert ratios == {"cubic": pytest.approx(7.6 / 49.3, rel=0.01), "bbr": pytest.approx(3 * 7.6 / 49.3, rel=0.01)}
    assert found.bound == ()
    page = write(found, tmp_path / "page").read_text()
    assert "wireless is lte here" in page
    assert "those count in which congestion_control = bbr" in page
    assert "Link-bound rows" not in page


@pytest.mark.parametrize(
    ("links", "levels", "problem"),
    [
        ({"air": "lte"}, {}, "'air' is no network of gaddah-kunz: wireline, wireless"),
        ({"wireless": "wireline-100m"}, {}, "wireless is wireline-100m: there is nothing to compare"),
        ({"wireless": "ltee"}, {}, "wireless as ltee: these campaigns ran on nistnet-80211, wireline-100m"),
        ({}, {"congestion": ["bbr"]}, "--only congestion=bbr: congestion is no factor of these campaigns"),
        ({}, {"network": ["nistnet-80211", "lte"]}, "--only network=lte: network has the levels nistnet-80211, wireli"),
    ],
)
def test_links_and_levels_that_are_not_there_are_refused(
    links: dict[str, str], levels: dict[str, list[str]], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(PaperError, match=problem):
        check(on_other_links(PAPER, links), [findings(cells(published_values()), tmp_path).campaign], levels)


def test_of_several_levels_any_will_do(tmp_path: Path) -> None:
    found = hold(PAPER, [findings(cells(published_values()), tmp_path)], {"case": ["set1-01", "set1-03"]})
    assert {case for case, _ in found.evidence.cells} == {"set1-01", "set1-03"}


def test_claims_of_cases_that_were_not_run_are_counted_apart(tmp_path: Path) -> None:
    few = {q: value for q, value in published_values().items() if q.case in ("set1-01", "set1-03")}
    found = hold(PAPER, [findings(cells(few), tmp_path)])
    looked = [claim.ours.claim.id for claim in found.claims if claim.ours.looked_at]
    assert "o2o-100-wire-one-pair-equal" in looked
    rest = len(PAPER.claims) - len(looked)
    assert f"{rest} of them speak of cases without a valid trial or a value." in verdict_text(found)
