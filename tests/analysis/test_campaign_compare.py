"""Is one campaign no worse than another: what is matched, how it is judged, what is written."""

from __future__ import annotations

import csv
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reduced_here import findings_of
from synthetic_campaign import Spec, write_campaign

from analysis.campaign_compare import Between, NothingToCompare, Tolerance, Verdict, between, match, write
from analysis.campaign_compare.judge import Judged, judge, overall, verdict
from analysis.campaign_compare.result import _row
from analysis.campaign_compare.wording import interval_text
from analysis.campaign_compare.write import _COLUMNS, _cells
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.metrics import METRICS
from analysis.plots.campaign_compare import MOST_CELLS, _ends
from records.campaign import read_campaign

NOISE = (1.0, 1.008, 0.994, 1.004, 0.996)
OTHER = (1.004, 0.996, 1.0, 1.008, 0.992)
STEADY = ("delivered_per_s", "published_per_s", "latency_p99_s", "loss_share")
COARSE = Tolerance(share_margin=0.02)  # trials lose 2 of some 190 messages, which bounds no difference to half a point
MANY = {"bodies": (100,), "guarantees": ("non-durable, non-persistent",), "trials": 5}


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Findings]:
    specs = {
        "before": Spec(**MANY, name="before", pace=NOISE, slow=OTHER),
        "equal": Spec(**MANY, name="equal", pace=OTHER, slow=NOISE),
        "slower": Spec(**MANY, name="slower", pace=tuple(0.8 * one for one in OTHER),
                       slow=tuple(1.2 * one for one in NOISE)),
        "noisy": Spec(**MANY, name="noisy", pace=(0.7, 1.3, 1.0, 0.8, 1.2), slow=(1.4, 0.8, 1.0, 0.7, 1.2)),
        "reseeded": Spec(**MANY, name="reseeded", pace=NOISE, slow=OTHER, first_seed=901),
        "half": Spec(**MANY, name="half", networks=("nistnet-80211",)),
        "fallen": Spec(**MANY, name="fallen", states={("nistnet-80211_100_ndnp", n): "invalid" for n in range(1, 6)}),
        "elsewhere": Spec(bodies=(5120,), guarantees=MANY["guarantees"], trials=1, name="elsewhere"),  # type: ignore[arg-type]
    }  # fmt: skip
    root = tmp_path_factory.mktemp("between")
    return {name: findings_of(write_campaign(root, spec)) for name, spec in specs.items()}


def rows(found: Between, metric: str) -> list[Verdict]:
    return [row.verdict for row in found.rows if row.metric == metric]


def test_an_equal_campaign_is_no_worse(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["equal"], metrics=STEADY, tolerance=COARSE)
    assert (found.verdict, found.status, len(found.rows)) == (Verdict.NO_WORSE, 0, 8)
    assert all(row.paired and row.n == (5, 5) for row in found.rows)
    row = found.rows[0]
    assert row.centre == pytest.approx(1.0, abs=0.01)
    assert row.low is not None
    assert row.high is not None
    assert row.bootstrap is not None
    assert row.limit < row.low < row.bootstrap[1] < row.high * 1.01
    assert found.warnings == ()


def test_a_fifth_less_is_worse(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["slower"], metrics=STEADY, tolerance=COARSE)
    assert (found.verdict, found.status) == (Verdict.WORSE, 1)
    assert rows(found, "delivered_per_s") == rows(found, "latency_p99_s") == [Verdict.WORSE] * 2
    assert rows(found, "loss_share") == [Verdict.NO_WORSE] * 2
    assert found.rows[0].centre == pytest.approx(0.8, abs=0.01)
    assert found.summary.startswith("B is worse than A: 8 comparisons in 2 cells")


def test_turned_round_a_fifth_less_is_better(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["slower"], campaigns["before"], metrics=STEADY, tolerance=COARSE)
    assert found.status == 0
    assert rows(found, "delivered_per_s") == rows(found, "latency_p99_s") == [Verdict.BETTER] * 2


def test_one_wide_interval_makes_no_other_row_small(campaigns: dict[str, Findings]) -> None:
    rows = between(campaigns["before"], campaigns["slower"], metrics=("delivered_per_s",)).rows
    low, high = _ends(rows, log=True)
    assert all(low < row.low < row.high < high for row in rows if row.low and row.high)
    low, high = _ends([rows[0].model_copy(update={"low": 0.001, "high": 1000.0}), *rows[1:]], log=True)
    assert (low, high) == (pytest.approx(1 / high), pytest.approx((2 / 0.8) ** 1.25, rel=0.01))


def test_a_wide_margin_tolerates_a_fifth(campaigns: dict[str, Findings]) -> None:
    wide = replace(COARSE, margin=0.3)
    assert between(campaigns["before"], campaigns["slower"], metrics=STEADY, tolerance=wide).status == 0


def test_noise_is_inconclusive_and_says_how_coarse_it_is(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["noisy"], metrics=("delivered_per_s",))
    assert (found.verdict, found.status) == (Verdict.INCONCLUSIVE, 3)
    assert all("% is too coarse for this margin" in row.words for row in found.rows)


def test_without_common_seeds_trials_are_not_paired_and_that_is_said(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["reseeded"], metrics=("latency_p99_s",))
    assert [(row.paired, row.n) for row in found.rows] == [(False, (5, 5))] * 2
    assert all(row.words.startswith("unpaired (seeds differ), 5 and 5 trials") for row in found.rows)


def test_a_cell_without_valid_trials_is_never_passed(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["fallen"], metrics=STEADY)
    assert found.status == 3
    fallen = [row for row in found.rows if row.cell.startswith("nistnet")]
    assert [row.verdict for row in fallen] == [Verdict.INCONCLUSIVE] * 4
    assert fallen[0].words == "no valid trial of B has it (invalid)"
    assert "B: 5 invalid of 10 trials; only valid ones count" in found.warnings


def test_what_only_one_of_them_has_is_named(campaigns: dict[str, Findings]) -> None:
    found = between(campaigns["before"], campaigns["half"], metrics=STEADY)
    assert {row.cell for row in found.rows} == {"nistnet-80211_100_ndnp"}
    assert any(line.startswith("only in A, not compared: wireline-100m") for line in found.warnings)


def test_campaigns_of_other_levels_are_refused(campaigns: dict[str, Findings]) -> None:
    with pytest.raises(NothingToCompare, match=r"no cell of before .*body \(100 B\).* against .*body \(5120 B\)"):
        between(campaigns["before"], campaigns["elsewhere"])


def with_settings(findings: Findings, settings: dict[str, object], profile: dict[str, object]) -> Findings:
    cells = tuple(
        cell.model_copy(update={"settings": {"settings": settings, "profile": profile}})
        for cell in findings.campaign.cells
    )
    return replace(findings, campaign=findings.campaign.model_copy(update={"cells": cells}))


def test_settings_that_no_level_tells_are_refused_unless_allowed(campaigns: dict[str, Findings]) -> None:
    air = {"name": "nistnet-80211", "delay": 0.1}
    one = with_settings(campaigns["before"], {"stack": "a", "seed": 1, "window": {"window_s": 8.0}}, air)
    other = {"stack": "b", "seed": 2, "window": {"window_s": 9.0}}
    two = with_settings(campaigns["equal"], other, air | {"delay": 0.2})
    with pytest.raises(NothingToCompare, match=r"stack: a in A, b in B.*--across stack") as refused:
        match(one, two)
    assert "seed" not in str(refused.value)
    with pytest.raises(NothingToCompare, match=r"window.window_s: 8.0 in A, 9.0 in B"):
        match(one, two, frozenset({"stack"}))
    found = match(one, two, frozenset({"stack", "window"}))
    assert len(found.cells) == 2
    assert "link profile nistnet-80211: delay 0.1 in A, 0.2 in B" in found.warnings
    assert "stack: a in A, b in B" in found.warnings


WORKLOAD = {"rate": 5.0, "body_bytes": 100, "selector": None}
PLAIN: dict[str, object] = {"network": "air", "faults": {}, "workload": WORKLOAD, "sysctls": {}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"knobs": {"iris": {"splits": 1}}}, "knobs.iris.splits: (not set) in A, 1 in B"),
        ({"topology": {"kind": "chain"}}, "topology.kind: (not set) in A, chain in B"),
        ({"nodes": [{"at_s": 1, "node": "sta1", "event": "kill"}]}, "nodes: (not set) in A, [{"),
        ({"faults": {"lose": "1%"}}, "faults.lose: (not set) in A, 1% in B"),
        ({"sysctls": {"net.ipv4.tcp_frto": "0"}}, "sysctls.net.ipv4.tcp_frto: (not set) in A, 0 in B"),
        ({"workload": WORKLOAD | {"selector": {"low": 0}}}, "workload.selector.low: (not set) in A, 0 in B"),
        ({"workload": WORKLOAD | {"bursts": {"messages": 5}}}, "workload.bursts.messages: (not set) in A, 5 in B"),
        ({"workload": WORKLOAD | {"rate": None}}, "workload.rate: 5.0 in A, (not set) in B"),
        ({"network": "sea"}, "network: air in A, sea in B"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_setting_that_only_one_of_them_has_is_a_difference(
    campaigns: dict[str, Findings], more: dict[str, object], said: str
) -> None:
    one, other = (with_settings(campaigns[name], settings, {}) for name, settings in
                  (("before", PLAIN), ("equal", PLAIN | more)))  # fmt: skip
    with pytest.raises(NothingToCompare) as refused:
        match(one, other)
    assert said in str(refused.value)
    name = said.partition(":")[0]
    with pytest.raises(NothingToCompare, match=name):
        match(other, one)
    assert match(one, other, frozenset({name})).cells


def test_what_is_left_out_is_what_was_not_chosen(campaigns: dict[str, Findings]) -> None:
    less = {"network": "air", "workload": {"rate": 5.0, "body_bytes": 100}, "repeat_spoiled": 0}
    one, other = (with_settings(campaigns[name], settings, {}) for name, settings in
                  (("before", PLAIN), ("equal", less)))  # fmt: skip
    assert not [line for line in match(one, other).warnings if "not set" in line]


def test_the_links_of_a_topology_are_compared_too(campaigns: dict[str, Findings]) -> None:
    def linked(name: str, delay: float | None) -> Findings:
        links = {"backbone": {"name": "fibre", "uplink": {"delay": delay}}}
        cells = tuple(
            cell.model_copy(update={"settings": {"settings": PLAIN, "profile": {"name": "air"}, "links": links}})
            for cell in campaigns[name].campaign.cells
        )
        return replace(campaigns[name], campaign=campaigns[name].campaign.model_copy(update={"cells": cells}))

    found = match(linked("before", 0.01), linked("equal", None)).warnings
    assert "link profile fibre (backbone): uplink.delay 0.01 in A, (not set) in B" in found


def cell(values: list[float], *, metric: str, first_seed: int = 1) -> CellFinding:
    trials = tuple(
        TrialFinding("c", number, first_seed + number, standing=Standing.VALID, metrics={metric: value})
        for number, value in enumerate(values)
    )
    return CellFinding(name="c", levels={"network": "air"}, trials=trials)


def judged(a: list[float], b: list[float], metric: str = "delivered_per_s") -> Judged:
    return judge(cell(a, metric=metric), cell(b, metric=metric), METRICS[metric], margin=0.05, share_margin=0.005)


def test_a_stack_that_delivers_nothing_any_more_is_worse() -> None:
    one = judged([10.0, 11.0, 9.5, 10.2], [0.0, 0.0, 0.0, 0.0])
    assert one.scale == "share of A's mean"
    assert verdict(one, one.p_worse) is Verdict.WORSE


@pytest.mark.parametrize(("a", "b"), [((0, 0, 0), (0, 0, 0)), ((1, 1), (1, 1)), ((1, 1), (2, 2)), ((0, 0), (1, 1))])
def test_a_number_that_did_not_spread_is_as_uncertain_as_its_share(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    def lost(values: tuple[int, ...]) -> CellFinding:
        found = [{"lost": float(one), "expected": 100.0, "loss_share": one / 100} for one in values]
        trials = [TrialFinding("c", n, n, standing=Standing.VALID, metrics=one) for n, one in enumerate(found)]
        return CellFinding(name="c", levels={"network": "air"}, trials=tuple(trials))

    for metric in ("lost", "loss_share"):
        one = judge(lost(a), lost(b), METRICS[metric], margin=0.05, share_margin=0.005)
        assert verdict(one, one.p_worse) is Verdict.INCONCLUSIVE, metric


def test_what_appears_where_nothing_was_is_told_in_terms_of_what_appears() -> None:
    one = judged([0.0] * 4, [4000.0] * 4)
    assert (one.scale, verdict(one, one.p_worse)) == ("share of B's mean", Verdict.BETTER)
    assert interval_text(one.scale, 1.0, 0.9, 1.1) == "+100 [+90.0, +110] % of B"
    assert judged([0.0] * 4, [0.0] * 4).scale == "share of A's mean"


def test_losses_are_subtracted_because_they_may_be_zero() -> None:
    none = judged([0.0] * 4, [0.0] * 4, "loss_share")
    some = judged([0.0] * 4, [0.02, 0.021, 0.019, 0.02], "loss_share")
    assert (none.scale, verdict(none, none.p_worse)) == ("points", Verdict.NO_WORSE)
    assert verdict(some, some.p_worse) is Verdict.WORSE


def test_one_trial_each_proves_nothing() -> None:
    one = judged([10.0], [5.0])
    assert verdict(one, one.p_worse) is Verdict.INCONCLUSIVE


def test_the_whole_is_as_bad_as_its_worst_row() -> None:
    assert overall([Verdict.NO_WORSE, Verdict.BETTER]) is Verdict.NO_WORSE
    assert overall([Verdict.NO_WORSE, Verdict.INCONCLUSIVE]) is Verdict.INCONCLUSIVE
    assert overall([Verdict.WORSE, Verdict.INCONCLUSIVE]) is Verdict.WORSE
    assert overall([]) is Verdict.INCONCLUSIVE


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(1, 1e3), st.floats(1, 1e3)), min_size=2, max_size=8), st.floats(0.01, 100))
def test_the_verdict_agrees_with_the_interval_and_not_with_the_unit(
    pairs: list[tuple[float, float]], factor: float
) -> None:
    one = judged([a for a, _ in pairs], [b for _, b in pairs])
    scaled = judged([a * factor for a, _ in pairs], [b * factor for _, b in pairs])
    assert scaled.p_worse == pytest.approx(one.p_worse, abs=1e-6)
    assert one.contrast is not None
    assert one.contrast.low is not None
    assert one.contrast.high is not None
    if min(abs(one.contrast.low - one.limit), abs(one.contrast.high - one.limit)) > 1e-6:
        assert (one.p_no_worse <= 0.025) == (one.contrast.low > one.limit)
        assert (one.p_worse <= 0.025) == (one.contrast.high < one.limit)


def test_equal_campaigns_are_rarely_called_worse() -> None:
    """Twenty rows of equal truth just at the limit, 120 times: 2.5 % of the gates may fail, and chance (1 in 1,000)."""
    from analysis.statistics import holm  # noqa: PLC0415

    generator, failed = np.random.default_rng(4), 0
    for _ in range(120):
        family = [
            judged(list(generator.normal(100, 2, 5)), list(generator.normal(95, 2, 5))) for _ in range(20)
        ]  # fmt: skip
        adjusted = holm([one.p_worse for one in family])
        failed += Verdict.WORSE in [verdict(one, p) for one, p in zip(family, adjusted, strict=True)]
    assert failed <= 9


class References(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href") and tag != "a"]


def test_page_plot_and_table_are_written_and_need_nothing_else(campaigns: dict[str, Findings], tmp_path: Path) -> None:
    found = between(campaigns["before"], campaigns["slower"])
    page = write(found, tmp_path / "out")
    assert page.name == "compare-before-slower.html"
    assert {one.name for one in page.parent.iterdir()} == {
        page.name, "compare.csv", "compare.json", "compare.png", "compare.svg",
    }  # fmt: skip
    references = References()
    references.feed(page.read_text())
    assert references.fetched
    assert all(one.startswith("data:") for one in references.fetched)
    assert found.summary in page.read_text()
    with (page.parent / "compare.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["verdict"] for row in table] == [str(row.verdict) for row in found.rows]
    assert Between.model_validate_json((page.parent / "compare.json").read_text()) == found
    before = page.read_bytes()
    assert write(found, page.parent).read_bytes() == before


@pytest.mark.usefixtures("blank_plots")
def test_more_cells_than_a_plot_holds_and_a_metric_of_later_ones_alone(
    campaigns: dict[str, Findings], tmp_path: Path
) -> None:
    found = between(campaigns["before"], campaigns["slower"])
    row = next(one for one in found.rows if one.centre is not None)
    many = [row.model_copy(update={"cell": f"c{number:02}"}) for number in range(MOST_CELLS)]
    later = row.model_copy(update={"cell": "later", "metric": "other", "label": "Of later ones"})
    without = row.model_copy(update={"cell": "none", "centre": None, "low": None, "high": None})
    page = write(found.model_copy(update={"rows": (*many, later, without)}), tmp_path).read_text()
    assert "Of later ones" in page
    assert "1 more cells are in the table" in page, "the one without a figure is no cell of a plot"


def test_a_bound_is_drawn_to_an_end_and_told() -> None:
    late = cell([1.0, 1.1, 1.2], metric="latency_p50_s")
    late = replace(late, trials=tuple(replace(one, at_least=frozenset({"latency_p50_s"})) for one in late.trials))
    early = cell([0.5, 0.6, 0.7], metric="latency_p50_s")
    one = judge(early, late, METRICS["latency_p50_s"], margin=0.05, share_margin=0.005)
    row = _row(one, 1.0)
    assert (row.bound, row.low, row.high) == ("≥", None, None)
    assert row.text.startswith("≥ ")
    told = dict(zip(_COLUMNS, _cells(row), strict=True))
    assert (told["a_lower_bound"], told["b_lower_bound"], told["bound"]) == ("no", "yes", "≥")


def test_a_comparison_with_nothing_to_draw_still_has_a_page(campaigns: dict[str, Findings], tmp_path: Path) -> None:
    bare = replace(campaigns["half"], cells=tuple(
        replace(one, trials=tuple(replace(trial, standing=Standing.INVALID) for trial in one.trials))
        for one in campaigns["half"].cells
    ))  # fmt: skip
    found = between(bare, bare, metrics=("delivered_per_s",))
    assert found.status == 3
    assert "Nothing to draw" in write(found, tmp_path).read_text()


@pytest.mark.usefixtures("blank_plots")
def test_names_from_files_cannot_become_markup(campaigns: dict[str, Findings], tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    found = between(campaigns["before"], campaigns["equal"], metrics=("delivered_per_s",))
    rows_ = tuple(row.model_copy(update={"title": hostile}) for row in found.rows)
    text = write(found.model_copy(update={"rows": rows_, "warnings": (hostile,)}), tmp_path).read_text()
    assert text.count("<script") == 1  # our own, for sorting


@pytest.mark.usefixtures("blank_plots")
def test_a_comparison_leaves_the_campaign_as_it_was(campaigns: dict[str, Findings]) -> None:
    folder = campaigns["equal"].folder
    write(between(campaigns["before"], campaigns["equal"]), folder / "compare" / "before")
    assert read_campaign(folder) == campaigns["equal"].campaign
    assert len([path for path in folder.glob("*/trial-*") if path.is_dir()]) == 10


def test_a_metric_that_the_cells_do_not_have_is_no_row(campaigns: dict[str, Findings]) -> None:
    assert between(campaigns["before"], campaigns["fallen"], metrics=("rate_of_a_program",)).rows == ()
