"""Packs of which an older program made the reductions: their latencies are of what arrived, and are called so."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from journeys import journey
from overloaded import NETWORK, found
from packs import REVISION, reduced
from synthetic_campaign import Spec, write_campaign

from analysis.breakdown import breakdowns, whose
from analysis.campaign_compare.result import between
from analysis.claims import Measured, judge
from analysis.claims.comparisons import Quantity
from analysis.claims.vocabulary import Claim
from analysis.claims.wording import subject
from analysis.compare import comparisons, matches
from analysis.details import Reduced
from analysis.findings import CellFinding, Findings, Standing
from analysis.headlines import headlines
from analysis.pack import packing
from analysis.papers.doubts import doubts
from analysis.plots.latency import latency_plots
from analysis.report.journey import journey_table
from analysis.report.summary import summarise
from analysis.report.tables import write_tables
from analysis.rows import SCHEMA
from experiments.campaign.unpack import unpack
from records.campaign import read_campaign
from records.latency import LATENCIES, of_arrivals
from records.pack import write_pack

SPEC = Spec(bodies=(100,), guarantees=("durable, persistent",), trials=3)
OLDER = "of arrivals"


def older(paths: Sequence[Path]) -> Reduced:
    """Rows as the program gave them that knew of no other latency than that of arrivals."""
    was = {of_arrivals(name): name for name in LATENCIES}
    kept = []
    for row in reduced(paths).to_pylist():
        new = {*LATENCIES, "latency_of", "backlog_growth_share", "backlog"}
        if not (row["table"] in ("trial", "trend") and row["metric"] in new):
            kept.append({**row, "metric": was.get(row["metric"], row["metric"]) if row["metric"] else None})
    return Reduced(rows=pa.Table.from_pylist(kept, SCHEMA))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return found(write_campaign(tmp_path_factory.mktemp("new"), SPEC))


@pytest.fixture(scope="module")
def old(new: Findings, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The same campaign out of a pack that an older program made."""
    place = tmp_path_factory.mktemp("old")
    parts = packing(new.folder, place, reduce=older, revision=REVISION)
    scenario = read_campaign(new.folder).scenario
    write_pack(place / "pack", scenario=scenario, campaign=new.folder.name, members=parts.members)
    return found(unpack(place / "pack", place / "results").folder)


def test_latencies_of_an_older_reduction_have_the_name_of_what_they_are(old: Findings, new: Findings) -> None:
    for one, other in zip(old.trials, new.trials, strict=True):
        assert (one.standing, one.latency_of, other.latency_of) == (Standing.VALID, "arrived", "sent")
        assert not set(LATENCIES) & one.metrics.keys()
        assert {name: one.metrics[of_arrivals(name)] for name in LATENCIES} == {
            name: other.metrics[of_arrivals(name)] for name in LATENCIES
        }
        assert one.metrics["delivered_per_s"] == other.metrics["delivered_per_s"]


def test_report_tables_and_summary_say_which_latency_it_is(old: Findings, tmp_path: Path) -> None:
    told = summarise(old)
    for cell in told.cells:
        assert not set(LATENCIES) & cell.metrics.keys()
    assert any("median latency, of arrivals is" in line for line in told.headlines)
    write_tables(tmp_path, old)
    for name in ("trials", "percentiles", "latency-ecdf", "journey"):
        with (tmp_path / f"{name}.csv").open() as file:
            assert {row["latency_of"] for row in csv.DictReader(file)} == {"arrived"}
    (match,) = matches(old)
    labels = {one.metric for one in comparisons(match, match.others[0])}
    assert of_arrivals("latency_p50_s") in labels
    assert "latency_p50_s" not in labels


def test_the_same_definition_is_compared_where_one_side_has_only_the_older(old: Findings, new: Findings) -> None:
    rows = between(old, new).rows
    named = {row.metric: row for row in rows}
    assert "latency_p50_s" not in named
    assert named[of_arrivals("latency_p50_s")].centre == pytest.approx(1.0)
    assert named[of_arrivals("latency_p50_s")].label.endswith(OLDER)
    assert {row.metric for row in between(new, new).rows} >= {"latency_p50_s", "latency_p99_s"}


def test_headlines_of_new_reductions_are_of_what_was_sent(new: Findings) -> None:
    assert any("median latency is" in line for line in headlines(new))


def test_plots_and_journeys_say_whose_latency_they_have(old: Findings, new: Findings) -> None:
    assert all("median" in plot.about for plot in latency_plots(old).values())

    def travelled(findings: Findings) -> CellFinding:
        cell = findings.cells[0]
        parts = journey(0.2)
        return replace(cell, trials=tuple(replace(one, journey=parts) for one in cell.trials))

    before, after = travelled(old), travelled(new)
    assert [one.latency_of for one in breakdowns(before.valid)[:1]] == ["arrived"]
    assert "arrived in the window (an older reduction)" in whose(before.valid)
    assert "of what was sent in the window" in whose(after.valid)
    (first, *_) = breakdowns((*before.valid, *after.valid))
    assert (first.latency_of, first.trials) == ("sent", len(after.valid)), "the two are not averaged"
    for trial in before.trials:
        trial.metrics["journey_share"] = 0.9
    assert "an older reduction" in journey_table(before.valid).facts[0]


def test_claims_over_older_reductions_are_of_arrivals_and_not_mixed_with_others(old: Findings, new: Findings) -> None:
    wire, air = (("one", "wire"), ("one", "air"))
    claim = Claim.model_validate({
        "id": "slower", "section": "1", "finding": "the air is slower than the wire",
        "tests": [{"test": "ratio", "metric": "latency_mean_s", "network": "air", "cases": ["one"],
                   "over": {"network": "air"}, "under": {"network": "wire"}, "above": 10}],
    })  # fmt: skip

    def cell(findings: Findings, network: str) -> CellFinding:
        return next(one for one in findings.cells if one.levels["network"] == network)

    def held(wired: Findings, wireless: Findings) -> Measured:
        return Measured(cells={wire: cell(wired, "wireline-100m"), air: cell(wireless, NETWORK)})

    answers = {}
    for name, pair in {"old": (old, old), "new": (new, new), "mixed": (old, new)}.items():
        (one,) = judge(claim, held(*pair)).outcomes
        answers[name] = (one.answer.value, one.alike, OLDER in subject(one.comparison))
    assert answers == {"old": ("yes", True, True), "new": ("yes", True, False), "mixed": ("unclear", False, True)}
    assert "older reduction" in doubts(cell(old, NETWORK), "latency_mean_s")
    assert "older reduction" not in doubts(cell(new, NETWORK), "latency_mean_s")
    estimate = held(old, old).estimate(Quantity("one", "air", "latency_mean_s"))
    assert estimate == cell(old, NETWORK).estimate(of_arrivals("latency_mean_s"))
