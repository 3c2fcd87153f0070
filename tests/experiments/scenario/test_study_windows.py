"""Rows of a study that one of its claims compares are looked at for equally long."""

from __future__ import annotations

import pytest

from analysis.claims.comparisons import comparisons
from analysis.papers import read_paper
from experiments import papers

FOLDER = papers.folder_of("gaddah-kunz")


# No latency rises there, so any window will do.
STEADY = {("wireline", f"set1-{row:02}") for row in range(1, 25)} | {
    ("wireline", f"set2-{row:02}") for row in range(1, 19)
}


@pytest.mark.parametrize("quick", [False, True])
def test_rows_that_a_claim_compares_have_equal_windows(quick: bool) -> None:
    paper = read_paper(FOLDER)
    words = {profile: word for word, profile in paper.record.networks.items()}
    windows = {
        (words[cell.levels["network"]], cell.levels["case"]): (
            cell.settings.window.warmup_s,
            cell.settings.window.window_s,
        )
        for cell in papers.chosen(papers.whole(FOLDER), number=None, tests=(), quick=quick).cells
    }
    assert len({windows[cell] for cell in STEADY}) == 1
    unequal = {
        claim.id
        for claim in paper.claims
        for test in claim.tests
        for one in comparisons(test)
        if len({windows[cell] for cell in {(q.network, q.case) for q in one.quantities} - STEADY}) > 1
    }
    assert unequal == set()
