"""Files that users name are written whole or not at all, and stay what they are."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from lab.files import filling


def put(target: Path, content: str = "new") -> None:
    with filling(target) as made:
        made.write_text(content)


def test_a_file_is_replaced_when_all_of_it_is_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with suppress(KeyboardInterrupt), filling(target) as made:
        made.write_text("half")
        raise KeyboardInterrupt
    assert (os.listdir(tmp_path), target.read_text()) == (["file"], "old")
    put(target)
    assert (os.listdir(tmp_path), target.read_text()) == (["file"], "new")


@pytest.mark.parametrize("before", [None, "old"])
def test_a_link_stays_one(tmp_path: Path, before: str | None) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    link.symlink_to(there)
    if before is not None:
        there.write_text(before)
    put(link)
    assert (link.readlink(), there.read_text()) == (there, "new")


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to(tmp_path: Path, linked: bool) -> None:
    pipe, link, got = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    put(link if linked else pipe)
    reader.join(60)
    assert (got, pipe.is_fifo(), link.is_symlink()) == (["new"], True, True)


def test_a_pipe_without_a_name_is_written_to() -> None:
    reader, writer = os.pipe()
    try:
        put(Path(f"/dev/fd/{writer}"))
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
        os.close(writer)
