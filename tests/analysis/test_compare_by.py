"""A report that compares stacks, two of which promise the same."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from reduced_here import findings_of
from synthetic_campaign import Spec, write_campaign

from analysis.campaign_compare import Verdict, between
from analysis.findings import Findings
from analysis.report import summary
from analysis.report.build import write

STACKS = {"activemq": (1.0, "durable"), "reference": (2.0, "durable"), "null": (3.0, "best effort")}
SPEC = Spec(bodies=(100,), guarantees=("plain",), stacks=STACKS, packets=4)


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return findings_of(write_campaign(tmp_path_factory.mktemp("stacks"), SPEC))


@pytest.fixture(scope="module")
def report(stacks: Findings) -> Path:
    """Of a campaign whose record compares networks."""
    record = (stacks.folder / "campaign.json").read_bytes()
    path = write(replace(stacks, campaign=stacks.campaign.by("stack")))
    assert (stacks.folder / "campaign.json").read_bytes() == record
    return path


def test_a_cell_has_the_guarantee_class_of_its_trials(stacks: Findings) -> None:
    assert {cell.levels["stack"]: cell.guarantee for cell in stacks.cells} == {
        name: guarantee for name, (_, guarantee) in STACKS.items()
    }


def test_tables_sentences_and_plots_follow_the_compared_factor(report: Path) -> None:
    with (report.parent / "tables" / "comparison.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "delivered_per_s"]
    wire, air = "wireline-100m_100_p", "nistnet-80211_100_p"
    assert [(row["baseline"], row["other"], row["guarantees"]) for row in rows] == [
        (f"{wire}_activemq", f"{wire}_reference", "equal"),
        (f"{wire}_activemq", f"{wire}_null", "guarantees differ (durable; best effort)"),
        (f"{air}_activemq", f"{air}_reference", "equal"),
        (f"{air}_activemq", f"{air}_null", "guarantees differ (durable; best effort)"),
    ]
    told = summary(report.parent)
    assert told.headlines[0].startswith("reference against activemq: subscriber throughput is 2.0")
    assert [one.unequal for one in told.ratios if one.metric == "delivered_per_s"] == [
        "", "guarantees differ (durable; best effort)"
    ] * 2  # fmt: skip
    names = {path.stem for path in (report.parent / "plots").glob("*.svg")}
    assert {"answer", "latency-01", "latency-02"} <= names
    assert "latency-03" not in names  # a plot for each network, with three stacks in it
    latency = (report.parent / "plots" / "latency-01.svg").read_text()
    assert all(f">{name}<" in latency for name in STACKS)
    assert "(guarantees differ)" in latency


def test_each_table_is_named_by_its_cells_and_by_what_is_compared(report: Path) -> None:
    page = report.read_text().partition('<section id="comparison">')[2].partition("</section>")[0]
    networks = [title.partition(" · ")[0] for title in re.findall(r"<h3>([^<]+)</h3>", page)]
    assert re.findall(r"<h3>[^<]+ · ([^<]+)</h3>", page) == ["reference", "null"] * 2
    assert networks == ["wireline-100m"] * 2 + ["nistnet-80211"] * 2


def test_no_difference_between_unequal_guarantees_is_called_better_or_worse(report: Path) -> None:
    page = report.read_text()
    tables = re.findall(r"<h3>wireline-100m[^<]*</h3>(.*?)</table>", page, re.DOTALL)[:2]
    reference, null = tables
    assert 'class="better"' in reference
    assert "Not judged" not in reference
    assert "Not judged, since guarantees differ (durable; best effort)" in null
    assert 'class="better"' not in null
    assert 'class="worse"' not in null


def test_the_answer_stands_on_the_first_screen_beside_the_verdict(report: Path) -> None:
    first = report.read_text().partition('<section id="verdict">')[2].partition("<h3>")[0]
    assert first.index('alt="Each stack against activemq') < first.index("All 18 trials are valid")
    assert re.search(r"Subscriber throughput against activemq: [^<]+ for reference, [^<]+ for null \(guarantees", first)
    assert "(guarantees differ, neither is better)" in first


def test_another_campaigns_cells_of_other_guarantees_are_neither_worse_nor_better(
    stacks: Findings, tmp_path: Path
) -> None:
    weaker = {name: (rate * 5, "at most once") for name, (rate, _) in STACKS.items()}
    other = findings_of(write_campaign(tmp_path, replace(SPEC, stacks=weaker, name="c2")))
    found = between(stacks, other, metrics=("delivered_per_s",))
    assert {row.verdict for row in found.rows} == {Verdict.INCONCLUSIVE}
    assert "guarantees differ (durable; at most once): neither is better" in found.rows[0].words
    assert found.status == 3
