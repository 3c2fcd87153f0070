"""Health checks of a line: what it is late with, what ports refuse, frames above the MTU, and its processor time."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from good_evidence import GOOD, SECOND, line, resources
from invented_machine import readings

from emulation.line.lateness import Lateness
from emulation.line.request import Late
from experiments.scenario.settings import CheckSettings
from experiments.trial.checks.health import judge
from experiments.trial.observers.linesamples import LineSamples, LineSeen
from records.schema import resources_table
from records.verdict import Check, Health, HealthCheck, Limiter, Verdict

MS = 1_000_000


def judged(**changes: object) -> Verdict:
    return judge(replace(GOOD, **changes), CheckSettings(), {})  # type: ignore[arg-type]


def found(verdict: Verdict, check: Check) -> HealthCheck:
    return next(one for one in verdict.checks if one.check is check)


def failed(verdict: Verdict) -> list[Check]:
    return [one.check for one in verdict.checks if one.health is Health.FAILED]


@pytest.mark.parametrize(
    ("late", "fails"),
    [
        ({}, False),
        ({"late_ns": 900_000, "frames": 5000, "beats": 1500}, False),
        ({"late_ns": 1_100_000, "frames": 9, "beats": 2}, False),  # fewer than one in a thousand of each
        ({"late_ns": 1_100_000, "frames": 11}, True),
        ({"late_ns": 1_100_000, "beats": 5}, True),  # a stall that the many frames would hide
        ({"late_ns": 3_000_000_000, "beats": 5}, True),
    ],
)
def test_a_line_may_be_late_by_a_millisecond_and_more_once_in_a_thousand(late: dict[str, int], fails: bool) -> None:
    verdict = judged(line=line(**late))
    assert failed(verdict) == [Check.LINE_LATENESS] * fails
    check = found(verdict, Check.LINE_LATENESS)
    assert check.measured is not None
    assert (check.measured > 0.001) == fails
    assert check.limit == 0.001
    if fails:
        assert check.measured == pytest.approx(late["late_ns"] / 1e9, abs=1e-5)


SLOW_S = 0.0121  # a full frame at 1 Mbit/s


@pytest.mark.parametrize(
    ("late", "fails", "measured_s"),
    [
        ({"late_ns": 7 * MS, "frames": 11}, False, 49e-6),
        ({"late_ns": 7 * MS, "beats": 5}, False, 49e-6),
        ({"late_ns": 12 * MS, "frames": 100}, False, 49e-6),  # nearly one in a hundred, by nearly a frame
        ({"late_ns": 2 * MS, "frames": 102}, True, 2e-3),  # more than one in a hundred
        ({"late_ns": 2 * MS, "beats": 31}, True, 2e-3),
        ({"late_ns": 13 * MS, "frames": 11}, True, 13e-3),  # more than one in a thousand, by more than a frame
        ({"late_ns": 13 * MS, "beats": 5}, True, 13e-3),
        ({"late_ns": 13 * MS, "frames": 9, "beats": 2}, False, 49e-6),
    ],
)
def test_on_a_slow_link_one_in_a_hundred_may_be_late_by_less_than_a_full_frame(
    late: dict[str, int], fails: bool, measured_s: float
) -> None:
    verdict = judged(line=line(**late), full_frame_s=SLOW_S)
    assert failed(verdict) == [Check.LINE_LATENESS] * fails
    check = found(verdict, Check.LINE_LATENESS)
    assert check.measured == pytest.approx(measured_s, abs=1e-5)
    assert ("99.9 % keep within the 12.10 ms that a full frame takes" in check.detail) == (check.measured != 13e-3)


def test_a_tighter_limit_of_the_scenarios_own_holds_on_fast_links_as_before() -> None:
    tighter = CheckSettings(limits={Check.LINE_LATENESS: 0.0005})
    evidence = replace(GOOD, line=line(late_ns=600_000, frames=11), full_frame_s=0.000121)
    assert failed(judge(evidence, tighter, {})) == [Check.LINE_LATENESS]


@pytest.mark.parametrize(("late", "fails"), [(0, False), (1, False), (2, True)])
def test_one_late_frame_of_a_few_is_no_share(late: int, fails: bool) -> None:
    few = Lateness.of([(1, 98 + (2 - late)), (300, late)], 2_500_000 if late else 10_000)
    assert failed(judged(line=LineSeen(frames=few, reading=line().reading))) == [Check.LINE_LATENESS] * fails
    assert failed(judged(line=LineSeen(frames=line().frames, reading=few))) == [Check.LINE_LATENESS] * fails


def test_a_trial_in_which_no_frame_passed_is_judged_by_its_reading() -> None:
    nothing = Lateness.of()
    assert failed(judged(line=LineSeen(frames=nothing, reading=line().reading))) == []
    assert failed(judged(line=LineSeen(frames=nothing, reading=line(late_ns=2 * MS, beats=30).reading))) == [
        Check.LINE_LATENESS
    ]


def test_where_no_frame_of_the_load_crosses_the_line_its_lateness_is_not_judged() -> None:
    late = LineSeen(frames=Lateness.of(), reading=line(late_ns=7 * MS, beats=30).reading)
    check = found(judged(line=late, on_link=False), Check.LINE_LATENESS)
    assert (check.health, check.detail) == (Health.NOT_APPLICABLE, "no frame of the load crosses the line")
    assert found(judged(on_link=False), Check.LINE_LATENESS).health is Health.PASSED, "there is no line"


def test_it_tells_frames_and_reading_apart_in_words() -> None:
    detail = found(judged(line=line(late_ns=2_000_000, beats=30)), Check.LINE_LATENESS).detail
    assert "99.9 % of 10000 frames left the medium within 0.05 ms of their moment (the latest: 0.05 ms)" in detail
    assert "were read within 2.00 ms for 99.9 % of the time (at worst: 2.00 ms)" in detail


def test_a_link_that_the_kernel_makes_passes_and_says_why() -> None:
    check = found(judged(), Check.LINE_LATENESS)
    assert (check.health, check.detail) == (Health.PASSED, "no line: the kernel made this link")


def with_line(**counted: list[float]) -> pa.Table:
    """The usual samples, and those of a line, one each second, of one metric or more."""
    rows = [
        (second * SECOND, "line", metric, value)
        for metric, values in counted.items()
        for second, value in enumerate(values)
    ]
    return pa.concat_tables([resources(), resources_table(rows)])


def test_frames_that_a_port_refused_are_packets_that_no_list_names() -> None:
    refused = [3.0] * 6 + [5.0] * 7
    verdict = judged(resources=with_line(refused_frames=refused), line=line())
    assert failed(verdict) == [Check.SOFTIRQ_DROPS]
    check = found(verdict, Check.SOFTIRQ_DROPS)
    assert check.measured == 2
    assert "ports refused 2 frames of the line" in check.detail
    assert failed(judged(resources=with_line(refused_frames=[3.0] * 13), line=line())) == []
    assert failed(judged(resources=with_line(refused_frames=refused), line=line(), shared_machine=True)) == [
        Check.SOFTIRQ_DROPS
    ], "nobody but the trial uses its ports"


def test_a_frame_above_the_mtu_is_told_with_its_size_and_what_to_do() -> None:
    verdict = judged(
        resources=with_line(too_large_frames=[0.0] * 12 + [2.0], largest_bytes=[0.0] * 12 + [4014.0]), line=line()
    )
    assert failed(verdict) == [Check.OFFLOADS_OFF]
    check = found(verdict, Check.OFFLOADS_OFF)
    assert check.measured == 2
    assert "2 frames came to the line" in check.detail
    assert "larger than the 1514 bytes of a link's (one had at least 4014)" in check.detail
    assert "set every MTU to 1500" in check.detail


def test_a_line_that_uses_most_of_a_core_limits_as_the_machine_does() -> None:
    def busy(share: float) -> Verdict:
        return judged(resources=with_line(cpu_seconds=[share * second for second in range(13)]), line=line())

    assert busy(0.5).limited_by is Limiter.NOTHING
    assert busy(0.85).limited_by is Limiter.MACHINE
    (use,) = [one for one in busy(0.85).uses if one.of is Limiter.MACHINE]
    assert (use.share, use.unit) == (pytest.approx(0.85), "share of a core, the line's process")
    whole = judged(resources=with_line(cpu_seconds=[0.5 * second for second in range(13)]), host=readings(used=1.7))
    assert [one.unit for one in whole.uses if one.of is Limiter.MACHINE] == [
        "share of all cores, others' work included"
    ]


class Answering:
    """A link whose line answers with these, one after the other."""

    def __init__(self, *answers: Late | None) -> None:
        self.answers = list(answers)

    def late(self) -> Late | None:
        return self.answers.pop(0)


def answer(frames: list[tuple[int, int]], worst_ns: int, **more: int) -> Late:
    rest = {"refused": 0, "too_large": 0, "largest": 0} | more
    return Late(buckets=frames, worst_ns=worst_ns, beats=[(0, 200)], worst_beat_ns=3, wakes=7, **rest)


def test_a_line_is_asked_once_a_second_and_all_answers_add_up() -> None:
    samples = LineSamples()
    link = Answering(
        answer([(900, 9)], 8 * MS, refused=4),  # of before go
        answer([(1, 90), (100, 10)], 820_000, refused=4),
        answer([(2, 50)], 20_000, refused=5, too_large=1, largest=2014),
    )
    samples.begin(link)  # type: ignore[arg-type]
    for _ in range(4):
        assert len(link.answers) == 2, "not asked with every sample"
        samples.take(link)  # type: ignore[arg-type]
    assert len(link.answers) == 1
    samples.take(link)  # type: ignore[arg-type]
    samples.end(link)  # type: ignore[arg-type]
    values: dict[str, list[float]] = {}
    for _, subject, metric, value in samples.rows:
        assert subject == "line"
        values.setdefault(metric, []).append(value)
    assert values["released_frames"] == [0, 100, 150]
    assert values["refused_frames"] == [4, 4, 5]
    assert values["too_large_frames"] == [0, 0, 1]
    assert values["largest_bytes"] == [0, 0, 2014]
    assert values["lateness_max_s"] == [820e-6, 20e-6]
    assert values["release_max_s"] == [820e-6, 20e-6]
    assert values["lateness_p50_s"][0] < 10e-6
    assert 800e-6 < values["lateness_p99_s"][0] <= 820e-6
    assert samples.seen is not None
    assert (samples.seen.frames.total, samples.seen.reading.total) == (150, 400)
    assert samples.seen.frames.worst_ns == 820_000


def test_a_link_without_a_line_leaves_nothing() -> None:
    samples, link = LineSamples(), Answering(None)
    samples.begin(link)  # type: ignore[arg-type]
    for _ in range(9):
        samples.take(link)  # type: ignore[arg-type]
    samples.end(link)  # type: ignore[arg-type]
    assert (samples.rows, samples.seen) == ([], None)
