"""Rows of a study that one of its claims compares are looked at for equally long."""

from __future__ import annotations

import pytest

from analysis.claims.comparisons import comparisons
from analysis.papers import read_paper
from experiments import papers

FOLDER = papers.folder_of("gaddah-kunz")


@pytest.mark.parametrize("quick", [False, True])
def test_rows_that_a_claim_compares_have_equal_windows(quick: bool) -> None:
    cells = papers.chosen(papers.whole(FOLDER), number=None, tests=(), quick=quick).cells
    windows = {
        case: {(cell.settings.window.warmup_s, cell.settings.window.window_s) for cell in cells
               if cell.levels["case"] == case}
        for case in {cell.levels["case"] for cell in cells}
    }  # fmt: skip
    unequal = {
        claim.id
        for claim in read_paper(FOLDER).claims
        for test in claim.tests
        for one in comparisons(test)
        if len(set().union(*(windows[quantity.case] for quantity in one.quantities))) > 1
    }
    assert unequal == set()
