"""Folders for what a command needs only while it runs; those that a killed command left are removed by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX, _MARK = "airwire-", ".held"


@contextmanager
def scratch(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """A folder in `place` (None: the system's for temporary files), removed on every way out that a process can take.

    What cannot be taken (SIGKILL) is made up for: the folder is locked as long as its owner lives, and whoever makes
    the next one removes those whose lock is free.
    """
    place = place or Path(tempfile.gettempdir())
    remove_abandoned(place)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-", dir=place))
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        (folder / _MARK).touch()  # only now: a folder with this mark and a free lock has no owner
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_abandoned(place: Path) -> None:
    """Remove folders in `place` that killed commands left."""
    for mark in place.glob(f"{_PREFIX}*/{_MARK}"):
        with suppress(OSError):
            _remove_if_abandoned(mark.parent)


def _remove_if_abandoned(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
