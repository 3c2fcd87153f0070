"""A campaign that was not copied to its end is refused where it is named, and passed over where one is looked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_campaign import Spec, write_campaign

from lab.resume import _latest
from lab.revisions import NotFound, named
from lab.start import find
from records.publishing import PUBLISHED, NotPublished

FIRST, LATER = "20240101-000000-aaaaaaaa", "20240102-000000-aaaaaaaa"
CELL = "wireline-100m_100_dp"
OLD, NEW = "1a" * 20, "2b" * 20
SMALL = {"bodies": (100,), "guarantees": ("durable, persistent",), "networks": ("wireline-100m",), "packets": 4}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two campaigns, the later of which was copied in part."""
    root = tmp_path / "results"
    write_campaign(root, Spec(**SMALL, trials=2, name=FIRST, revision=OLD, states={(CELL, 1): "invalid"}))
    write_campaign(root, Spec(**SMALL, trials=2, name=LATER, revision=NEW, states={(CELL, 1): "invalid"}))
    (root / "synthetic" / LATER / "_publishing-00000.json").write_text("{}")
    return root


def whole(results: Path) -> Path:
    """The later one, when it has been copied to its end."""
    folder = results / "synthetic" / LATER
    (folder / PUBLISHED).write_text("{}")
    return folder


def as_named(results: Path, name: str) -> Path:
    return named(results, name).folders[-1]


@pytest.mark.parametrize("how", [find, as_named])
@pytest.mark.parametrize("name", [LATER, "synthetic", f"synthetic/{LATER}", f"{{results}}/synthetic/{LATER}"])
def test_it_is_refused_by_name_by_scenario_and_by_path(
    how: Callable[[Path, str], Path], name: str, results: Path
) -> None:
    name = name.format(results=results)
    with pytest.raises(NotPublished, match=rf"{LATER}: a campaign that was not copied to its end"):
        how(results, name)
    assert whole(results) == how(results, name)
    assert how(results, FIRST).name == FIRST


def test_it_is_refused_where_no_other_is_named(results: Path) -> None:
    with pytest.raises(NotPublished, match=LATER):
        find(results, None)
    assert whole(results) == find(results, None)


def test_it_is_no_campaign_of_a_revision(results: Path) -> None:
    with pytest.raises(NotFound, match="no finished campaign"):
        named(results, NEW)
    assert [whole(results)] == [*named(results, NEW).folders]


def test_it_is_not_taken_up(results: Path) -> None:
    assert _latest(results, retry=True).name == FIRST
    assert whole(results) == _latest(results, retry=True)
