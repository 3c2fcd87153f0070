"""Links that change: their events and rates in the reduction, in the plots and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser import PHONE, measured
from reduced_here import findings_of
from report_read import References, rows
from synthetic_campaign import DRAINED, GO, SECOND, START, WINDOW, Spec, link, resources, write_campaign

from analysis.findings import Findings, Standing, TrialFinding
from analysis.medium import medium_metrics
from analysis.plots.eventmarks import marks
from analysis.plots.overtime import overtime_plots
from analysis.plots.timeline import timeline
from analysis.rates import RATE, rate_series, rate_steps
from analysis.report.build import write
from analysis.report.timeline import event_table, lateness, worst
from analysis.series import queue_series
from analysis.trial import reduce_trial
from records.airtime import Steps, capacity
from records.link import LinkCheck, LinkProof
from records.schema import RESOURCES

if TYPE_CHECKING:
    import pyarrow as pa

CELL, WIRED = "nistnet-80211_100_ndnp", "wireline-100m_100_ndnp"
EVENTS = ((2.0, "outage begins"), (3.0, "outage ends"), (4.0, "rate <b>0.5</b> Mbit/s & more"))
RATES = ((-2.0, 1e6), (4.0, 5e5))
SPEC = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=2, events=EVENTS, rates=RATES)


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return findings_of(write_campaign(tmp_path_factory.mktemp("changing"), SPEC))


def trials_of(findings: Findings) -> tuple[TrialFinding, ...]:
    return next(cell.trials for cell in findings.cells if cell.name == CELL)


def saturated(*rates: tuple[float, float]) -> pa.Table:
    """Samples, four a second, of an `air` that always sends at its rate: 1 Mbit/s until it changes."""
    steps = Steps(np.array([-1.0, *(t for t, _ in rates)]), np.array([1e6, *(rate for _, rate in rates)]))
    set_ = resources(queues={}, rates={"air": tuple(zip(steps.since_s.tolist(), steps.rate.tolist(), strict=True))})
    t_ns = np.arange(GO, DRAINED + 1, SECOND // 4)
    sent = capacity(steps, (t_ns - START) / SECOND) / 8
    samples = [
        {"t_ns": t, "subject": "queue:air", "metric": "sent_bytes", "value": v}
        for t, v in zip(t_ns.tolist(), sent.tolist(), strict=True)
    ]
    return set_.from_pylist([*set_.to_pylist(), *samples], schema=RESOURCES)


def test_events_of_a_trial_are_those_of_its_link_proof(changing: Findings) -> None:
    first, second = trials_of(changing)
    assert [(event.asked_s, event.label) for event in first.events] == list(EVENTS)
    assert [event.real_s for event in first.events] == pytest.approx([2.0004, 3.0004, 4.0004])
    assert [event.real_s for event in second.events] == pytest.approx([2.0008, 3.0008, 4.0008])
    assert not any(trial.events for cell in changing.cells if cell.name == WIRED for trial in cell.trials)


def test_events_of_several_trials_are_drawn_once(changing: Findings) -> None:
    found = marks(trials_of(changing))
    assert [(mark.asked_s, mark.label) for mark in found] == list(EVENTS)
    assert [mark.real_s for mark in found] == pytest.approx([2.0006, 3.0006, 4.0006])


def test_what_a_plot_shows_of_a_timeline(changing: Findings) -> None:
    shown = timeline(trials_of(changing), low=-1, high=9, left=0.1, right=0.9)
    assert [tag.text for tag in shown.tags] == [label for _, label in EVENTS]
    assert shown.columns == []
    assert shown.rates == {"air": [(-1.0, 1e6), (4.0, 5e5), (9.0, 5e5)]}


def test_a_plot_has_the_labels_and_the_rate_only_where_the_link_changes(changing: Findings) -> None:
    plots = {name: plot.svg.decode() for name, plot in overtime_plots(changing).items()}
    assert plots[CELL].count("outage begins") == 1
    assert "rate, Mbit/s" in plots[CELL]
    assert "rate &lt;b&gt;0.5&lt;/b&gt; Mbit/s &amp; more" in plots[CELL]
    assert "rate, Mbit/s" not in plots[WIRED]
    assert height(plots[WIRED]) < height(plots[CELL])


def height(svg: str) -> float:
    return float(svg.partition('viewBox="0 0 360 ')[2].partition('"')[0])


def test_the_page_lists_the_events_of_the_first_trial(changing: Findings) -> None:
    report = write(changing)
    text = report.read_text()
    page = References()
    page.feed(text)
    assert text.count("Changes of the link, trial 1") == 1
    assert "<b>" not in text
    assert "rate &lt;b&gt;0.5&lt;/b&gt; Mbit/s &amp; more" in text
    assert "2.000 s (0.4 ms late)" in text
    assert "2.001 s (0.8 ms late)" not in text
    assert "at worst 0.8 ms late" in text
    assert len(rows(report, "events")) == 6
    rates = [row for row in rows(report, "seconds") if row["series"] == "rate_air" and row["trial"] == "1"]
    assert [(row["seconds_from_window_start"], row["value"]) for row in rates][1] == ("4.0", "500000.0")


@pytest.mark.browser
def test_many_events_do_not_stick_out_of_the_page(tmp_path: Path) -> None:
    events = tuple((0.4 * n, f"uplink rate {n} Mbit/s, downlink rate {n} Mbit/s, delay {n} ms") for n in range(20))
    spec = Spec(bodies=(100,), guarantees=("durable",), trials=2, events=events, rates=RATES)
    report = write(findings_of(write_campaign(tmp_path, spec)))
    assert measured(tmp_path, {"report": report}, [PHONE])[f"report {PHONE}"]["wide"] == []
    svg = next(report.parent.glob("plots/time-nistnet*.svg")).read_text()
    assert all(svg.count(label) == 1 for _, label in events)


def test_without_events_nothing_is_said_of_them(report: Path, findings: Findings) -> None:
    text = report.read_text()
    assert "Changes of the link" not in text
    assert "timeline" not in text
    assert not (report.parent / "tables" / "events.csv").exists()
    assert all(event_table(cell) is None for cell in findings.cells)


def test_link_files_from_before_timelines_are_read(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable",), trials=1))
    for path in campaign.glob("*/*/link.json"):
        kept = {k: v for k, v in json.loads(path.read_text()).items() if k not in ("events", "overhead_uplink",
                                                                                  "overhead_downlink")}  # fmt: skip
        path.write_text(json.dumps(kept))
    found = findings_of(campaign)
    assert {trial.standing for trial in found.trials} == {Standing.VALID}
    write(found)


def test_a_change_that_never_came_is_read_back_and_said() -> None:
    never = LinkCheck(quantity="change", direction="uplink", source="trial", asked=0, delivered=float("inf"), low=0,
                      high=0.02)  # fmt: skip
    proof = link("nistnet-80211", air_bytes=1).model_copy(update={"checks": (never,)})
    text = proof.model_dump_json()
    json.loads(text, parse_constant=pytest.fail)  # plain JSON, which knows no Infinity
    assert LinkProof.model_validate_json(text) == proof
    assert worst([never])["delivered"] == "one that was due never came"


def test_a_verdict_from_before_a_check_says_which_one_it_lacks(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable",), trials=1))
    for path in campaign.glob("*/*/verdict.json"):
        checks = json.loads(path.read_text())["checks"]
        path.write_text(json.dumps({"checks": [one for one in checks if one["check"] != "link_timeline"]}))
    found = findings_of(campaign)
    assert {trial.standing for trial in found.trials} == {Standing.INCONCLUSIVE}
    assert found.trials[0].reasons == ["link_timeline unknown: this trial's verdict does not have it"]


@pytest.mark.parametrize(
    ("late_s", "text"), [(0.0, "0.0 ms late"), (0.0123, "12.3 ms late"), (-0.002, "2.0 ms early"), (2.5, "2.50 s late")]
)
def test_lateness_in_words(late_s: float, text: str) -> None:
    assert lateness(late_s) == text


def test_every_quantity_of_a_link_has_a_row_in_the_report(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable",), trials=1))
    every = LinkCheck.model_fields["quantity"].annotation.__args__  # type: ignore[union-attr]
    for path in campaign.glob("*/*/link.json"):
        proof = LinkProof.model_validate_json(path.read_text())
        checks = [proof.checks[0].model_copy(update={"quantity": quantity}) for quantity in every]
        path.write_text(proof.model_copy(update={"checks": tuple(checks)}).model_dump_json())
    text = write(findings_of(campaign)).read_text()
    assert all(f"<td>{quantity}</td>" in text for quantity in every if quantity != "change")


def test_use_is_of_the_rate_that_the_link_had() -> None:
    table = saturated((2.1, 1e5), (5.3, 2e6))
    proof = link("nistnet-80211", air_bytes=1)
    steps = rate_steps(table, WINDOW, proof)
    series = queue_series(table, proof, WINDOW, steps)
    assert [share for _, share in series["utilisation_air"]] == pytest.approx([1.0] * 10)
    mean = (2.1 * 1e6 + 3.2 * 1e5 + 2.7 * 2e6) / 8
    assert np.diff(capacity(steps["air"], np.array([0.0, 8.0]))) == pytest.approx(mean * 8, rel=0.002)
    proof = link("nistnet-80211", air_bytes=round(mean))  # bytes: an eighth of the window's bits is 1 s at the mean
    metrics = medium_metrics(proof, deliveries=1, steps=steps)
    assert metrics["air_utilisation"] == pytest.approx(1.0)


def test_a_second_in_which_a_link_stands_still_has_no_use() -> None:
    table = saturated((2.0, 8.0), (5.0, 1e6))
    proof = link("nistnet-80211", air_bytes=1)
    series = queue_series(table, proof, WINDOW, rate_steps(table, WINDOW, proof))
    assert [t for t, _ in series["utilisation_air"] if 2 < t < 5] in ([], [2.5])
    assert max(share for _, share in series["utilisation_air"]) == pytest.approx(1.0)


def test_a_long_trace_is_thinned_to_its_means() -> None:
    steps = Steps(np.arange(0, 100, 0.05), np.tile([8.0, 1e6], 1000))
    points = rate_series({"air": steps}, -1.0, 101.0)["rate_air"]
    assert len(points) == 101
    assert np.mean([rate for t, rate in points if 2 < t < 98]) == pytest.approx(5e5, rel=0.02)


def test_queues_of_one_rate_are_one_line_and_others_have_their_own() -> None:
    one, other = Steps(np.array([0.0, 1.0]), np.array([1e6, 2e6])), Steps(np.array([0.0, 1.0]), np.array([1e6, 3e6]))
    found = rate_series({"uplink-0": one, "uplink-1": one, "uplink-2": other, "downlink-0": one}, 0, 2)
    assert list(found) == ["rate_uplink", "rate_uplink-2", "rate_downlink"]


def test_a_trial_whose_rates_never_change_has_no_steps() -> None:
    proof = link("nistnet-80211", air_bytes=1)
    assert rate_steps(resources(queues={"air": 1.0}), WINDOW, proof) == {}
    assert rate_steps(RESOURCES.empty_table(), WINDOW, proof) == {}


def test_the_rows_of_a_trial_hold_its_events(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SPEC)
    batch = reduce_trial(campaign / CELL / "trial-001", 0)
    found = [row for row in batch.to_pylist() if row["table"] == "event"]
    assert [(row["t"], row["text"]) for row in found] == list(EVENTS)
    assert RATE not in {row["metric"] for row in batch.to_pylist()}
