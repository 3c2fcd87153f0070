"""Why trials do not count and how often they were run again: short, with every word of it behind."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reduced_here import findings_of
from report_read import AIR, WIRED
from synthetic_campaign import Spec, write_campaign

from analysis.extent import Extent
from analysis.findings import Findings, Standing, TrialFinding
from analysis.report.build import write
from analysis.report.why import Line, run_again, why
from records.verdict import Check, Health, HealthCheck


def reason(check: Check, health: Health, figures: tuple[float, float], unit: str, detail: str) -> str:
    """As a verdict says it.  figures: what was measured, and the limit."""
    measured, limit = figures
    return HealthCheck(check=check, health=health, measured=measured, limit=limit, unit=unit, detail=detail).reason


def steal(share: float, health: Health = Health.FAILED) -> str:
    detail = f"the hypervisor gave {share:.1%} of the processors' time to others"
    return reason(Check.STEAL, health, (share, 0.05), "share of all cores", detail)


def lateness(seconds: float) -> str:
    return reason(
        Check.LINE_LATENESS, Health.FAILED, (seconds, 0.001), "s, at the 99.9th percentile", "(at worst: 9 ms)"
    )


def busy(share: float) -> str:
    detail = "the campaign's trials and the kernel used 2 cores (waived: it goes as fast as it can)"
    return reason(
        Check.MACHINE_USE, Health.WAIVED, (share, 0.8), "share of all cores, foreign load not included", detail
    )


def spoiled(*reasons: str, run: int = 1) -> str:
    return (
        f"the machine alone can have spoiled it, so it is run again ({'; '.join(reasons)}); "
        f"the earlier run is in .set-aside-trial-001-{run}"
    )


def trial(*reasons: str, number: int = 1, standing: Standing = Standing.INVALID, damaged: bool = False) -> TrialFinding:
    return TrialFinding("only", number, 1, standing=standing, reasons=list(reasons), damaged=damaged)


def plain(lines: tuple[Line, ...]) -> list[str]:
    return [line.short.replace("\u00a0", " ") for line in lines]


def test_a_failed_check_is_told_apart_from_why_the_trial_was_run_again() -> None:
    notes = (spoiled(busy(0.9), steal(0.08)), spoiled(steal(0.2), lateness(0.0048), run=2), spoiled(steal(0.12), run=3))
    told = why([trial(*notes, busy(0.84), steal(0.205))])
    assert plain(told.bars) == ["Trial 1: steal failed: 20.5 % of all cores, limit 5 %"]
    assert plain(told.besides) == [
        "Trial 1: run again 3 times: steal 8 to 20 %, line_lateness 4.80 ms",
        "Trial 1: machine_use waived: 84 % of all cores, limit 80 %",
    ]
    assert [line.full for line in told.lines] == [(steal(0.205),), notes, (busy(0.84),)]


IN = "; the earlier run is in .set-aside-trial-001-1"
RATE = reason(Check.LINK_RATE, Health.FAILED, (1, 0), "checks outside tolerance", "uplink rate; asked 2")
ALONE = "so it is run again alone"
NOTES = {
    f"crowded beside 2 other trials, so it is run again beside fewer (93% was in use, 80% are allowed){IN}": (
        "crowded beside 2 other trials"
    ),
    f"it failed beside 2 other trials, {ALONE} (no server)": "it failed beside 2 other trials",
    f"it was invalid ({steal(0.2)}; {lateness(0.002)}), and lab resume --retry invalid ran it again{IN}": (
        "steal 20 %, line_lateness 2 ms"
    ),
    f"the machine stalled{IN}": "the machine stalled",
    f"spoiled beside 1 other trial, {ALONE} (link_delay unknown: no probe came back){IN}": "link_delay",
    spoiled(RATE): "link_rate",
}


@pytest.mark.parametrize(("note", "said"), NOTES.items())
def test_what_the_runner_notes_is_one_short_line_with_the_whole_note_behind(note: str, said: str) -> None:
    line = run_again([note, steal(0.1)])
    assert line is not None
    assert plain((line,)) == [f"Run again once: {said}"]
    assert line.full == (note,)


def test_a_trial_that_ran_once_was_not_run_again() -> None:
    assert run_again([steal(0.1), "run with --mix"]) is None


def test_alike_reasons_of_several_trials_are_one_line() -> None:
    missing = [trial("planned, not run", number=n, standing=Standing.MISSING) for n in (2, 4, 5, 6)]
    told = why([trial(steal(0.1)), *missing, trial(steal(0.25), number=8), trial(steal(0.3), number=9)])
    assert plain(told.bars) == [
        "Trials 1, 8 and 9: steal failed: 10 to 30 % of all cores, limit 5 %",
        "Trials 2 and 4 to 6: planned, not run",
    ]
    assert told.bars[0].full == tuple(f"trial {n}: {steal(x)}" for n, x in ((1, 0.1), (8, 0.25), (9, 0.3)))
    assert told.bars[1].full == ()


def test_what_is_counted_is_told_by_its_sentence_and_not_by_its_figures() -> None:
    dropped = reason(Check.CAPTURE_DROPS, Health.FAILED, (5, 0), "packets", "5 packets not captured")
    assert plain(why([trial(dropped)]).bars) == [f"Trial 1: {dropped}"]


def test_a_long_note_is_folded_to_what_stands_before_its_brackets() -> None:
    off = (
        "the link did not hold and was proven again (uplink rate (probe): asked 1e+08, delivered 9.4e+07, tolerated 0)"
    )
    told = why([trial(off, off, "run with --mix", standing=Standing.VALID)])
    assert plain(told.besides) == [
        "Trial 1: the link did not hold and was proven again, twice",
        "Trial 1: run with --mix",
    ]
    assert [line.full for line in told.besides] == [(off, off), ()]


def test_damage_and_what_was_not_decided_bar_a_trial_and_what_was_not_analysed_does_not() -> None:
    lacking = "steal unknown: this trial's verdict does not have it"
    told = why([
        trial(lacking, standing=Standing.INCONCLUSIVE),
        trial("damaged verdict: no JSON", number=2, standing=Standing.DAMAGED, damaged=True),
        trial("to be run again: no server", number=3, standing=Standing.FAILED),
        trial("not analysed: journey: KeyError", number=4, standing=Standing.VALID),
    ])  # fmt: skip
    assert plain(told.bars) == [
        f"Trial 1: {lacking}", "Trial 2: damaged verdict: no JSON", "Trial 3: to be run again: no server",
    ]  # fmt: skip
    assert plain(told.besides) == ["Trial 4: not analysed: journey: KeyError"]


MADE = st.builds(
    reason, st.sampled_from(Check), st.sampled_from([Health.FAILED, Health.UNKNOWN, Health.WAIVED]),
    st.tuples(st.floats(), st.floats()), st.sampled_from(["", "s", "share", "share of a core, the busiest", "rows"]),
    st.text(),
)  # fmt: skip
NOTED = st.one_of(
    MADE, st.builds(spoiled, MADE, st.text(), MADE), st.text(), st.text().map(lambda t: f"{t} ({t * 40})")
)


@given(st.lists(st.lists(NOTED), max_size=4))
def test_nothing_that_is_said_of_a_trial_is_lost(reasons: list[list[str]]) -> None:
    lines = why([trial(*mine, number=number) for number, mine in enumerate(reasons, 1)]).lines
    said = [text for line in lines for text in (line.short, *line.full)]
    for number, mine in enumerate(reasons, 1):
        for one in mine:
            assert any(one in text for text in said), (number, one)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """A trial that was run again twice and is invalid."""
    spec = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1, states={(AIR, 1): "invalid"})
    found = findings_of(write_campaign(tmp_path_factory.mktemp("repeated"), spec))
    notes = [spoiled(steal(0.08)), spoiled(steal(0.2), run=2)]
    cells = tuple(
        replace(cell, trials=tuple(replace(one, reasons=[*notes, *one.reasons]) for one in cell.trials))
        if cell.name == AIR else cell
        for cell in found.cells
    )  # fmt: skip
    return replace(found, cells=cells)


@pytest.mark.usefixtures("blank_plots")
@pytest.mark.parametrize("extent", [Extent.ALL, Extent.NONE])
def test_the_page_folds_the_words_and_keeps_them(repeated: Findings, extent: Extent) -> None:
    text = html.unescape(write(repeated, extent=extent).read_text()).replace("\u00a0", " ")
    summaries = "Trial 1: link_rate failed: 50 %, limit 2 %", "Trial 1: run again twice: steal 8 to 20 %"
    assert all(f"<summary>{said}</summary>" in text for said in summaries)
    (mine,) = (one for one in repeated.trials if one.cell == AIR)
    for said in mine.reasons:
        assert text.count(said) == text.count(f"<p>{said}</p>") + text.count(f"<li>{said}</li>") > 0


@pytest.mark.usefixtures("blank_plots")
def test_the_page_of_a_trial_says_what_failed_and_folds_why_it_was_run_again(repeated: Findings) -> None:
    folder: Path = write(repeated).parent / "trials"
    text = html.unescape((folder / f"{AIR}-trial-001.html").read_text()).replace("\u00a0", " ")
    assert "health checks passed, link rate failed. It does not enter the cell" in text
    assert "<summary>Run again twice: steal 8 to 20 %</summary>" in text
    assert f"<li>{spoiled(steal(0.2), run=2)}</li>" in text
    assert "Run again" not in (folder / f"{WIRED}-trial-001.html").read_text()
