"""Putting a finished report in the place of an older one."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_STAGE = ".report"


class ReportBusy(Exception):
    """Another process is building the report of this campaign."""


@contextmanager
def staged(campaign: Path, *, names: Sequence[str], then: Callable[[], None] | None = None) -> Iterator[Path]:
    """An empty folder to write a report into; on success its entries `names` replace those of the campaign.

    The last name is replaced last and at once, so an interrupted build leaves the older report.  then: removes what
    only an older report has.  Raises ReportBusy when another process is at it.
    """
    stage = campaign / _STAGE
    stage.mkdir(exist_ok=True)
    handle = os.open(stage, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ReportBusy(f"{campaign}: another process is building this report; wait for it") from error
        _empty(stage)
        try:
            yield stage
            for name in names:
                _replace(stage / name, campaign / name, aside=stage / f"old-{name}")
            if then is not None:
                then()
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    finally:
        os.close(handle)


def _replace(new: Path, place: Path, *, aside: Path) -> None:
    if place.is_dir():
        place.rename(aside)
    new.replace(place)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
