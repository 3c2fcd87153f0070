"""What the partitions of a view are: which trials, cells and ranges of captures of which campaigns."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.capture.format import NotACapture
from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import to_json
from analysis.reductions.published import Copy, copy_records
from analysis.sql.columns import View
from records.campaign import Campaign, Planned, read_campaign
from records.errors import WrongInput
from records.filenames import RECORD
from records.location import Place, Remote, locate
from records.publishing import must_be_whole, read_published
from records.scratch import scratch
from records.store import DamagedTrial, Trial, trial_name, trials

NAME_THE_OTHERS = "name the others by cell IN (...) and trial IN (...)"
Name = tuple[str, str]
"""Of a trial: URI of the campaign, or '' of one on a disk; cell/trial-NNN there, or the folder."""
Wanted = Mapping[str, Collection[object]]  # campaign, cell or trial to the values that a query asks for


class NoCampaign(WrongInput):
    """A path is no campaign's folder; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one partition reads; every field is plain, as it travels to a worker.

    plan: the campaign's record as JSON, of this cell alone.  trials: folders of finished trials of the cell, one where
    the partition is of a trial.  trial: its number, 0 where the partition is of a cell.  piece: a range of `capture`,
    '' for all of it.

    at: URI of a published campaign, '' of one on a disk.  Then `folder` and `trials` are names (scenario and campaign;
    cell and trial) and `listed` has trial, name, bytes and digest of each of these trials' files.
    """

    view: str
    folder: str
    cell: str
    trial: int = 0
    plan: str = ""
    trials: tuple[str, ...] = ()
    capture: str = ""
    piece: str = ""
    at: str = ""
    listed: tuple[tuple[str, str, int, str], ...] = ()

    @property
    def which(self) -> dict[str, object]:
        """The columns that say of which trial a row is."""
        return {"campaign": Path(self.folder).name, "cell": self.cell, "trial": self.trial}


def put_names(works: Iterable[Work], folder: str) -> None:
    """Write which trials these partitions read into a new file in `folder`, where that is there."""
    names = sorted({(work.at, trial) for work in works for trial in work.trials})
    with suppress(OSError):  # of another machine
        handle, _ = tempfile.mkstemp(".json", dir=folder)
        with os.fdopen(handle, "w") as file:
            json.dump(names, file)


def names_in(folder: Path) -> set[Name]:
    """All that `put_names` has written there."""
    return {(at, trial) for path in folder.glob("*.json") for at, trial in json.loads(path.read_text())}


def campaigns(paths: Sequence[str]) -> list[Place]:
    """The folders of campaigns, and their URIs, that paths name.

    Raises NoCampaign for one that is none, or whose name came before; NotPublished, Unreachable for a URI; BadURI.
    """
    if not paths:
        raise NoCampaign('no path: say which campaign, as in spark.read.format("airwire").load("results/NAME/latest")')
    found = [locate(path).resolve() for path in paths]
    names = [read_published(place).campaign if isinstance(place, Remote) else _folder(place).name for place in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise NoCampaign(f"{twice[0]}: several campaigns have this name, which their rows could not be told apart by")
    return found


def _folder(place: Path) -> Path:
    if not place.is_dir():
        raise NoCampaign(f"{place}: there is no such folder")
    if not (place / RECORD).is_file():
        raise NoCampaign(f"{place}: is no campaign's folder, as it has no {RECORD}")
    must_be_whole(place)
    return place


def planned(view: View, places: Sequence[Place], wanted: Wanted) -> list[Work]:
    """Every partition of a view.  wanted: those that are left out are in no row that is asked for.

    DamagedTrial when a campaign's record cannot be read; NotPublished, Unreachable of a URI.
    """
    return [work for place in places for work in _of(view, place, wanted)]


def _of(view: View, place: Place, wanted: Wanted) -> Iterator[Work]:
    if not isinstance(place, Remote):
        yield from _of_campaign(view, place, wanted)
        return
    published = read_published(place)
    if not _asked(wanted, "campaign", published.campaign):
        return
    with scratch("query") as below:
        copy = copy_records(place, published, below)
        for work in _of_campaign(view, copy.folder, wanted, copy):
            names = tuple(Path(path).relative_to(copy.folder).as_posix() for path in work.trials)
            listed = tuple((name, one.file, one.bytes, one.sha256) for name in names for one in copy.files[name])
            folder = copy.folder.relative_to(below).as_posix()
            yield replace(work, at=str(place), folder=folder, trials=names, listed=listed)


def _of_campaign(view: View, folder: Path, wanted: Wanted, copy: Copy | None = None) -> Iterator[Work]:
    """copy: what the folder is a copy of, without ledgers and captures."""
    if not _asked(wanted, "campaign", folder.name):
        return
    campaign = read_campaign(folder)
    finished: dict[str, dict[int, Trial]] = {cell.name: {} for cell in campaign.cells}
    for trial in trials(folder):
        finished.setdefault(trial.path.parent.name, {})[trial.number] = trial
    order: dict[str, list[Planned]] = {}
    for one in campaign.order:
        order.setdefault(one.cell, []).append(one)
    for cell, done in finished.items():
        if not _asked(wanted, "cell", cell):
            continue
        plan = _only(campaign, cell, tuple(order.get(cell, ())))
        if view.per == "cell":
            paths = tuple(str(done[number].path) for number in sorted(done))
            yield Work(view=view.name, folder=str(folder), cell=cell, plan=plan.model_dump_json(), trials=paths)
            continue
        numbers = {one.trial for one in plan.order} if view.name == "trials" else set()
        for number in sorted(numbers | set(done)):
            if _asked(wanted, "trial", number):
                yield from _of_trial(view, plan, done.get(number), folder / cell / trial_name(number), copy)


def _of_trial(view: View, plan: Campaign, trial: Trial | None, path: Path, copy: Copy | None) -> Iterator[Work]:
    """path: the trial's folder, where it has one (then `trial` is it) or would have it."""
    number = Trial(path).number
    mine = plan.model_copy(update={"order": tuple(one for one in plan.order if one.trial == number)})
    whole = Work(
        view=view.name, folder=str(path.parent.parent), cell=path.parent.name, trial=number,
        plan=mine.model_dump_json(), trials=(str(path),) if trial else (),
    )  # fmt: skip
    if view.per != "range":
        yield whole
    elif trial is not None:
        yield from (replace(whole, capture=capture, piece=piece) for capture, piece in _ranges(trial, copy))


def _ranges(trial: Trial, copy: Copy | None) -> Iterator[tuple[str, str]]:
    """File name and range of all captures that are here; of a damaged one, what stands before.

    At a URI a capture is one piece: whoever reads it finds its ranges, as to find them takes reading it.  DamagedTrial
    for what cannot be read and of which no note (notes.py) says so.
    """
    try:
        manifest = trial.manifest()
    except DamagedTrial as error:
        if copy is None:
            return
        raise DamagedTrial(f"{error}; {NAME_THE_OTHERS}") from error
    if copy is not None:
        there = {one.file for one in copy.files[trial.path.relative_to(copy.folder).as_posix()]}
        kept = [one.file for one in manifest.captures if one.kept]
        lacks = [name for name in kept if name not in there]
        if 0 < len(lacks) < len(kept):  # of one that lacks all a note says so
            raise DamagedTrial(f"{trial.path / lacks[0]}: was not published; {NAME_THE_OTHERS}")
        yield from ((name, "") for name in kept if name in there)
        return
    for one in manifest.captures:
        path = trial.path / one.file
        if not one.kept or not path.is_file():
            continue
        try:
            found = kept_index(path).ranges
        except NotACapture:  # the notes say so
            continue
        except OSError as error:
            raise DamagedTrial(f"{path}: {error.strerror or error}; {NAME_THE_OTHERS}") from error
        yield from ((one.file, to_json(piece)) for piece in found)


def _only(campaign: Campaign, cell: str, order: tuple[Planned, ...]) -> Campaign:
    """The campaign as if it had one cell, with what is said of its workload alone: the rest need not travel.

    order: of this cell's trials.
    """
    cells = tuple(
        one.model_copy(update={"settings": {"settings": _workload(one.settings.get("settings"))}})
        for one in campaign.cells
        if one.name == cell
    )
    return campaign.model_copy(update={"cells": cells, "order": order})


def _workload(settings: object) -> dict[str, object]:
    return {"workload": settings["workload"]} if isinstance(settings, dict) and "workload" in settings else {}


def _asked(wanted: Wanted, column: str, value: object) -> bool:
    return column not in wanted or value in wanted[column]
