"""Labels fit the pattern of the workload, and are those of publish/subscribe where it is publish/subscribe."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.details import Details
from analysis.findings import CellFinding, Standing, TrialFinding
from analysis.headlines import headlines, leading, trends_line
from analysis.metrics import METRICS, worded
from analysis.plots.cells import cells_plot
from analysis.plots.distribution import distribution
from analysis.plots.tracks import tracks
from analysis.stationarity import WindowTrend
from analysis.statistics import estimate
from analysis.units import interval, quantity
from analysis.worded import metrics_for, words_for
from records.comparing import Compared
from records.words import GENERAL, Words
from records.workload import Pattern, words_of

EVERY = [*Pattern]
SOME = {"delivered_per_s": 50.0, "published_per_s": 50.0, "latency_p50_s": 0.02, "loss_share": 0.1}
ASKED = SOME | {"response_p50_s": 0.05}


def cell(network: str, pattern: Pattern | None, metrics: dict[str, float], factor: float = 1.0) -> CellFinding:
    trials = tuple(
        TrialFinding(
            network, seed, seed, standing=Standing.VALID,
            metrics={name: value * factor * (1 + seed / 100) for name, value in metrics.items()},
        )
        for seed in range(3)
    )  # fmt: skip
    return CellFinding(name=network, levels={"network": network}, trials=trials, pattern=pattern)


def campaign(pattern: Pattern | None, metrics: dict[str, float]) -> Any:
    cells = cell("wire", pattern, metrics), cell("air", pattern, metrics, 0.5)
    factors = {"network": ("wire", "air")}
    trials = tuple(trial for one in cells for trial in one.trials)
    return SimpleNamespace(
        campaign=SimpleNamespace(compared=Compared("network", "wire"), factors=factors), cells=cells, trials=trials
    )


@pytest.mark.parametrize(
    ("pattern", "received", "sent", "answer"),
    [
        (Pattern.PUBSUB, "Subscriber throughput", "Publisher throughput", "Mean publish latency"),
        (Pattern.QUEUE, "Receiver throughput", "Sender throughput", "Mean send latency"),
        (Pattern.REQUEST_REPLY, "Rate of served requests", "Rate of answered requests", "Mean response time"),
        (Pattern.BROADCAST, "Member throughput", "Sender throughput", "Mean send latency"),
        (Pattern.STREAM, "Received flow throughput", "Sent flow throughput", "Mean send latency"),
    ],
)
def test_throughputs_and_answers_are_named_after_a_patterns_clients(
    pattern: Pattern, received: str, sent: str, answer: str
) -> None:
    known = worded(words_of([pattern]))
    names = ("delivered_per_s", "published_per_s", "publish_latency_mean_s")
    assert [known[name].label for name in names] == [received, sent, answer]


def test_names_units_and_better_sides_are_the_same_for_all_patterns() -> None:
    for pattern in EVERY:
        known = worded(words_of([pattern]))
        assert [(name, one.unit, one.better) for name, one in known.items()] == [
            (name, one.unit, one.better) for name, one in METRICS.items()
        ]


@pytest.mark.parametrize("pattern", EVERY)
def test_no_word_is_left_open_and_only_one_pattern_has_subscribers(pattern: Pattern) -> None:
    texts = [text for one in worded(words_of([pattern])).values() for text in (one.label, one.about)]
    assert not [text for text in texts if "{" in text or "}" in text]
    named = [text for text in texts if "ublish" in text or "ubscri" in text]
    assert bool(named) == (pattern is Pattern.PUBSUB)


def test_a_word_that_is_none_stays_as_it_stands() -> None:
    assert Words(sender="peer").fill("{Senders} and {x} of {sender}") == "Peers and {x} of peer"


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        ([], words_of([Pattern.PUBSUB])),
        ([Pattern.QUEUE], GENERAL),
        ([Pattern.PUBSUB, Pattern.REQUEST_REPLY], GENERAL),
        ([Pattern.PUBSUB, Pattern.PUBSUB], words_of([Pattern.PUBSUB])),
    ],
)
def test_several_patterns_have_words_that_fit_them_all_and_none_has_the_defaults(
    patterns: list[Pattern], words: Words
) -> None:
    assert words_of(patterns) == words


def test_a_cell_without_a_manifest_does_not_change_the_words_of_the_others() -> None:
    cells = [cell("wire", Pattern.REQUEST_REPLY, SOME), cell("air", None, SOME)]
    assert words_for(cells).receiver == "service"
    assert metrics_for(cells)["loss_share"].label == "Requests lost"


@pytest.mark.parametrize(
    ("pattern", "metrics", "begins"),
    [
        (Pattern.PUBSUB, SOME, ("subscriber throughput is", "publisher throughput is", "median latency is")),
        (Pattern.QUEUE, SOME, ("receiver throughput is", "sender throughput is", "median latency is")),
        (Pattern.REQUEST_REPLY, ASKED, ("rate of served requests is", "rate of answered requests is",
                                        "median request latency is", "median response time is")),
    ],
)  # fmt: skip
def test_sentences_are_in_the_patterns_words(
    pattern: Pattern, metrics: dict[str, float], begins: Iterable[str]
) -> None:
    *said, lost = headlines(campaign(pattern, metrics))
    assert lost.startswith(f"air against wire: {words_of([pattern]).message}s lost: ")
    for text, begin in zip(said, begins, strict=True):
        assert text.startswith(f"air against wire: {begin}")


def test_the_first_sentence_of_requests_is_of_answers() -> None:
    (said,) = leading(campaign(Pattern.REQUEST_REPLY, ASKED))
    assert said.startswith("air against wire: rate of answered requests 2.00 times lower, median response time 2.00")


def test_plots_are_in_the_patterns_words() -> None:
    plot = cells_plot(campaign(Pattern.REQUEST_REPLY, ASKED), "published_per_s")
    assert plot is not None
    assert plot.title == "Rate of answered requests"
    assert b"requests per second" in plot.svg
    seconds = {name: [(0.5, 3.0), (1.5, 4.0)] for name in ("published_per_s", "delivered_per_s")}
    one = TrialFinding("air", 1, 1, details=Details(seconds=seconds, ecdf=[(0.01, 0.5), (0.02, 1.0)]))
    words = words_of([Pattern.REQUEST_REPLY])
    (track,) = tracks([one], colour="#000000", words=words, dotted=False)
    assert track.title == "requests per second"
    assert [curve.name for curve in track.curves] == ["answered", "served"]
    assert distribution(one, colour="#000000", words=words).title == "Distribution of request latency"


def test_rates_of_requests_are_in_requests_per_second() -> None:
    known = worded(words_of([Pattern.REQUEST_REPLY]))
    assert quantity(known["published_per_s"], 82.6) == "82.6 requests/s"
    assert quantity(known["response_p50_s"], 0.02) == "20.0 ms"
    assert quantity(METRICS["published_per_s"], 82.6) == "82.6 msg/s"


def test_numbers_that_are_very_large_or_none_are_told_all_the_same() -> None:
    count = next(one for one in METRICS.values() if one.unit == "count")
    assert quantity(count, math.inf) == "∞"
    told = interval(count, estimate([1_340_000.0, 1_342_000.0, 1_338_000.0]))
    assert told.replace("\u202f", "") == "1.34e+06 ± 4968"


def test_a_trend_is_told_in_the_patterns_words() -> None:
    found = campaign(Pattern.REQUEST_REPLY, ASKED)
    trend = WindowTrend(series="published_per_s", change=0.1, p=1e-6, p_adjusted=1e-6)
    found.trials[0].trend_tests = [trend]
    assert trend.text(words_for(found.cells)).startswith("rate of answered requests rose by 10 %")
    assert "rate of answered requests still rose or fell" in trends_line(found)
    assert "ramp" not in trends_line(found)
    found.cells = tuple(replace(cell, ramped=True) for cell in found.cells)
    assert trends_line(found).endswith("In 1 of them the load's rate is to change: the scenario has a ramp.")
