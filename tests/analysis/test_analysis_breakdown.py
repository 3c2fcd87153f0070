"""Where the time goes: what the bars, the table and the file say is what the trials' journeys hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journeys import journey, travelled
from report_read import AIR, WIRED, pair, rows

from analysis.breakdown import Breakdown, breakdowns, whys
from analysis.details import Details
from analysis.findings import CellFinding, Findings, Standing, TrialFinding, gather
from analysis.journey.parts import EVERY, KEYS, LATENCY, PARTS
from analysis.plots.journeybars import (
    COLOUR,
    UNEXPLAINED,
    cell_bars,
    journey_plots,
    journey_sketch,
    segments,
    trial_bars,
)
from analysis.plots.panel import Panel
from analysis.plots.sketch import Box, Label, Line
from analysis.plots.tracks import tracks
from analysis.report.build import write
from analysis.report.journey import journey_table
from analysis.rows import Rows
from records.store import trials
from records.words import GENERAL

seconds = st.floats(1e-6, 1e3)


def trial(number: int = 1, **fields: object) -> TrialFinding:
    return replace(TrialFinding("cell", number, 1, standing=Standing.VALID), **fields)  # type: ignore[arg-type]


def test_rows_of_a_reduction_become_the_trials_journey(findings: Findings) -> None:
    done = Rows(0)
    for part, value in (("client", 0.1), ("broker", 0.3), (LATENCY, 0.4)):
        done.add("journey", part, key="p99", value=value)
    done.add("journey", "why", text="2 of 9 markers were cut off")
    found = gather(
        findings.campaign, findings.folder, trials(findings.folder)[:1], pa.Table.from_batches([done.batch()])
    )
    first = next(one for one in found.trials if one.path is not None)
    assert first.journey == {"p99": {"client": 0.1, "broker": 0.3, LATENCY: 0.4}}
    assert first.journey_why == "2 of 9 markers were cut off"


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(PARTS, seconds)), min_size=1, max_size=5))
def test_parts_of_a_mean_sum_to_the_mean_latency_and_fill_the_bar(journeys: list[dict[str, float]]) -> None:
    made = [trial(n, journey={"p50": parts | {LATENCY: sum(parts.values())}}) for n, parts in enumerate(journeys)]
    (one,) = breakdowns(made)
    assert sum(one.parts.values()) == pytest.approx(one.latency)
    assert one.latency == pytest.approx(sum(sum(parts.values()) for parts in journeys) / len(journeys))
    bar = segments(one)
    assert [part for part, _, _ in bar] == list(PARTS)
    assert bar[0][1] == 0
    assert bar[-1][2] == pytest.approx(1)
    assert all(before[2] == after[1] for before, after in pairwise(bar))
    for part, left, right in bar:
        assert right - left == pytest.approx(one.parts[part] / one.latency, abs=1e-9)


def test_what_no_part_explains_is_shown_as_that_and_rounding_is_not() -> None:
    short = Breakdown(key="p99", latency=1.0, parts={"client": 0.3, "broker": 0.5}, trials=1)
    assert segments(short) == [
        ("client", 0.0, pytest.approx(0.3)), ("broker", pytest.approx(0.3), pytest.approx(0.8)),
        (UNEXPLAINED, pytest.approx(0.8), pytest.approx(1.0)),
    ]  # fmt: skip
    assert short.unexplained == pytest.approx(0.2)
    assert replace(short, latency=0.805).unexplained == 0


def test_a_part_a_little_below_zero_takes_no_room() -> None:
    one = Breakdown(key="mean", latency=0.4, parts={"client": -0.0001, "broker": 0.4001}, trials=1)
    assert segments(one) == [("broker", 0.0, 1.0)]


def test_a_port_that_was_not_captured_has_no_part_and_the_reason_stands_below() -> None:
    table = journey_table([trial(journey=journey(0.2, without=("wire",)), journey_why="the port was not captured")])
    assert "Wire" not in table.headings
    assert table.why == ("the port was not captured",)
    made = (trial(journey=journey(0.2, without=("wire",))),)
    assert cell_bars(CellFinding(name="cell", levels={}, trials=made), "#000000").note == "broker includes the wire"
    assert [said for said, _, _ in table.rows] == [
        "mean", "median", "90th percentile", "99th percentile", "99.9th percentile",
    ]  # fmt: skip


def test_a_response_has_both_ways_in_its_bar_and_its_table() -> None:
    made = trial(journey=journey(0.2, replies=True), metrics={"journey_share": 0.97})
    (mean, *_) = breakdowns([made])
    bar = segments(mean)
    assert [part for part, _, _ in bar] == list(EVERY)
    sketch = journey_sketch([trial_bars(made, "#000000")])
    texts = [one.text for one in sketch.shapes if isinstance(one, Label)]
    assert texts[0:2] == ["Where the time goes", "share of the response time"]
    assert "97.0 % of the answered requests attributed" in texts
    assert texts.count("uplink air") == 1  # of both ways
    assert any("the reply's" in text for text in texts)
    lines = [one.points[0][0] for one in sketch.shapes if isinstance(one, Line)]
    assert len(lines) == 2 * len(KEYS)  # around the service
    served = [one for one in sketch.shapes if isinstance(one, Box) and one.fill == COLOUR["service"] and one.width != 8]
    assert lines[::2] == [one.x for one in served]
    assert lines[1::2] == pytest.approx([one.x + one.width for one in served])
    table = journey_table([made])
    assert (table.what, table.whose) == ("response time", "answered requests")
    assert table.headings[8:10] == ("Service", "Reply uplink recovery")
    said = "Response time of the requests that were sent in the window and answered: 97.0 % could be followed"
    assert table.facts[0].startswith(said)


def test_only_valid_trials_are_in_the_bars_of_a_cell() -> None:
    made = (trial(1, journey=journey(0.2)), trial(2, journey=journey(9.0), standing=Standing.INVALID))
    cell = CellFinding(name="cell", levels={"network": "geo"}, trials=made)
    assert cell_bars(cell, "#000000").shown[0].latency == pytest.approx(0.2)
    none = cell_bars(replace(cell, trials=made[1:]), "#000000")
    assert (none.shown, none.why) == ((), ("no trial is valid",))


def test_reasons_are_said_once() -> None:
    made = [trial(1, journey_why="cut off"), trial(2, journey_why="cut off"), trial(3), trial(4, journey=journey(1))]
    nothing = "nothing was found that joins its packets with its messages"
    assert whys(made) == ("cut off", nothing)
    assert journey_table(made).why == ("trial 1: cut off", "trial 2: cut off", f"trial 3: {nothing}")


def test_plots_stand_side_by_side_and_say_the_whole_latency(findings: Findings, tmp_path: Path) -> None:
    plots = journey_plots(travelled(findings, tmp_path, untold=(WIRED,), why="it is $encrypted$ & <cut>"))
    assert [plot.name for plot in plots] == ["journey-01", "journey-02", "journey-03", "journey-04"]
    text = plots[0].svg.decode()
    assert text.count(">240 ms<") == 1  # the mean of 0.22, 0.24 and 0.26 s
    assert text.count(">4.56 s<") == 1  # the 99.9th percentile is 19 times that
    assert "Not told: it is $encrypted$ &amp; &lt;cut&gt;" in text
    assert text.count("97.0 % of the deliveries attributed") == 1
    assert all(plot.png.startswith(b"\x89PNG") for plot in plots)


@pytest.mark.usefixtures("blank_plots")
def test_the_table_is_a_file_too(findings: Findings, tmp_path: Path) -> None:
    found = travelled(pair(findings), tmp_path / "c1", untold=(WIRED,), why="it is encrypted")
    report = write(found)
    table = rows(report, "journey")
    assert len(table) == 3 * len(KEYS) + 3
    one = next(row for row in table if (row["cell"], row["trial"], row["of"]) == (AIR, "2", "p99"))
    assert sum(float(one[f"{part}_s"]) for part in PARTS) == pytest.approx(float(one["latency_s"]))
    assert float(one["latency_s"]) == pytest.approx(0.24 * 6)
    assert (one["attributed_share"], one["state"]) == ("0.97", "valid")
    assert [row["why"] for row in table if row["cell"] == WIRED] == ["it is encrypted"] * 3
    text = report.read_text()
    assert "wireline-100m · 100 B · non-durable, non-persistent: cannot be told, it is encrypted." in text
    assert text.count("<summary>Where the time goes</summary>") == 1


@pytest.mark.usefixtures("blank_plots")
def test_a_campaign_without_journeys_says_why(findings: Findings, tmp_path: Path) -> None:
    report = write(travelled(pair(findings), tmp_path / "c1", untold=(AIR, WIRED), why="the payload is not plaintext"))
    assert "All cells: cannot be told, the payload is not plaintext." in report.read_text()
    page = next((report.parent / "trials").iterdir()).read_text()
    assert "Where the time goes cannot be told: the payload is not plaintext." in page
    assert not list((report.parent / "plots").glob("journey*"))


def test_tracks_are_those_that_have_points(findings: Findings, tmp_path: Path) -> None:
    bare = trial(details=Details(seconds={"delivered_per_s": [(0.5, 3.0), (1.5, 4.0)]}))
    assert [track.title for track in tracks([bare], colour="#000000", words=GENERAL, dotted=True)] == [
        "messages per second"
    ]
    full = [one for one in travelled(findings, tmp_path).trials if one.cell == AIR]
    found = tracks(full, colour="#000000", words=GENERAL, dotted=True)
    assert [track.title.split()[0] for track in found] == ["messages", "link", "bytes", "packets"]
    assert "shaded: loss recovery" in found[3].title
    assert {share for _, share in found[3].shade} == {0.5}  # of the busier direction
    assert [curve.name for curve in found[3].curves] == ["uplink", "downlink"]


def test_lines_of_trials_that_do_not_count_are_dotted() -> None:
    seconds = {"delivered_per_s": [(0.5, 3.0), (1.5, 4.0)]}
    made = [
        trial(1, details=Details(seconds=seconds)),
        trial(2, details=Details(seconds=seconds), standing=Standing.INVALID),
    ]
    for dotted in (True, False):
        (track,) = tracks(made, colour="#000000", words=GENERAL, dotted=dotted)
        assert [bool(dash) for _, dash in track.curves[0].lines] == [False, dotted]


@given(st.floats(-100, 100), st.floats(0.1, 100), st.floats(-1e3, 1e3))
def test_places_stay_inside_their_panel(low: float, span: float, value: float) -> None:
    panel = Panel(x=10, y=20, width=100, height=50, across=(low, low + span), up=(low, low + span))
    assert 10 <= panel.along(value) <= 110 + 1e-9
    assert 20 - 1e-9 <= panel.above(value) <= 70
    assert panel.along(low) == 10
    assert panel.above(low) == 70
