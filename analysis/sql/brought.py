"""A published campaign's trials as a task of a query has them: records and what its view reads, in a scratch folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.partial import DAMAGE
from analysis.reductions.published import RECORDS, Copy, name_the_others
from analysis.sql.views import VIEWS
from analysis.sql.work import Work
from records.location import Remote, locate
from records.packed import Listed
from records.publishing import NotPublished, fetch
from records.scratch import scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """work: what to do, with its trials in folders of this machine.  copy: what these are a copy of, if they are.

    faults: why a trial could not be fetched, by its name; its folder is empty.
    """

    work: Work
    copy: Copy | None = None
    faults: Mapping[str, Exception] = field(default_factory=dict)


@contextmanager
def brought(work: Work) -> Iterator[Brought]:
    """The work as it can be done here."""
    if not work.at:
        yield Brought(work=work)
        return
    campaign = locate(work.at)
    if not isinstance(campaign, Remote):
        raise TypeError(f"{work.at} is no URI: work of a folder has none")
    with scratch("query") as below:
        copy = Copy(campaign, below / work.folder, _files(work))
        faults = {}
        for trial, files in copy.files.items():
            wanted = [one for one in files if one.file in RECORDS or one.file in VIEWS[work.view].files]
            if (fault := _fetched(copy, trial, wanted)) is not None:
                faults[trial] = fault
        here = tuple(str(copy.folder / trial) for trial in work.trials)
        yield Brought(work=replace(work, folder=str(copy.folder), trials=here), copy=copy, faults=faults)


def _files(work: Work) -> dict[str, tuple[Listed, ...]]:
    found: dict[str, list[Listed]] = {}
    for trial, file, size, digest in work.listed:
        found.setdefault(trial, []).append(Listed(file=file, bytes=size, sha256=digest))
    return {trial: tuple(files) for trial, files in found.items()}


def _fetched(copy: Copy, trial: str, wanted: list[Listed]) -> Exception | None:
    """Why a trial could not be fetched, None when it is there."""
    folder: Path = copy.folder / trial
    folder.mkdir(parents=True)
    try:
        fetch(copy.campaign / trial, wanted, folder)
    except (*DAMAGE, NotPublished) as error:
        shutil.rmtree(folder)  # nothing that came in part may be taken for whole
        folder.mkdir()
        return error
    name_the_others(folder, copy.files[trial])
    return None
