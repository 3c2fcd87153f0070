"""The answer at a glance: which rows it has, what they say, and how they are drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from analysis.answer import MOST_ROWS, Answer, Mark, answer
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.headlines import headlines, leading
from analysis.plots.answer import answer_plot, answer_sketch
from analysis.plots.answeraxis import drawn, ratio_text
from analysis.plots.cells import colours
from analysis.plots.sketch import Dot, Label, Line, Sketch
from analysis.statistics import Ratio
from analysis.units import brief_range
from records.campaign import Campaign

TRIALS = (1.0, 1.02, 0.98)  # trials differ by some percent, alike in all cells


def cell(levels: dict[str, str], rate: float, *, guarantee: str = "same", latency: float = 0.1) -> CellFinding:
    name = ",".join(f"{factor}={level}" for factor, level in levels.items())
    trials = tuple(
        TrialFinding(
            name, number, number, standing=Standing.VALID,
            metrics={"delivered_per_s": rate * one, "latency_p50_s": latency * one},
        )
        for number, one in enumerate(TRIALS)
    )  # fmt: skip
    return CellFinding(name=name, levels=levels, trials=trials, guarantee=guarantee)


def of_requests(levels: dict[str, str], rate: float, response: float) -> CellFinding:
    found = cell(levels, rate)
    trials = tuple(
        replace(one, metrics={**one.metrics, "published_per_s": rate, "response_p50_s": response})
        for one in found.trials
    )
    return replace(found, trials=trials)


def vanishing(stack: str, noticed: float) -> CellFinding:
    found = cell({"stack": stack}, 100)
    trials = tuple(
        replace(one, metrics={**one.metrics, "noticed_after_s": noticed * factor})
        for one, factor in zip(found.trials, TRIALS, strict=True)
    )
    return replace(found, trials=trials)


def of(cells: Sequence[CellFinding], *, compare: str | None = None) -> Findings:
    factors: dict[str, tuple[str, ...]] = {}
    for one in cells:
        for name, level in one.levels.items():
            factors[name] = tuple(dict.fromkeys((*factors.get(name, ()), level)))
    campaign = Campaign(
        scenario="s", digest="d" * 64, created="", seed=1, factors=factors, compare=compare, baseline=None, cells=(),
        order=(),
    )  # fmt: skip
    return Findings(campaign=campaign, folder=Path("c"), cells=tuple(cells))


def stacks(rates: Mapping[str, float], *, guarantees: Mapping[str, str] | None = None) -> Findings:
    given = guarantees or {}
    return of([cell({"stack": name}, rate, guarantee=given.get(name, "same")) for name, rate in rates.items()])


def said(found: Answer) -> list[tuple[str, str, str, str]]:
    """Title, level, and text and tone of the first figure of each row."""
    return [(row.title, row.level, row.figures[0].text, row.figures[0].tone) for row in found.rows]


def texts(sketch: Sketch) -> list[str]:
    return [shape.text for shape in sketch.shapes if isinstance(shape, Label)]


def test_each_level_is_held_against_the_baseline_in_every_group_of_equal_cells() -> None:
    cells = [
        cell({"stack": stack, "body": body}, rate)
        for (body, base), (stack, factor) in itertools.product(
            {"100": 50.0, "5000": 20.0}.items(), {"activemq": 1.0, "null": 3.0, "slow": 0.5}.items()
        )
        for rate in [base * factor]
    ]
    found = answer(of(cells, compare="stack"))
    assert (found.title, found.baseline, found.left) == ("Each stack against activemq", "activemq", 0)
    assert said(found) == [
        ("body 100", "null", "3.00 times as high", "better"),
        ("body 100", "slow", "2.00 times lower", "worse"),
        ("body 5000", "null", "3.00 times as high", "better"),
        ("body 5000", "slow", "2.00 times lower", "worse"),
    ]
    assert found.rows[0].figures[0].aside == "50.0 msg/s → 150 msg/s"
    assert found.rows[0].figures[1].text == "equal within 5 %"


def test_where_nothing_is_compared_a_lower_bound_is_drawn_to_the_end_of_its_column() -> None:
    late = cell({"network": "air"}, 10)
    late = replace(late, trials=tuple(replace(one, at_least=frozenset({"latency_p50_s"})) for one in late.trials))
    findings = of([late])
    marks = [figure.marks[0] for row in answer(findings).rows for figure in row.figures]
    assert (marks[1].low, marks[1].high) == (marks[1].value, math.inf)
    assert marks[0].high is not None
    assert marks[0].high < 20
    sketch = answer_sketch(answer(findings), colours(findings))
    heads = [shape for shape in sketch.shapes if isinstance(shape, Line) and shape.width == 1.2]
    assert len(heads) == 1
    assert "≥" in " ".join(texts(sketch))


def test_levels_that_all_cells_share_are_not_repeated_in_each_row() -> None:
    cells = [cell({"network": "air", "stack": stack}, rate) for stack, rate in (("a", 1.0), ("b", 2.0))]
    assert said(answer(of(cells, compare="stack"))) == [("", "b", "2.00 times as high", "better")]


def test_cells_of_unequal_guarantees_are_shown_and_not_judged() -> None:
    findings = stacks({"activemq": 50.0, "null": 150.0}, guarantees={"null": "at most once"})
    found = answer(findings)
    assert found.differ
    assert said(found) == [("", "null", "3.00 times as high", "unequal")]
    sketch = answer_sketch(found, colours(findings))
    assert {dot.fill for dot in sketch.shapes if isinstance(dot, Dot)} == {"#ffffff"}
    assert "hollow: guarantees differ, so neither is better" in " ".join(texts(sketch))
    assert not any("better →" in text for text in texts(sketch))
    assert leading(findings)[0].startswith("null against activemq (guarantees differ, neither is better): ")
    assert all("neither of them better, since guarantees differ (same; at most once)" in line
               for line in headlines(findings))  # fmt: skip


def test_an_unknown_guarantee_is_not_taken_for_another_one() -> None:
    findings = stacks({"activemq": 50.0, "null": 150.0}, guarantees={"null": ""})
    assert said(answer(findings))[0][3] == "better"


def test_too_many_pairs_of_cells_share_a_row_for_each_level_unaveraged() -> None:
    cells = [
        cell({"network": network, "case": f"c{case}"}, rate * case)
        for case, (network, rate) in itertools.product(range(1, MOST_ROWS + 2), (("wire", 10.0), ("air", 1.0)))
    ]
    found = answer(of(cells))
    ((title, level, text, tone),) = said(found)
    assert (title, level, text, tone) == ("", "air", "10.0 times lower", "worse")
    assert len(found.rows[0].figures[0].marks) == MOST_ROWS + 1
    sketch = answer_sketch(found, colours(of(cells)))
    assert sum(isinstance(shape, Dot) for shape in sketch.shapes) == 2 * (MOST_ROWS + 1)


def test_rows_that_do_not_fit_are_counted() -> None:
    found = answer(stacks({f"s{number:02}": 10.0 + number for number in range(MOST_ROWS + 4)}))
    assert (len(found.rows), found.left) == (MOST_ROWS, 3)
    assert "and 3 more in the tables" in texts(answer_sketch(found, dict.fromkeys(_cells(found), "#000000")))


def _cells(found: Answer) -> list[str]:
    return [row.cell for row in found.rows]


def test_where_nothing_is_compared_the_means_are_shown() -> None:
    cells = [cell({"stack": stack, "body": body}, 10.0) for stack, body in itertools.product("ab", ("1", "2"))]
    found = answer(of(cells))
    assert found.baseline == ""
    assert [row.title for row in found.rows] == ["a · body 1", "a · body 2", "b · body 1", "b · body 2"]
    assert found.rows[0].figures[0].text.startswith("10.0 ± ")


def test_the_plot_is_left_out_when_no_trial_is_valid() -> None:
    one = cell({"stack": "a"}, 1.0)
    lost = replace(one, trials=tuple(replace(trial, standing=Standing.INVALID) for trial in one.trials))
    assert answer_plot(of([lost])) is None
    assert answer_plot(of([one])) is not None
    compared = stacks({"a": 50.0, "b": 25.0})
    none = [
        replace(each, trials=tuple(replace(trial, standing=Standing.INVALID) for trial in each.trials))
        for each in compared.cells
    ]
    assert answer_plot(replace(compared, cells=tuple(none))) is None
    assert answer_plot(compared) is not None


def test_a_missing_ratio_is_told_in_its_row() -> None:
    findings = stacks({"a": 50.0, "b": 0.0})
    ((_, _, text, tone),) = said(answer(findings))
    assert (text, tone) == ("3 of 3 pairs hold a zero", "worse")
    assert text in texts(answer_sketch(answer(findings), colours(findings)))


def test_the_first_screen_says_the_primary_metrics_in_one_or_two_sentences() -> None:
    assert leading(stacks({"a": 50.0, "b": 25.0})) == (
        "b against a: subscriber throughput 2.00 times lower, median latency equal within 5 %.",
    )
    many = leading(stacks({"a": 50.0, "b": 25.0, "c": 51.0, "d": 500.0}))
    assert many == (
        "Subscriber throughput against a: 2.00 times lower for b, 2.00 % higher for c, 10.0 times as high for d.",
        "Median latency against a: equal within 5 % for b, c, d.",
    )
    more = leading(stacks({"a": 50.0, "b": 25.0, "c": 51.0, "d": 500.0, "e": 52.0}))
    told = ": 2.00 times lower for b, 10.0 times as high for d, 4.00 % higher for e, the 1 other less."
    assert more[0].endswith(told)
    assert leading(stacks({"a": 1.0})) == ()


def test_a_level_that_is_a_number_is_said_with_its_factor() -> None:
    findings = of([cell({"qos": level}, rate) for level, rate in (("0", 50.0), ("1", 25.0), ("2", 500.0))])
    first, _ = leading(findings)
    assert first == "Subscriber throughput against qos 0: 2.00 times lower for qos 1, 10.0 times as high for qos 2."
    assert headlines(findings)[0].startswith("qos 1 against qos 0: ")
    found = answer(findings)
    assert (found.title, found.baseline) == ("Each qos against qos 0", "qos 0")
    assert [row.level for row in found.rows] == ["qos 1", "qos 2"]
    assert next(iter(colours(findings))) == "qos=0"
    assert colours(findings)["qos=0"] == colours(stacks({"a": 1.0, "b": 2.0}))["stack=a"], "the baseline's colour"


def ratio(value: float, *, certain: bool = True) -> Ratio:
    spread = 1.001 if certain else 10.0
    return Ratio(n=3, ratio=value, low=value / spread, high=value * spread)


def test_several_ratios_in_a_few_words() -> None:
    assert brief_range([ratio(0.1), ratio(0.02), ratio(0.05)]) == "10.0 to 50.0 times lower"
    assert brief_range([ratio(3.0), ratio(2.0)]) == "2.00 to 3.00 times as high"
    assert brief_range([ratio(0.5), ratio(1.3)]) == "2.00 times lower to 30.0 % higher"
    assert brief_range([ratio(0.5), ratio(1.1, certain=False)]) == "up to 2.00 times lower"
    assert brief_range([ratio(1.1, certain=False), ratio(0.9, certain=False)]) == "no difference shown"
    assert brief_range([ratio(1.0001), ratio(1.0)]) == "equal within 5 %"
    assert brief_range([ratio(1.002), ratio(1.08)]) == "up to 8.00 % higher"
    assert brief_range([Ratio(n=1, ratio=1.002), Ratio(n=1, ratio=0.5)]) == "up to 2.00 times lower (1 pair each)"
    nothing = Ratio(n=0, ratio=None, undefined="why")
    assert brief_range([nothing, replace(nothing, undefined="why not"), nothing]) == "no ratio"
    assert brief_range([ratio(3.0), nothing, ratio(2.0)]) == "2.00 to 3.00 times as high"
    single = [Ratio(n=1, ratio=value) for value in (1.2, 1.12)]
    assert brief_range(single) == "12.0 to 20.0 % higher (1 pair each)"


def test_levels_without_a_ratio_are_named_however_many_differ_more() -> None:
    (first, _) = leading(stacks({"a": 50.0, "b": 25.0, "c": 10.0, "d": 500.0, "e": 5.0, "f": 0.0}))
    assert first.endswith(
        ": 10.0 times as high for d, 10.0 times lower for e, 3 of 3 pairs hold a zero for f, the 2 others less."
    )


def test_one_that_has_a_ratio_is_named_beside_however_many_have_none() -> None:
    (first, _) = leading(stacks({"a": 50.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 5.0}))
    assert "10.0 times lower for e" in first


def test_an_interval_that_holds_equal_is_drawn_to_it() -> None:
    assert drawn(Mark(value=6.0, low=0.2, high=180.0, tone="even")) == (1.0, 24.0)
    assert drawn(Mark(value=6.0, low=5.0, high=180.0, tone="even")) == (5.0, 24.0)
    assert drawn(Mark(value=0.1, low=0.001, high=3.0, tone="even")) == (0.025, 1.0)


def test_a_name_that_has_no_room_says_that_it_goes_on() -> None:
    names = ["activemq-openwire · body 10000 B · nonpersistent", "word · " * 12 + "end"]
    for name in names:
        findings = of([cell({"stack": stack, "body": body}, 10.0) for body in "ab" for stack in ("other", name)])
        shown = "".join(texts(answer_sketch(answer(findings), colours(findings)))).replace("\u00a0", " ")
        assert ("nonpersistent" in shown, "…" in shown) == (name == names[0], name == names[1])


def test_long_names_of_many_rows_stay_apart() -> None:
    findings = of([
        cell({"network": "nistnet-80211", "body_bytes": str(body), "stack": stack}, 10.0)
        for body in (100, 1000, 10000, 100000) for stack in ("activemq", "mosquitto")
    ])  # fmt: skip
    found = answer(findings)
    assert len(found.rows) > 6
    shown = "".join(texts(answer_sketch(found, colours(findings)))).replace("\u00a0", "")
    for row in found.rows:
        assert (row.level or row.title).replace(" ", "").replace("\u00a0", "") in shown.replace(" ", "")


def test_ticks_of_ratios_say_how_far_from_equal_they_are() -> None:
    assert [ratio_text(value) for value in (0.001, 0.1, 0.5, 0.9, 1.0, 1.05, 2.0, 1e4)] == [
        "÷1000", "÷10", "÷2", "−10 %", "equal", "+5 %", "×2", "×10k"
    ]  # fmt: skip


def test_of_requests_the_replies_count() -> None:
    quick, slow = (of_requests({"stack": name}, rate, 0.01 / rate) for name, rate in (("a", 2.0), ("b", 1.0)))
    found = answer(of([quick, slow]))
    assert [metric.name for metric in found.metrics] == ["published_per_s", "response_p50_s"]
    assert "median response time 2" in leading(of([quick, slow]))[0]
    mixed = answer(of([quick, cell({"stack": "b"}, 1.0)]))
    assert [metric.name for metric in mixed.metrics] == ["delivered_per_s", "latency_p50_s"]


def test_what_a_module_calls_its_campaign_s_subject_leads_the_answer_and_has_a_headline() -> None:
    findings = of([vanishing("mosquitto", 5), vanishing("zeromq", 2)])
    assert [metric.name for metric in answer(findings).metrics] == ["noticed_after_s", "delivered_per_s"]
    assert headlines(findings)[0].startswith(
        "zeromq against mosquitto: vanished peer noticed after is 2.50 times lower"
    )
    assert "vanished peer noticed after 2.50 times lower" in leading(findings)[0]
