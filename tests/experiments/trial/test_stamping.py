"""What a trial collects of its services' stamps, and what it says of those that are missing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.trial.stamping import collect
from records.stamps import BYTES, FILE, Point, Stamps

MARK = bytes(4) + (5).to_bytes(8, "big")


def context(folder: Path, *, stamps: bool = True) -> Any:
    """Two nodes with a process of a service each; of the trial's context what collecting looks at."""
    names = ("sta1", "sta2")
    for name in names:
        (folder / name).mkdir(exist_ok=True)
    return SimpleNamespace(
        services=[SimpleNamespace(name="iris", stamps=stamps)],
        network=SimpleNamespace(
            nodes=[SimpleNamespace(name=n, address=f"10.77.0.{i}") for i, n in enumerate(names, 2)]
        ),
        running=[SimpleNamespace(service="iris", name=f"iris@{n}", node=n, folder=folder / n) for n in names],
    )


def write(folder: Path, *, most_bytes: int = 1 << 20, close: bool = True) -> None:
    """A message that came from the node beside."""
    folder.mkdir(exist_ok=True)
    stamps = Stamps(folder / FILE, most_bytes=most_bytes)
    stamps.add(MARK, 7, Point.FROM_PEER, False, (10 << 24) + (77 << 16) + 3)
    stamps.close() if close else stamps.flush()


def test_stamps_of_all_nodes_are_one_table_in_which_nodes_have_their_numbers(tmp_path: Path) -> None:
    for name in ("sta1", "sta2"):
        write(tmp_path / name)
    tables, missing = collect(context(tmp_path))
    assert missing == ()
    rows = tables["stamps"].to_pylist()
    assert [(row["node"], row["peer"], row["seq"], row["t_ns"]) for row in rows] == [(0, 1, 5, 7), (1, 1, 5, 7)]


def test_who_asks_for_none_has_no_table(tmp_path: Path) -> None:
    assert collect(context(tmp_path, stamps=False)) == ({}, ())


@pytest.mark.parametrize(
    ("spoil", "words", "rows"),
    [
        (lambda file: file.unlink(), "iris@sta2 has left no stamps, so messages by way of it have no journey", 1),
        (lambda file: file.write_bytes(b"\x07" * 2 * BYTES), "a record is no stamp", 1),
        (lambda file: file.write_bytes(file.read_bytes()[:BYTES]), "ended before it had written its last stamps", 2),
    ],
    ids=["none", "damaged", "cut off"],
)
def test_what_is_missing_is_said_and_the_rest_is_taken(tmp_path: Path, spoil: Any, words: str, rows: int) -> None:
    for name in ("sta1", "sta2"):
        write(tmp_path / name)
    spoil(tmp_path / "sta2" / FILE)
    tables, missing = collect(context(tmp_path))
    (said,) = missing
    assert words in said
    assert len(tables["stamps"]) == rows


def test_stamps_that_there_was_no_room_for_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "sta1")
    write(tmp_path / "sta2", most_bytes=0)
    tables, missing = collect(context(tmp_path))
    assert missing == ("iris@sta2: it had no room for 1 of its stamps, so journeys are missing",)
    assert len(tables["stamps"]) == 1
