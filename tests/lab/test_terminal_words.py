"""What a terminal calls the columns of a campaign's cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.report.summary import SUMMARY, CellSummary, MetricSummary, Summary
from lab.closing import tell
from lab.common import Status
from records.workload import Pattern

SOME = ("published_per_s", "delivered_per_s", "latency_mean_s", "publish_latency_mean_s")


def campaign(folder: Path, patterns: tuple[Pattern, ...], metrics: tuple[str, ...]) -> Path:
    figures = {name: MetricSummary(n=1, mean=1.0, low=None, high=None, text=f"<{name}>") for name in metrics}
    cell = CellSummary(name="one", levels={}, states={"valid": 1}, metrics=figures)
    found = Summary(
        scenario="any", campaign="any", verdict="", headlines=(), cells=(cell,), ratios=(), trials=(), patterns=patterns
    )  # fmt: skip
    (folder / SUMMARY).parent.mkdir()
    (folder / SUMMARY).write_text(found.model_dump_json())
    return folder


MESSAGES = ("published/s", "delivered/s", "mean latency")
GENERAL = ("sent/s", "received/s", "mean latency")
REQUESTS = ("answered/s", "served/s", "mean response time")
NOTHING = ("answered/s", "served/s", "mean request latency")


@pytest.mark.parametrize(
    ("patterns", "metrics", "told"),
    [
        ((), SOME, (*MESSAGES, "<latency_mean_s>")),
        ((Pattern.PUBSUB,), SOME, (*MESSAGES, "<latency_mean_s>")),
        ((Pattern.QUEUE,), SOME, (*GENERAL, "<latency_mean_s>")),
        ((Pattern.PUBSUB, Pattern.STREAM), SOME, (*GENERAL, "<latency_mean_s>")),
        ((Pattern.REQUEST_REPLY,), (*SOME, "response_p50_s"), (*REQUESTS, "<publish_latency_mean_s>")),
        ((Pattern.REQUEST_REPLY,), (), (*NOTHING, "-")),
    ],
)
def test_the_terminals_columns_are_in_the_patterns_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], patterns: tuple[Pattern, ...], metrics: tuple[str, ...],
    told: tuple[str, ...],
) -> None:  # fmt: skip
    tell(campaign(tmp_path, patterns, metrics), tmp_path / "report.html")
    head, row = [line for line in capsys.readouterr().out.splitlines() if line][:2]
    *headings, figure = told
    places = [head.index(text) for text in headings]
    assert places == sorted(places)
    assert figure in row


def test_what_the_report_lacks_is_told_a_line_each_and_changes_no_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = campaign(tmp_path, (), SOME)
    found = Summary.model_validate_json((folder / SUMMARY).read_text())
    lines = ("plots not drawn: Latency: latency.py:3: KeyError: 'x'", "page not made: trials/[a]-1.html: no room")
    (folder / SUMMARY).write_text(found.model_copy(update={"failed": lines}).model_dump_json())
    assert tell(folder, tmp_path / "report.html") is Status.ALL_VALID
    assert tuple(capsys.readouterr().err.splitlines()) == lines
