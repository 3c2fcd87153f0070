"""A report of fewer pages: nothing leads to what was not made, the page says so, and old pages go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import reduced
from report_read import AIR, References
from synthetic_campaign import Spec, write_campaign

from analysis.details import Reduced
from analysis.extent import Extent, extent_of
from analysis.findings import Findings
from analysis.names import is_trial_page, trial_page
from analysis.report.build import found, write
from analysis.report.page import Pages
from analysis.report.provenance import sources
from analysis.report.trialpages import remove_pages
from analysis.report.view import Plots, view
from records.errors import WrongInput

FEW = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=2, packets=6)
LESS = [Extent.CELLS, Extent.NONE]
NOT_DRAWN = Plots(answer=None, sections=(), journey=(), latency={}, overtime={}, bars={})


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Two cells of two trials, which had interruptions and trends."""
    campaign = write_campaign(tmp_path_factory.mktemp("results"), FEW)
    findings = found(campaign, lambda paths: Reduced(rows=reduced(paths)))
    told = {"interruptions": 1.0, "back_after_s": 0.4, "caught_up_after_s": 2.5, "held_up": 12.0, "not_back": 0.0}
    cells = tuple(
        replace(cell, trials=tuple(replace(trial, metrics=trial.metrics | told) for trial in cell.trials))
        for cell in findings.cells
    )
    return replace(findings, cells=cells)


def page_of(findings: Findings, extent: Extent) -> tuple[str, References]:
    """report.html without its plots."""
    shown = view(findings, NOT_DRAWN, sources(findings), extent=extent, again="lab report c1")
    text, page = Pages().fill("report.html.j2", shown), References()
    page.feed(text)
    return text, page


@pytest.mark.parametrize("extent", Extent)
def test_nothing_leads_to_what_was_not_made(few: Findings, extent: Extent) -> None:
    for findings in (few, replace(few, cells=few.cells[:1])):  # of one cell, nothing is compared
        text, page = page_of(findings, extent)
        assert "What interruptions cost" in text
        assert page.targets <= page.ids
        cells = {name for name in page.targets if name.startswith("cell-")}
        assert len(cells) == (0 if extent is Extent.NONE else len(findings.cells))
        assert len(page.pages) == (len(findings.trials) if extent is Extent.ALL else 0)
        assert ("leads to its own page" in text) == (extent is Extent.ALL)


@pytest.mark.parametrize("extent", LESS)
def test_a_page_says_what_was_not_made_and_the_words_that_make_it(few: Findings, extent: Extent) -> None:
    text, _ = page_of(few, extent)
    assert f"not made, as <code>--pages {extent}</code> was asked for" in text
    assert "<code>lab report c1</code> makes" in text
    assert "not made" not in page_of(few, Extent.ALL)[0]


@pytest.mark.usefixtures("blank_plots")
def test_a_report_of_cells_has_their_plots_and_no_pages_and_one_of_none_has_neither(
    few: Findings, tmp_path: Path
) -> None:
    findings = replace(few, folder=tmp_path)
    written = {}
    for extent in Extent:
        write(findings, extent=extent)
        written[extent] = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    pages = {f"trials/{trial_page(trial.cell, trial.number)}" for trial in few.trials}
    assert written[Extent.ALL] - written[Extent.CELLS] == pages
    assert f"plots/time-{AIR}.svg" in written[Extent.CELLS]
    assert f"plots/time-{AIR}.svg" not in written[Extent.NONE]
    assert all("/time-" in name for name in written[Extent.CELLS] - written[Extent.NONE])
    assert {"tables/flows.csv", "tables/summary.json", "report.html"} <= written[Extent.NONE]
    assert f"lab report {tmp_path.name}" in (tmp_path / "report.html").read_text()


@given(st.text(max_size=200), st.integers(1, 10**6))
def test_the_page_of_any_trial_is_known_by_its_name(cell: str, number: int) -> None:
    assert is_trial_page(trial_page(cell, number))


def test_what_is_no_page_of_a_trial_stays(tmp_path: Path) -> None:
    folder = tmp_path / "trials"
    (folder / "a-trial-002.html").mkdir(parents=True)
    for name in ("a-trial-001.html", "notes-of-trial-001.txt", "trial-001.html"):
        (folder / name).touch()
    remove_pages(folder)
    assert {path.name for path in folder.iterdir()} == {"a-trial-002.html", "notes-of-trial-001.txt", "trial-001.html"}
    remove_pages(tmp_path / "nowhere")


def test_another_word_is_refused_with_those_there_are() -> None:
    assert [extent_of(word) for word in ("all", "cells", "none")] == list(Extent)
    for word in ("some", "", "ALL", "cells,none"):
        with pytest.raises(WrongInput, match=r"^--pages: '.*' is not one of all, cells, none$"):
            extent_of(word)
