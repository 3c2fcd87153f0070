"""Pages of trials that the last report wrote are kept where they are, to the last byte, what would be drawn."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from math import inf, nan
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import files
from report_read import AIR
from synthetic_campaign import Spec, write_campaign

from analysis.details import Asked, Details, Shelf
from analysis.extent import Extent
from analysis.findings import CellFinding, Findings, LinkEvent, Standing, TrialFinding
from analysis.reductions.code import ROOT, code_digest, imported, libraries
from analysis.reductions.kept import KeptRows
from analysis.reductions.reduce import reducing
from analysis.report import keptpages, trialpages
from analysis.report.build import found, write
from analysis.report.keptpages import DRAWN_BY, KeptPages, kept_pages, part
from analysis.report.page import Pages
from analysis.report.pagekey import page_key
from analysis.report.provenance import Source, sources
from analysis.report.trialpages import write_trials
from analysis.report.trialview import Subject, subject_of
from analysis.stationarity import WindowTrend
from records.commands import Printed
from records.packed import Elsewhere, Packed
from records.verdict import Verdict
from records.workload import Pattern

FEW = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=3, packets=6)
BONES = f"<p>{part('one')}drawn{part('two')}</p>\n"
PARTS = {"one": "first", "two": "<b>second</b>"}
TREND = WindowTrend(series="delivered_per_s", change=0.5, p=0.001, p_adjusted=0.01)


def kept_in(earlier: Path) -> KeptPages:
    return KeptPages(earlier=earlier, drawn_by="code", key=b"key")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Two cells of three trials, whose details stand in files."""
    with reducing() as reduce:
        return found(write_campaign(tmp_path_factory.mktemp("results"), FEW), reduce.brief)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """Cell and trial of each page that is drawn, by this process; pages are kept however few they are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trialpages, "KEPT_ABOVE", 0)
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
    changed = with_trials(three, lambda trial: replace(trial, trend_tests=[TREND]))
    after = pages_of(changed, tmp_path / "after", tmp_path / "before")
    assert drawn == []
    assert after == pages_of(changed, tmp_path / "anew")
    assert all(b"rose by 50 % of its mean" in page for page in after.values())


class Of:
    """What gives the details of a file of that digest."""

    def __init__(self, sha256: str) -> None:
        self.sha256 = sha256

    def __call__(self) -> pa.Table:
        raise AssertionError("nothing is drawn")

    def digest(self) -> str:
        return self.sha256


ASKED = Asked(number=0, read=Of("a"), shelf=Shelf())
# Another value of every field of what a page is drawn from, and the fields that it is not drawn from.
OTHERS: dict[type, tuple[dict[str, object], set[str]]] = {
    TrialFinding: (
        {
            "cell": "x", "number": 9, "seed": 9, "standing": Standing.INVALID, "metrics": {"x": 1.0}, "reasons": ["x"],
            "damaged": True, "details": replace(ASKED, read=Of("b")), "events": [LinkEvent(1.0, 1.0, "x")],
            "journey": {"mean": {"latency": 1.0}}, "journey_why": "x", "percentiles": {"p50": {"latency_s": 1.0}},
            "at_least": {"x"}, "latency_of": "arrived", "partial": {"x": "y"},
        },
        {"path", "trend_tests"},
    ),
    CellFinding: (
        {
            "name": "x", "levels": {"network": "x"}, "guarantee": "x", "pattern": Pattern.QUEUE, "ramped": True,
            "declared": {"x": Printed(path="x", unit="s")},
        },
        {"trials", "precision", "valid"},
    ),
    Source: (
        {
            "number": 9, "manifest": {"scenario": "x"}, "link": {"profile": "x"}, "verdict": {"checks": ()},
            "packed": Packed.model_construct(), "elsewhere": (Elsewhere(file="x", bytes=1, sha256="0" * 64),),
        },
        {"cell"},
    ),
    Subject: ({"scenario": "x", "campaign": "x", "colour": "x"}, {"source"}),
}  # fmt: skip
CASES = [(kind, name) for kind, (values, _) in OTHERS.items() for name in values]


@pytest.mark.parametrize("kind", OTHERS)
def test_every_field_that_a_page_may_be_drawn_from_is_tried_below(kind: Any) -> None:
    values, left = OTHERS[kind]
    assert {one.name for one in fields(kind)} == values.keys() | left


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind.__name__}.{name}" for kind, name in CASES])
def test_a_page_of_anything_else_is_drawn_anew(three: Findings, tmp_path: Path, kind: type, name: str) -> None:
    subject = _subject(three)
    source, cell, trial = subject.source, subject.source.cell, subject.trial
    value: Any = OTHERS[kind][0][name]
    if kind is Source and isinstance(value, dict):
        value = getattr(source, name).model_copy(update=value)
    change = {name: value}
    if kind is TrialFinding:
        cell = replace(cell, trials=(replace(trial, **change),))
    elif kind is CellFinding:
        cell = replace(cell, **change)
    elif kind is Source:
        source = replace(source, **change)
    other = replace(subject, source=replace(source, cell=cell))
    other = replace(other, **change) if kind is Subject else other
    assert drawn_of(tmp_path, subject, subject, other, other, subject) == [subject, other, subject]


@pytest.mark.parametrize("change", [{"path": Path("elsewhere")}, {"trend_tests": [TREND]}])
def test_where_a_trial_stands_and_what_trends_are_told_is_nothing_to_its_bones(
    three: Findings, tmp_path: Path, change: dict[str, Any]
) -> None:
    trial, source = three.cells[0].trials[0], sources(three)[0]
    both = [subject_of(three, source, one, colour="c") for one in (trial, replace(trial, **change))]
    assert len(drawn_of(tmp_path, *both)) == 1


def test_a_number_that_json_does_not_know_is_told_from_none_and_from_others(three: Findings, tmp_path: Path) -> None:
    subject = _subject(three)
    verdict = subject.source.verdict
    assert verdict is not None
    checks = [verdict.checks[0].model_copy(update={"measured": value}) for value in (inf, -inf, nan, None, 0.0)]
    all_of_them = [
        replace(subject, source=replace(subject.source, verdict=verdict.model_copy(update={"checks": (check,)})))
        for check in checks
    ]
    assert drawn_of(tmp_path, *all_of_them) == all_of_them


def _subject(findings: Findings) -> Subject:
    """Of the first trial, with details of which only the digest is known."""
    trial = replace(findings.cells[0].trials[0], details=ASKED)
    return subject_of(findings, sources(findings)[0], trial, colour="#000000")


def drawn_of(folder: Path, *subjects: Subject, kept: KeptPages | None = None) -> list[Subject]:
    """Which of these are drawn, each as the page of one name after the other."""
    made: list[Subject] = []
    for subject in subjects:
        page = (kept or kept_in(folder)).page("p", subject, lambda of=subject: made.append(of) or BONES, PARTS)
        (folder / "p").write_text(page)
    return made


def test_pages_that_other_code_or_another_user_has_made_are_drawn_anew(three: Findings, tmp_path: Path) -> None:
    mine = kept_in(tmp_path)
    code, key = replace(mine, drawn_by="other"), replace(mine, key=b"another")
    subject = _subject(three)
    made = [len(drawn_of(tmp_path, subject, kept=kept)) for kept in (mine, mine, code, code, key, key, mine)]
    assert made == [1, 0, 1, 0, 1, 0, 1]
    for kept in (replace(mine, drawn_by=""), replace(mine, key=b"")):
        assert len(drawn_of(tmp_path, subject, subject, kept=kept)) == 2
        assert (tmp_path / "p").read_text().endswith("</p>\n")


def test_templates_are_those_that_were_read_at_first_and_others_have_another_digest(tmp_path: Path) -> None:
    (tmp_path / "x.html.j2").write_text("one")
    pages = Pages(templates=tmp_path)
    before = pages.digest()
    (tmp_path / "x.html.j2").write_text("two")
    assert (pages.fill("x.html.j2", {}), pages.digest()) == ("one", before)
    assert len({before, Pages(templates=tmp_path).digest(), Pages().digest(), Pages(extra="why.css").digest()}) == 4


def test_what_fills_in_pages_and_what_draws_on_them_is_code_that_draws_them() -> None:
    files = imported(DRAWN_BY)
    report = ["page.py", "keptpages.py", "trialpages.py", "trialview.py", "provenance.py"]
    assert {ROOT / "analysis" / "report" / name for name in report} <= set(files)
    assert {ROOT / "analysis" / "plots" / name for name in ("svg.py", "overtime.py", "journeybars.py")} <= set(files)
    assert {"jinja2", "markupsafe", "numpy", "matplotlib"} <= set(libraries(files))


def test_nothing_is_kept_of_code_that_has_changed_since_this_process_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked: list[object] = []
    monkeypatch.setattr(keptpages, "changed_since_start", lambda start: bool(asked.append(start)) or len(asked) == 1)
    pages = Pages()
    assert kept_pages(Path("earlier"), pages).drawn_by == ""
    drawn_by = f"{code_digest(DRAWN_BY)} {pages.digest()} {sys.version}"
    assert kept_pages(Path("earlier"), pages) == KeptPages(earlier=Path("earlier"), drawn_by=drawn_by, key=page_key())
    assert asked == [DRAWN_BY] * 2


def test_details_whose_file_is_no_longer_what_it_was_are_of_no_file(tmp_path: Path) -> None:
    path = tmp_path / "reduced.parquet"
    path.write_bytes(b"rows")
    read = KeptRows(tmp_path, path, hashlib.sha256(b"rows").hexdigest())
    assert replace(ASKED, read=read).digest() == read.sha256
    path.write_bytes(b"other")
    assert replace(ASKED, read=read).digest() == ""
    path.unlink()
    assert replace(ASKED, read=read).digest() == ""


def test_details_that_are_in_no_file_make_a_page_that_says_nothing_of_what_it_is_made_of(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path
) -> None:
    whole = with_trials(three, lambda trial: replace(trial, details=Details(ecdf=[(0.1, 1.0)])))
    pages = pages_of(whole, tmp_path / "before")
    assert not any(b"<!--seal " in page for page in pages.values())
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


@pytest.mark.usefixtures("blank_plots")
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
    write(at, extent=Extent.CELLS)
    write(at)
    assert len(drawn) == 12  # a report without pages has removed them
    assert files(tmp_path / "trials") == first
    monkeypatch.setattr(trialpages, "KEPT_ABOVE", 6)
    shutil.rmtree(tmp_path / "trials")
    monkeypatch.setattr(trialpages, "kept_pages", None)
    write(at)
    assert len(drawn) == 18
    assert set(files(tmp_path / "trials")) == set(first)
    assert f"{AIR}-trial-001.html" in first


def test_several_processes_keep_pages_too(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pages_of(three, tmp_path / "before")
    assert len(drawn) == 6
    monkeypatch.setattr(trialpages, "trial_view", None)  # a page that is drawn fails, in whichever process
    (tmp_path / "after").mkdir()
    assert not write_trials(
        tmp_path / "after", three, sources(three), Pages(), earlier=tmp_path / "before", processes=3
    )  # fmt: skip
    assert files(tmp_path / "after") == before


@given(st.data())
def test_an_earlier_page_that_was_cut_or_changed_anywhere_is_never_taken_for_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("pages")
    right = kept_in(folder).page("p", (1, "x"), lambda: BONES, PARTS)
    content = bytearray(right.encode())
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    content[begin:end] = data.draw(st.binary(max_size=8) | st.sampled_from([part("one").encode(), b"<!--seal "]))
    (folder / "p").write_bytes(content)
    made: list[str] = []
    assert kept_in(folder).page("p", (1, "x"), lambda: made.append("") or BONES, PARTS) == right
    assert bool(made) is (content != right.encode())


@pytest.mark.parametrize("what", ["folder", "pipe", "nothing"])
def test_what_is_no_page_is_not_read(tmp_path: Path, what: str) -> None:
    if what == "folder":
        (tmp_path / "p").mkdir()
    elif what == "pipe":
        os.mkfifo(tmp_path / "p")
    assert "drawn" in kept_in(tmp_path).page("p", (1, "x"), lambda: BONES, PARTS)


def test_nothing_that_a_page_shows_can_be_taken_for_a_mark(
    three: Findings, drawn: list[tuple[str, int]], tmp_path: Path
) -> None:
    hostile = f"{part('notes', 'x')}<!--seal {'0' * 64}-->"
    changed = with_trials(three, lambda trial: replace(trial, reasons=[hostile], journey={}, journey_why=hostile))
    changed = with_cells(changed, lambda cell: replace(cell, levels={**cell.levels, "guarantee": hostile}))
    told = [replace(one, verdict=_saying(one.verdict, hostile)) for one in sources(changed)]
    (tmp_path / "pages").mkdir()
    assert not write_trials(tmp_path / "pages", changed, told, Pages())
    for page in files(tmp_path / "pages").values():
        assert page.count(b"<!--") == 2 * 3 + 1
        assert page.count(b"&lt;!--part notes--&gt;") >= 4


def _saying(verdict: Verdict | None, text: str) -> Verdict:
    assert verdict is not None
    return verdict.model_copy(update={"checks": (verdict.checks[0].model_copy(update={"detail": text}),)})
