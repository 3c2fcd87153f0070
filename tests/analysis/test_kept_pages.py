"""Pages of trials that the last report wrote: kept where they are, to the last byte, what would be drawn."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import files
from report_read import AIR
from synthetic_campaign import Spec, write_campaign

from analysis.details import Details
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.reductions.code import code_digest
from analysis.reductions.reduce import reducing
from analysis.report import keptpages, trialpages
from analysis.report.build import found, write
from analysis.report.keptpages import DRAWN_BY, KeptPages, kept_pages, part
from analysis.report.page import Pages
from analysis.report.provenance import Source, sources
from analysis.report.trialpages import write_trials
from analysis.report.trialview import Subject, subject_of
from analysis.stationarity import WindowTrend

FEW = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=3, packets=6)
BONES = f"<p>{part('one')}drawn{part('two')}</p>\n"
PARTS = {"one": "first", "two": "<b>second</b>"}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Two cells of three trials, whose details stand in files."""
    with reducing() as reduce:
        return found(write_campaign(tmp_path_factory.mktemp("results"), FEW), reduce.brief)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Cell and trial of each page that is drawn, by this process; pages are kept however few they are."""
    monkeypatch.setattr(trialpages, "MOST_DRAWN", 0)
    monkeypatch.setattr(keptpages, "changed_since_start", lambda _: False)  # whoever edits while tests run
    seen: list[tuple[str, int]] = []
    made = trialpages.trial_view

    def view(subject: Subject) -> dict[str, Any]:
        seen.append((subject.trial.cell, subject.trial.number))
        return made(subject)

    monkeypatch.setattr(trialpages, "trial_view", view)
    return seen


def pages_of(findings: Findings, folder: Path, earlier: Path | None = None) -> dict[str, bytes]:
    folder.mkdir()
    assert write_trials(folder, findings, sources(findings), Pages(), earlier=earlier, processes=1) == ()
    return files(folder)


def but_last(findings: Findings) -> Findings:
    """Before the last trial of each cell was run."""
    return with_cells(findings, lambda cell: replace(cell, trials=cell.trials[:-1]))


def with_cells(findings: Findings, change: Callable[[CellFinding], CellFinding]) -> Findings:
    return replace(findings, cells=tuple(map(change, findings.cells)))


def with_trials(findings: Findings, change: Callable[[TrialFinding], TrialFinding]) -> Findings:
    return with_cells(findings, lambda cell: replace(cell, trials=tuple(map(change, cell.trials))))


def test_after_another_trial_of_each_cell_only_its_page_is_drawn_and_all_are_as_if_drawn_anew(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path
) -> None:
    before = pages_of(but_last(three), tmp_path / "before")
    assert len(drawn) == len(before) == 4
    drawn.clear()
    after = pages_of(three, tmp_path / "after", tmp_path / "before")
    assert drawn == [(cell.name, 3) for cell in three.cells]
    assert after == pages_of(three, tmp_path / "anew")
    assert all(after[name] != page for name, page in before.items())  # means and neighbours are others
    drawn.clear()
    assert pages_of(three, tmp_path / "again", tmp_path / "after") == after
    assert drawn == []


def test_a_trend_that_is_told_only_now_is_on_the_page_that_is_kept(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path
) -> None:
    pages_of(three, tmp_path / "before")
    drawn.clear()
    trend = WindowTrend(series="delivered_per_s", change=0.5, p=0.001, p_adjusted=0.01)
    changed = with_trials(three, lambda trial: replace(trial, trend_tests=[trend]))
    after = pages_of(changed, tmp_path / "after", tmp_path / "before")
    assert drawn == []
    assert after == pages_of(changed, tmp_path / "anew")
    assert all(b"rose by 50 % of its mean" in page for page in after.values())


SUBJECTS: dict[str, Callable[[Findings], Findings]] = {
    "the campaign's name": lambda found: replace(found, folder=found.folder.with_name("c2")),
    "the scenario's name": lambda found: replace(found, campaign=found.campaign.model_copy(update={"scenario": "s"})),
    "a cell's levels": lambda found: with_cells(
        found, lambda cell: replace(cell, levels={**cell.levels, "network": "x"})
    ),
    "standing": lambda found: with_trials(found, lambda trial: replace(trial, standing=Standing.INVALID)),
    "seed": lambda found: with_trials(found, lambda trial: replace(trial, seed=trial.seed + 1)),
    "journey": lambda found: with_trials(found, lambda trial: replace(trial, journey={}, journey_why="none")),
    "a lower bound": lambda found: with_trials(
        found, lambda trial: replace(trial, at_least={*trial.at_least, "latency_p99_s"})
    ),
    "details": lambda found: with_trials(found, lambda trial: replace(trial, details=_other(trial))),
}  # fmt: skip


def _other(trial: TrialFinding) -> Any:
    """Those of another file, as the digest says."""
    details: Any = trial.details
    return replace(details, read=replace(details.read, sha256="0" * 64))


@pytest.mark.parametrize("change", SUBJECTS.values(), ids=SUBJECTS)
def test_a_page_of_something_else_is_drawn_anew(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path, change: Callable[[Findings], Findings]
) -> None:
    pages_of(three, tmp_path / "before")
    drawn.clear()
    changed = change(three)
    after = pages_of(changed, tmp_path / "after", tmp_path / "before")
    assert len(drawn) == len(after) == 6
    assert after == pages_of(changed, tmp_path / "anew")


CHANGED: dict[str, dict[str, object]] = {
    "manifest": {"scenario": "s"}, "link": {"profile": "p"}, "verdict": {"checks": ()},
}  # fmt: skip


@pytest.mark.parametrize("record", CHANGED)
def test_a_page_of_other_records_is_drawn_anew(three: Findings, tmp_path: Path, record: str) -> None:
    kept, made = KeptPages(earlier=tmp_path, code="c"), list[Source]()
    first = sources(three)[0]

    def page(source: Source) -> str:
        def draw() -> str:
            made.append(source)
            return BONES

        subject = subject_of(three, source, three.cells[0].trials[0], colour="#000000")
        return kept.page("p", subject, draw, PARTS)

    (tmp_path / "p").write_text(page(first))
    assert page(first) == (tmp_path / "p").read_text()
    changed: Any = getattr(first, record).model_copy(update=CHANGED[record])
    others = [replace(first, **{record: value}) for value in (None, changed)]
    for other in others:
        page(other)
    assert made == [first, *others]


def test_pages_that_other_code_or_other_templates_have_drawn_are_drawn_anew(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    digests = {Pages().digest(), Pages(extra="why.css").digest(), Pages(templates=templates).digest()}
    (templates / "trial.html.j2").write_text("other")
    assert len(digests | {Pages(templates=templates).digest()}) == 3
    made: list[str] = []
    for code in ("a", "a", "b", "a"):
        kept = KeptPages(earlier=tmp_path, code=code)
        (tmp_path / "p").write_text(kept.page("p", (1, "x"), lambda code=code: made.append(code) or BONES, PARTS))
    assert made == ["a", "b", "a"]


def test_nothing_is_kept_of_code_that_has_changed_since_this_process_began(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(keptpages, "changed_since_start", lambda start: bool(asked.append(start)) or len(asked) == 1)
    pages = Pages()
    assert kept_pages(Path("earlier"), pages) == KeptPages(earlier=None, code="")
    assert kept_pages(Path("earlier"), pages) == KeptPages(
        earlier=Path("earlier"), code=f"{code_digest(DRAWN_BY)} {pages.digest()}"
    )
    assert asked == [DRAWN_BY] * 2


def test_details_that_are_in_no_file_make_a_page_that_says_nothing_of_what_it_is_made_of(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path
) -> None:
    whole = with_trials(three, lambda trial: replace(trial, details=Details(ecdf=[(0.1, 1.0)])))
    pages = pages_of(whole, tmp_path / "before")
    assert not any(b"<!--made of" in page for page in pages.values())
    assert pages_of(whole, tmp_path / "after", tmp_path / "before") == pages
    assert len(drawn) == 12


def test_a_page_that_failed_is_tried_again(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: Subject) -> NoReturn:
        raise KeyError("gone")

    (tmp_path / "before").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(trialpages, "trial_view", failing)
        assert len(write_trials(tmp_path / "before", three, sources(three), Pages())) == 6
    after = pages_of(three, tmp_path / "after", tmp_path / "before")
    assert len(drawn) == 6
    assert after == pages_of(three, tmp_path / "anew")


def test_a_report_keeps_the_pages_of_the_last_and_a_small_one_needs_no_digest_of_its_code(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = replace(three, folder=tmp_path)
    write(at)
    assert len(drawn) == 6
    first = files(tmp_path / "trials")
    write(at)
    assert len(drawn) == 6
    assert files(tmp_path / "trials") == first
    monkeypatch.setattr(trialpages, "MOST_DRAWN", 6)
    shutil.rmtree(tmp_path / "trials")
    monkeypatch.setattr(trialpages, "kept_pages", None)
    write(at)
    assert len(drawn) == 12
    assert set(files(tmp_path / "trials")) == set(first)
    assert f"{AIR}-trial-001.html" in first


@given(st.data())
def test_an_earlier_page_that_was_cut_or_changed_anywhere_is_never_taken_for_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("pages")
    kept = KeptPages(earlier=folder, code="c")
    right = kept.page("p", (1, "x"), lambda: BONES, PARTS)
    content = bytearray(right.encode())
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    content[begin:end] = data.draw(st.binary(max_size=8) | st.sampled_from([part("one").encode(), b"<!--made of "]))
    (folder / "p").write_bytes(content)
    assert kept.page("p", (1, "x"), lambda: BONES, PARTS) == right
    other = KeptPages(earlier=folder, code="c").page("p", (1, "y"), lambda: "anew", PARTS)
    assert other.startswith("anew<!--made of ")


@given(st.text(), st.text())
def test_what_a_page_shows_cannot_be_taken_for_a_mark(one: str, two: str) -> None:
    pages = Pages()
    hostile = f"{one}{part('notes', two)}<!--made of {two}-->"
    shown = pages.macro("trialparts.html.j2", "notes", None, [hostile])
    assert "<!--" not in shown
    assert "&lt;!--part notes--&gt;" in shown
