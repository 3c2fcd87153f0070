"""100 messages per second in and 50 out: what is said of it does not depend on how long one looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from overloaded import NETWORK, SECOND, Times, found, ledger, write_campaign

from analysis.backlog import GROWTH, backlog_metrics, backlog_trend, growing_line, growing_text, grows
from analysis.campaign_compare.judge import judge as judge_between
from analysis.campaign_compare.judge import verdict as between_verdict
from analysis.campaign_compare.record import Verdict as Outcome
from analysis.claims import Verdict, judge
from analysis.claims.evidence import measured
from analysis.claims.vocabulary import Claim
from analysis.findings import CellFinding, Findings
from analysis.metrics import METRICS
from analysis.papers.doubts import doubts
from analysis.report.summary import summarise
from experiments.campaign.stopping import precisions
from records.audience import Audience
from records.campaign import read_campaign
from records.stopping import End, Rule
from records.waits import read_sent

SLOW, LARGE, LIGHT = "slow", "large", "light"
CELLS = {SLOW: (100.0, 50.0), LARGE: (100.0, 50.0), LIGHT: (40.0, 50.0)}
RULE = Rule(least=3, most=3, half_width=0.05, metrics=("delivered_per_s", "latency_mean_s"))
Campaigns = Callable[..., Findings]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    root = tmp_path_factory.mktemp("overloaded")

    @cache
    def made(window_s: int, drain_s: int) -> Findings:
        times = Times(window_s=window_s, drain_s=drain_s)
        return found(write_campaign(root / f"{window_s}-{drain_s}", CELLS, dict.fromkeys(CELLS, times), rule=RULE))

    return lambda window_s, drain_s=10: made(window_s, drain_s)


def mean(findings: Findings, metric: str, cell: int = 0) -> float:
    estimate = findings.cells[cell].estimate(metric)
    assert estimate is not None
    return estimate.mean


def claim(**test: Any) -> Claim:
    whole = {"metric": "latency_mean_s", "network": "air", **test}
    return Claim.model_validate({"id": "one", "section": "1", "finding": "what is found here", "tests": [whole]})


CLAIMS = {
    "the overload waits fifty times as long": claim(test="ratio", pairs=[[SLOW, LIGHT]], above=50),
    "the light load waits far less": claim(test="ratio", pairs=[[LIGHT, SLOW]], below=0.1),
    "the overload is below 10 s": claim(test="between", cases=[SLOW], below=10),
    "the light load is below 10 s": claim(test="between", cases=[LIGHT], below=10),
    "latency grows with size": claim(test="ratio", pairs=[[LARGE, SLOW]], above=1.1),
    "half of it arrives": claim(test="between", metric="delivered_per_s", cases=[SLOW, LARGE], above=49, below=52),
}


def verdicts(findings: Findings) -> dict[str, Verdict]:
    evidence = measured([findings], {"air": NETWORK})
    return {name: judge(one, evidence).verdict for name, one in CLAIMS.items()}


@pytest.mark.parametrize("drain_s", [10, 120])  # one that leaves messages behind, and one in which all arrive
def test_a_fixed_overload_gives_the_same_verdicts_in_short_and_in_long_windows(
    campaign: Campaigns, drain_s: int
) -> None:
    short, long = (verdicts(campaign(window_s, drain_s)) for window_s in (20, 45))
    assert short == long
    sized = Verdict.FAILS if drain_s == 120 else Verdict.INCONCLUSIVE  # bounds on both sides have no direction
    assert list(short.values()) == [
        Verdict.HOLDS, Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS, sized, Verdict.HOLDS,
    ]  # fmt: skip


def test_the_older_latency_depends_on_the_window_s_length(campaign: Campaigns) -> None:
    """What arrives in a window was sent in its first half: 7.5, 13.75 and 25 s."""
    means = [mean(campaign(window_s), "arrived_latency_mean_s") for window_s in (20, 45, 90)]
    assert means == [pytest.approx(one, rel=0.02) for one in (7.5, 13.75, 25.0)]


def test_messages_that_never_came_make_a_latency_a_lower_bound(campaign: Campaigns) -> None:
    trial = campaign(20).cells[0].trials[0]
    # Sent at t, a message comes at 2 t / 1.005; 35 s after go nobody looks any more.
    shares = (35 * 1.005 / 2 - 5) / 20, (25 - 35 * 1.005 / 2) / 20
    came, late = (5 + 17.59) / 2 * (2 / 1.005 - 1), 35 - (17.59 + 25) / 2
    assert trial.metrics["latency_mean_s"] == pytest.approx(shares[0] * came + shares[1] * late, rel=0.01)
    assert {"latency_mean_s", "latency_p95_s", "latency_p99_s", "p99.9"} <= trial.at_least
    assert trial.ecdf[-1][1] == pytest.approx(shares[0], abs=0.01)
    light = campaign(20).cells[2].trials[0]
    assert not light.at_least
    assert light.ecdf[-1][1] == 1
    assert campaign(20, 120).cells[0].trials[0].at_least == set()


def test_throughput_stays_a_rate_of_the_window(campaign: Campaigns) -> None:
    for findings in (campaign(20), campaign(20, 120), campaign(45)):
        assert mean(findings, "delivered_per_s") == pytest.approx(50.5, rel=0.01)
        assert mean(findings, "published_per_s") == pytest.approx(100, rel=0.01)


def test_a_bound_has_no_interval_and_never_ends_a_repetition(campaign: Campaigns) -> None:
    findings = campaign(20)
    slow, _, light = findings.cells
    bounded, known = slow.estimate("latency_mean_s"), light.estimate("latency_mean_s")
    assert bounded is not None
    assert known is not None
    assert (bounded.at_least, bounded.low, bounded.high, bounded.n) == (True, None, None, 3)
    assert known.low is not None
    stand = precisions(findings.folder, read_campaign(findings.folder))
    for cell in findings.cells:
        assert stand[cell.name] == cell.precision, "whoever runs trials and whoever reports them agree"
    ends = [[one.end for one in stand[cell.name].metrics] for cell in (slow, light)]
    assert ends == [[End.PRECISE, End.INCONCLUSIVE], [End.PRECISE, End.PRECISE]]
    assert stand[SLOW].metrics[1].n == 0
    told = {cell.name: cell for cell in summarise(findings).cells}
    assert told[SLOW].metrics["latency_mean_s"].text.startswith("≥ 12.")
    assert told[SLOW].metrics["latency_mean_s"].at_least


def test_what_is_missed_is_lost_and_no_backlog() -> None:
    """The subscriber is away for 5 of 20 s; all that comes before and after comes at once."""
    times = Times()
    tables = ledger(40.0, 400.0, times.window())
    came = tables["delivered"]
    t_recv = came.column("t_recv_ns").to_numpy() / SECOND
    there = pa.array((t_recv < 12) | (t_recv >= 17))
    sent = read_sent(tables["published"], came.filter(there), [Audience(consumers=(0,), topic=0)])
    assert np.count_nonzero(sent.overtaken) == 200
    assert backlog_metrics(sent, times.window()) == {GROWTH: pytest.approx(0, abs=0.01)}
    assert not any(one.p < 0.05 and one.change > 0 for one in backlog_trend(sent, times.window()).values())
    silent = read_sent(tables["published"], came.filter(pa.array(t_recv < 12)), [Audience(consumers=(0,), topic=0)])
    assert backlog_metrics(silent, times.window())[GROWTH] == pytest.approx(13 / 20, abs=0.01)  # nothing overtook it


def test_cells_whose_backlog_grows_are_marked(campaign: Campaigns) -> None:
    for findings in (campaign(20), campaign(45), campaign(45, 120)):
        assert [grows(cell) for cell in findings.cells] == [True, True, False]
        assert mean(findings, "backlog_growth_share") == pytest.approx(0.495, abs=0.01)
        text = growing_text(findings.cells[0])
        assert text.startswith("backlog grows by 4")
        assert text in doubts(findings.cells[0], "latency_mean_s")
        assert text not in doubts(findings.cells[0], "delivered_per_s")
        assert growing_line(findings).startswith("In 2 of 3 cells more is sent than arrives")
        assert growing_line(findings) in summarise(findings).trends
        many = growing_line(replace(findings, cells=findings.cells * 3))
        assert many.startswith("In 6 of 9 cells")
        assert many.endswith(" and 3 more).")


def test_rows_of_different_windows_are_not_compared(tmp_path: Path) -> None:
    """By the latency of arrivals the large messages, looked at for longer, would take 1.8 times as long."""
    times = {SLOW: Times(drain_s=120), LARGE: Times(window_s=45, drain_s=120), LIGHT: Times()}
    findings = found(write_campaign(tmp_path / "unequal", CELLS, times))
    evidence = measured([findings], {"air": NETWORK})
    (only,) = judge(CLAIMS["latency grows with size"], evidence).outcomes
    assert (only.alike, only.centre) == (False, pytest.approx(27.5 / 15, rel=0.03))
    assert "the windows differ (5 + 45 s, 5 + 20 s)" in only.why


def test_two_campaigns_are_held_against_each_other_by_what_the_bounds_allow(campaign: Campaigns) -> None:
    slow, _, light = campaign(20).cells

    def judged(a: CellFinding, b: CellFinding) -> tuple[Outcome, str]:
        one = judge_between(a, b, METRICS["latency_mean_s"], margin=0.05, share_margin=0.005)
        return between_verdict(one, one.p_worse), one.bound

    assert judged(light, slow) == (Outcome.WORSE, "≥")
    assert judged(slow, light) == (Outcome.BETTER, "≤")
    assert judged(slow, slow)[0] is Outcome.INCONCLUSIVE
