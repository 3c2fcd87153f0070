from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from reduced_here import findings_of
from report_read import AIR, WIRED, References, pair, rows
from synthetic_campaign import Spec, write_campaign

from analysis.compare import compare, describe, matches
from analysis.findings import Findings, Standing
from analysis.report import NoReport, NothingToReport, build, summary, trialpages
from analysis.report.build import write
from analysis.report.publish import ReportBusy, staged

ROOT = Path(__file__).parents[2]


def test_metrics_of_a_trial_are_those_its_files_were_made_with(findings: Findings) -> None:
    trial = next(t for t in findings.trials if (t.cell, t.number) == (AIR, 1))
    assert trial.standing is Standing.VALID
    # 10.2 messages a second to 2 consumers; 0.2, 0.4, 0.6 and 0.8 s in turn; number 3 is lost.
    assert trial.metrics["published_per_s"] == pytest.approx(10.2, rel=0.02)
    assert trial.metrics["delivered_per_s"] == pytest.approx(2 * 10.2, rel=0.03)
    assert trial.metrics["latency_mean_s"] == pytest.approx(0.5, rel=0.02)
    assert trial.metrics["latency_p99_s"] == pytest.approx(0.8)
    assert trial.metrics["publish_latency_mean_s"] == pytest.approx(0.05)
    assert trial.metrics["loss_share"] == pytest.approx(1 / 91)
    assert trial.metrics["goodput_bit_s"] == trial.metrics["delivered_per_s"] * 800
    assert trial.metrics["air_utilisation"] == pytest.approx(0.9)
    assert trial.metrics["air_bytes_per_delivery"] == pytest.approx(900_000 / trial.metrics["deliveries"])
    assert trial.metrics["retr_share_uplink"] == pytest.approx(1 / 41)
    assert trial.metrics["rtt_mean_uplink_s"] == pytest.approx(0.080)
    assert list(trial.flows) == ["sta1:40000 → srv:61613"]
    assert trial.directions["sta1:40000 → srv:61613"] == "uplink"


def test_cells_are_compared_over_trials_of_equal_seed(findings: Findings) -> None:
    found = {match.title: match for match in matches(findings)}
    assert len(found) == 4
    match = found["100 B · non-durable, non-persistent"]
    assert (match.baseline.name, [cell.name for cell in match.others]) == (WIRED, [AIR])
    one = compare(match.baseline, match.others[0], "delivered_per_s")
    pairs = zip(match.baseline.valid, match.others[0].valid, strict=True)
    ratios = [b.metrics["delivered_per_s"] / a.metrics["delivered_per_s"] for a, b in pairs]
    assert one.ratio.n == 3
    assert one.ratio.ratio == pytest.approx((ratios[0] * ratios[1] * ratios[2]) ** (1 / 3))


def test_only_valid_trials_are_averaged_and_the_others_are_told_apart(tmp_path: Path) -> None:
    spec = Spec(
        bodies=(100,), guarantees=("non-durable, non-persistent",), trials=4,
        states={(AIR, 1): "invalid", (AIR, 2): "inconclusive"}, absent=frozenset({(AIR, 3)}),
    )  # fmt: skip
    findings = findings_of(write_campaign(tmp_path, spec))
    cell = next(cell for cell in findings.cells if cell.name == AIR)
    assert [trial.standing.value for trial in cell.trials] == ["invalid", "inconclusive", "missing", "valid"]
    found = cell.estimate("delivered_per_s")
    assert found is not None
    assert (found.n, found.low, found.high) == (1, None, None)
    assert found.mean == cell.trials[3].metrics["delivered_per_s"]
    text = write(findings).read_text()
    assert "5 of 8 planned trials are valid, 1 invalid, 1 inconclusive, 1 missing" in text
    assert "link_rate failed: delivered 0.50 Mbit/s of 1.00 Mbit/s (measured 0.5 share, limit 0.02 share)" in text
    ratio = compare(findings.cells[0], cell, "delivered_per_s").ratio
    assert (ratio.n, ratio.low) == (1, None)


def test_a_campaign_of_one_network_is_reported_without_a_comparison(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), networks=("nistnet-80211",), trials=1)
    text = write(findings_of(write_campaign(tmp_path, spec))).read_text()
    assert "Cells at a glance" in text
    assert "(1 trial)" in text


def test_a_campaign_without_a_valid_trial_still_has_a_report(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1,
                states={(AIR, 1): "invalid", (WIRED, 1): "invalid"})  # fmt: skip
    text = write(findings_of(write_campaign(tmp_path, spec))).read_text()
    assert "0 of 2 planned trials are valid" in text
    assert "no means to draw" in text


def test_sections_stand_in_their_order(report: Path) -> None:
    ids = re.findall(r'<section id="(\w+)"', report.read_text())
    assert ids == ["verdict", "comparison", "plots", "cells", "provenance"]


def test_the_page_needs_nothing_but_itself(report: Path) -> None:
    text = report.read_text()
    page = References()
    page.feed(text)
    assert page.fetched
    assert all(reference.startswith("data:") for reference in page.fetched)
    assert page.targets <= page.ids
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_each_plot_stands_beside_the_report_as_svg_and_png(report: Path) -> None:
    plots = report.parent / "plots"
    names = {path.stem for path in plots.glob("*.svg")}
    assert {"cells-delivered-per-s", "cells-air-utilisation", "latency-01", f"time-{AIR}"} <= names
    assert names == {path.stem for path in plots.glob("*.png")}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in plots.glob("*.png"))


def test_tables_hold_si_units_and_every_trial(report: Path, findings: Findings) -> None:
    trials = rows(report, "trials")
    assert len(trials) == 24
    one = next(row for row in trials if (row["cell"], row["trial"]) == (AIR, "2"))
    finding = next(t for t in findings.trials if (t.cell, t.number) == (AIR, 2))
    assert (one["network"], one["body"], one["state"], one["seed"]) == ("nistnet-80211", "100 B", "valid", "102")
    assert float(one["latency_p50_s"]) == finding.metrics["latency_p50_s"]
    cells = [row for row in rows(report, "cells") if row["metric"] == "delivered_per_s"]
    assert (len(cells), cells[0]["unit"], cells[0]["n"]) == (8, "1/s", "3")
    lost = next(row for row in rows(report, "comparison") if row["metric"] == "loss_share")
    assert (lost["ratio"], lost["undefined"]) == ("", "3 of 3 pairs hold a zero")
    answers = {row["metric"]: row["answer"] for row in rows(report, "comparison") if row["other"] == AIR}
    # 1 of 20 packets was sent again in every trial of both: that does not show that they are equal.
    assert (answers["delivered_per_s"], answers["retr_share_uplink"]) == ("different", "no difference detectable")
    assert answers["loss_share"] == ""
    assert {row["direction"] for row in rows(report, "flows")} == {"uplink"}
    assert {row["series"] for row in rows(report, "seconds")} >= {"delivered_per_s", "utilisation_air"}


def test_the_summary_says_what_the_report_says(report: Path, findings: Findings) -> None:
    found = summary(report.parent)
    assert found.verdict == "All 24 trials are valid: no health check failed."
    cell = next(cell for cell in found.cells if cell.name == AIR)
    assert cell.states == {"valid": 3, "invalid": 0, "inconclusive": 0, "damaged": 0, "failed": 0, "missing": 0}
    estimate = next(c for c in findings.cells if c.name == AIR).estimate("delivered_per_s")
    assert estimate is not None
    assert cell.metrics["delivered_per_s"].mean == estimate.mean
    assert cell.metrics["delivered_per_s"].text in report.read_text()
    assert any("subscriber throughput is" in line for line in found.headlines)


def test_what_interruptions_cost_is_told_of_the_cells_that_had_some(findings: Findings, tmp_path: Path) -> None:
    told = {"interruptions": 1.0, "back_after_s": 0.4, "caught_up_after_s": 2.5, "held_up": 12.0, "not_back": 0.0}
    first, rest = pair(findings).cells
    trials = tuple(replace(trial, metrics=trial.metrics | told) for trial in first.trials)
    folder = tmp_path / "c1"
    folder.mkdir()
    moved = replace(findings, folder=folder, cells=(replace(first, trials=trials), rest))
    table = write(moved).read_text().partition("What interruptions cost")[2].partition("</table>")[0]
    (row,) = re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.DOTALL)
    assert f"#cell-{first.name}" in row
    means = [text.partition(" ±")[0] for text in re.findall(r"<td[^>]*>([^<]*)", row)]
    assert means[:4] == ["1.00", "400", "2.50", "12.0"]
    assert "What interruptions cost" not in write(replace(moved, cells=(first, rest))).read_text()


def test_tables_have_no_columns_of_what_no_trial_has(findings: Findings, tmp_path: Path) -> None:
    def heads(of: Findings) -> list[set[str]]:
        tables = re.findall(r"<thead>.*?</thead>", write(of).read_text(), re.DOTALL)
        found = [
            set(re.findall(r"<th[^>]*>([^<]*)</th>", table))
            for table in tables
            if ">Verdict<" in table and ">Trial<" in table
        ]
        assert len(found) == len(of.cells)
        return found

    folder = tmp_path / "c1"
    folder.mkdir()
    ours = replace(pair(findings), folder=folder)
    first, rest = ours.cells
    for table in heads(ours):
        assert "Longest silence" in table
        assert not any("esponse" in head for head in table), table
    trials = tuple(replace(trial, metrics=trial.metrics | {"response_p50_s": 0.25}) for trial in first.trials)
    for table in heads(replace(ours, cells=(replace(first, trials=trials), rest))):
        assert [head for head in table if "esponse" in head] == ["Median response time"]


def test_what_fails_is_named_in_the_report_and_its_summary_and_the_rest_stands(
    findings: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pair(findings)

    def failing(*_: object, **__: object) -> NoReturn:
        raise KeyError("gone")

    monkeypatch.setattr(sys.modules["analysis.report.build"], "latency_plots", failing)
    monkeypatch.setattr("analysis.plots.sections.throughput.draw", failing)
    made = trialpages.trial_view
    monkeypatch.setattr(
        trialpages, "trial_view",
        lambda subject: failing() if subject.trial.number == 2 else made(subject),
    )  # fmt: skip
    first = found.trials[0]
    monkeypatch.setitem(first.partial, "measures.retries", "retries.py:9: KeyError: 'gone'")
    page = write(replace(found, folder=tmp_path))
    said = summary(tmp_path).failed
    assert re.fullmatch(r"plots not drawn: .*: test_analysis_report\.py:\d+: KeyError: 'gone'", said[0])
    assert said[1].startswith("plots not drawn: Distribution of latency: test_analysis_report.py:")
    assert said[2].startswith(f"metrics not measured: retries in 1 of {len(found.trials)} trials, such as")
    pages = [line for line in said if line.startswith("page not made: trials/")]
    assert len(pages) == len(said) - 3 == sum(one.number == 2 for one in found.trials)
    for line in pages:
        text = (tmp_path / line.split(": ")[1]).read_text()
        assert re.search(r"This page could not be made: \w+\.py:\d+: KeyError: &#39;gone&#39;", text)
    assert page.read_text().count("Not drawn: test_analysis_report.py:") == 2


def test_names_from_files_cannot_become_markup(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("<script>alert(1)</script>",), trials=1)
    text = write(findings_of(write_campaign(tmp_path, spec))).read_text()
    assert text.count("<script") == 1  # ours, which sorts tables
    assert "&lt;script&gt;" in text


def test_no_report_and_no_trials_are_said_with_the_way_out(tmp_path: Path) -> None:
    empty = write_campaign(tmp_path, Spec(trials=1, absent=frozenset(_all_cells())))
    with pytest.raises(NothingToReport, match="no trial is finished; `lab resume"):
        build(empty)
    with pytest.raises(NothingToReport, match="no such campaign"):
        build(tmp_path / "nowhere")
    with pytest.raises(NoReport, match="lab report"):
        summary(empty)


def _all_cells() -> list[tuple[str, int]]:
    return [
        (f"{n}_{b}_{g}", 1) for n in ("wireline-100m", "nistnet-80211") for b in (100, 5120) for g in ("ndnp", "dp")
    ]


def test_an_interrupted_build_leaves_the_older_report(tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def attempt(text: str, *, fail: bool) -> None:
        with staged(tmp_path, names=("plots", "report.html")) as folder:
            (folder / "plots").mkdir()
            (folder / "plots" / text).touch()
            (folder / "report.html").write_text(text)
            if fail:
                raise Interrupted

    attempt("first", fail=False)
    with pytest.raises(Interrupted):
        attempt("second", fail=True)
    assert (tmp_path / "report.html").read_text() == "first"
    attempt("third", fail=False)
    assert (tmp_path / "report.html").read_text() == "third"
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["third"]
    assert {path.name for path in tmp_path.iterdir()} == {"plots", "report.html"}


def test_two_builds_at_once_do_not_mix(tmp_path: Path) -> None:
    with staged(tmp_path, names=()), pytest.raises(ReportBusy, match="another process"), staged(tmp_path, names=()):
        pass


def test_the_same_campaign_gives_the_same_page(findings: Findings, tmp_path: Path) -> None:
    folder = tmp_path / "c1"
    folder.mkdir()
    found = replace(pair(findings), folder=folder)
    before = write(found).read_bytes()
    assert write(found).read_bytes() == before


_BUILD = "import sys, pathlib; from analysis.report import build; build(pathlib.Path(sys.argv[1]), master=sys.argv[2])"
_MASTER = "local[1]"  # named, since so small a campaign does without Spark


def built(campaign: Path, environment: dict[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _BUILD, str(campaign), _MASTER], capture_output=True, text=True,
                          check=False, env=environment, cwd=cwd, timeout=200)  # fmt: skip


@pytest.mark.spark
def test_building_is_quiet_and_leaves_no_process(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = built(campaign, environment, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (campaign / "report.html").is_file()
    assert not (campaign / ".report").exists()
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(str(campaign).encode() in command for command in commands)


def test_a_machine_without_java_is_told_so(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1))
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PYTHONPATH": str(ROOT), "JAVA_HOME": str(tmp_path / "no-java")}
    done = built(campaign, environment)
    assert done.returncode != 0
    assert "SparkFailed" in done.stderr
    assert "no-java" in done.stderr


def test_levels_that_are_numbers_are_said_with_their_factor() -> None:
    levels = {"network": "geo", "body_bytes": "100", "guarantee": "durable", "delay_s": "0.5", "topics": "3"}
    assert describe(levels) == "geo · body 100 B · durable · delay 0.5 s · topics 3"
