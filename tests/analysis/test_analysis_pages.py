"""A page for each trial: whole, linked, and safe from what its files say."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from blank_plots import blank
from hypothesis import given
from hypothesis import strategies as st
from journeys import held, travelled
from reduced_here import findings_of
from report_read import AIR, WIRED, References, pair
from synthetic_campaign import Spec, write_campaign

from analysis.details import Details
from analysis.findings import Findings, Standing
from analysis.names import plain, trial_page
from analysis.report.build import write
from analysis.report.flows import HEADINGS, flow_rows
from analysis.report.trialparts import _neighbours
from analysis.report.trialview import _verdict
from records.verdict import Check, Health, HealthCheck

HOSTILE = '"><script>alert(1)</script> & <img src=http://example.org/x onerror=alert(1)>'


@pytest.fixture(scope="module")
def report(findings: Findings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two cells, with journeys."""
    with blank():
        return write(travelled(pair(findings), tmp_path_factory.mktemp("travelled") / "c1"))


def read(path: Path) -> References:
    page = References()
    page.feed(path.read_text())
    return page


def test_every_trial_has_a_page_that_the_report_leads_to(report: Path, findings: Findings) -> None:
    names = {trial_page(trial.cell, trial.number) for trial in pair(findings).trials}
    assert {path.name for path in (report.parent / "trials").iterdir()} == names
    assert read(report).pages == {f"trials/{name}" for name in names}


def test_a_trials_page_leads_back_and_to_its_neighbours(report: Path) -> None:
    page = read(report.parent / "trials" / f"{AIR}-trial-002.html")
    assert page.pages == {f"../report.html#cell-{AIR}", f"{AIR}-trial-001.html", f"{AIR}-trial-003.html"}
    assert f"cell-{AIR}" in read(report).ids
    assert page.targets <= page.ids


def test_of_very_many_trials_a_page_leads_to_the_first_the_last_and_those_around_it(findings: Findings) -> None:
    cell = findings.cells[0]
    trials = [replace(cell.trials[0], number=number) for number in range(1, 31)]

    def runs(number: int) -> list[list[int]]:
        return [[other for _, other in run] for run in _neighbours(cell.name, trials, number - 1)]

    assert runs(15) == [[1], list(range(10, 21)), [30]]
    assert runs(6) == [list(range(1, 12)), [30]]
    assert runs(30) == [[1], list(range(25, 31))]
    assert _neighbours(cell.name, trials, 14)[1][5] == ("", 15)
    assert [other for (run,) in [_neighbours(cell.name, trials[:24], 3)] for _, other in run] == list(range(1, 25))


def test_pages_fetch_nothing_and_allow_only_their_own_style_and_script(report: Path) -> None:
    for path in (report, *(report.parent / "trials").iterdir()):
        text = path.read_text()
        assert all(reference.startswith("data:") for reference in read(path).fetched)
        policy = text.partition('Content-Security-Policy" content="')[2].partition('"')[0].replace("&#39;", "'")
        for kind in ("style", "script"):
            (inside,) = re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}';" in policy
        assert policy.startswith("default-src 'none'; img-src data:; ")


def test_the_page_of_a_trial_has_its_checks_figures_flows_and_files(report: Path, findings: Findings) -> None:
    text = (report.parent / "trials" / f"{AIR}-trial-001.html").read_text()
    trial = next(t for t in findings.trials if (t.cell, t.number) == (AIR, 1))
    assert f"This trial is valid: {len(Check)} of {len(Check)} health checks passed." in text
    assert text.count('<span class="state passed">passed</span>') == len(Check)
    assert "delivered 0.50 Mbit/s of 1.00 Mbit/s" in text
    assert f'data-v="{trial.metrics["latency_p99_s"]}">800 ms' in text
    assert all(flow in text for flow in trial.flows)
    assert "sta1.pcap" in text
    assert "bernoulli, seed 7" in text
    assert "Latency of what was sent in the window and arrived: 97.0 % could be followed through" in text
    assert "This trial was limited by the link." in text
    assert '<th scope="row">link</th><td class="n" data-v="0.98">' in text
    assert '<td data-of="Limited by">link</td>' in report.read_text()
    assert "1.04 times on the uplink and 1.25 times on the downlink" in text


@pytest.mark.usefixtures("blank_plots")
def test_a_trial_that_does_not_count_says_so_on_its_page(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=2,
                states={(AIR, 1): "invalid"}, absent=frozenset({(AIR, 2)}))  # fmt: skip
    report = write(findings_of(write_campaign(tmp_path, spec)))
    text = (report.parent / "trials" / f"{AIR}-trial-001.html").read_text()
    assert (
        f"This trial is invalid: {len(Check) - 1} of {len(Check)} health checks passed, link rate failed. "
        "It does not enter the cell" in text
    )
    assert '<span class="state failed">failed</span>' in text
    assert "What limited this trial was not recorded." in text
    assert '<td data-of="Limited by">not recorded</td>' in report.read_text()
    assert not (report.parent / "trials" / f"{AIR}-trial-002.html").exists()
    assert len(read(report).pages) == 3


@pytest.mark.usefixtures("blank_plots")
def test_a_damaged_trial_has_a_page_with_what_is_left(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable",), networks=("nistnet-80211",)))
    (folder,) = campaign.glob("nistnet*")
    (folder / "trial-001" / "manifest.json").write_text("{")
    (folder / "trial-002" / "delivered.parquet").write_bytes(b"PAR1")
    (folder / "trial-003" / "verdict.json").unlink()
    report = write(findings_of(campaign))
    texts = [path.read_text() for path in sorted((report.parent / "trials").iterdir())]
    assert all("This trial is damaged" in text for text in texts)
    assert "damaged manifest" in texts[0]
    assert "Nothing of this trial can be drawn" in texts[0]
    assert "damaged ledger" in texts[1]
    assert "sta1.pcap" in texts[1]
    assert "damaged verdict" in texts[2]


def test_what_files_say_cannot_become_markup(findings: Findings, tmp_path: Path) -> None:
    said = travelled(pair(findings), tmp_path / "c1", untold=(WIRED,), why=HOSTILE)
    cells = tuple(
        replace(
            cell,
            levels=dict.fromkeys(cell.levels, HOSTILE),
            trials=tuple(
                replace(
                    trial,
                    reasons=[HOSTILE],
                    details=replace(
                        held(trial),
                        flows={HOSTILE: {"packets": 1.0}},
                        directions={HOSTILE: HOSTILE},
                        packets={(HOSTILE, HOSTILE): 1.0},
                    ),
                )
                for trial in cell.trials
            ),
        )
        for cell in said.cells
    )
    report = write(replace(said, cells=cells))
    for path in (report, *(report.parent / "trials").iterdir()):
        page = read(path)
        assert all(reference.startswith("data:") for reference in page.fetched), path
        assert path.read_text().count("<script") == 1
        assert "onerror" not in re.sub(r"&lt;.*?&gt;", "", path.read_text(), flags=re.DOTALL)


@given(st.text(max_size=200), st.text(max_size=200))
def test_names_are_safe_and_differ_where_cells_do(one: str, other: str) -> None:
    for name in (one, other):
        assert re.fullmatch(r"[A-Za-z0-9_=,+][A-Za-z0-9._=,+-]{0,140}", plain(name)), plain(name)
    assert (plain(one) == plain(other)) == (one == other)


def test_names_of_real_cells_stay_as_they_are() -> None:
    assert trial_page("network=geo,body_bytes=100", 7) == "network=geo,body_bytes=100-trial-007.html"


def test_a_flow_without_a_column_has_a_dash_there(findings: Findings) -> None:
    flows = {
        "a": {"packets": 5.0, "wire_bytes": 500.0, "recovery_s": 0.25},
        "b": {"packets": 7.0, "wire_bytes": 900.0},
    }
    trial = replace(findings.trials[0], details=Details(flows=flows))
    table = flow_rows([trial])
    assert table.headings == ("Packets", "Bytes", "In loss recovery")
    assert [[cell.text for cell in cells] for _, _, _, cells in table.rows] == [
        ["7", "900", "–"],
        ["5", "500", "250 ms"],
    ]
    assert [flow for _, flow, _, _ in flow_rows([trial], most=1).rows] == ["b"]
    assert flow_rows([trial], most=1).left == 1
    assert "rtt_p99_s" in HEADINGS


def test_what_does_not_apply_to_a_trial_is_not_put_down_to_programs_that_it_does_not_have() -> None:
    of_programs, of_line = (
        HealthCheck(check=one, health=Health.NOT_APPLICABLE) for one in (Check.PROGRAMS_SUCCEEDED, Check.LINE_LATENESS)
    )
    trial: Any = SimpleNamespace(standing=Standing.VALID)
    passed = HealthCheck(check=Check.STEAL, health=Health.PASSED)
    said = "This trial is valid: 1 of 1 health checks passed"
    assert _verdict(trial, [passed, of_programs]) == f"{said}."
    assert _verdict(trial, [passed, of_programs, of_line]) == f"{said}, line lateness not applicable."
    assert _verdict(trial, [passed, of_line, of_line]) == f"{said}, 2 do not apply to programs."
