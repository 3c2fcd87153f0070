"""Campaigns at a URI: copied there file by file, each read back; a list of all of them comes last and makes it whole.

    URI/_published.json           every file of the campaign with size and digest: without it nothing there is read
    URI/_publishing-NNNNN.json    while it is being copied: the files that are there and have been read back
    URI/_records.parquet          records of campaign, trials and reductions once more, together (records.bundle)
    URI/<everything that the campaign's folder holds>

What was interrupted goes on with the files that `_publishing-...` list, where they still have their size and the
campaign's files still have that content.  A campaign that changes takes its list away first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from records.bundle import BUNDLE, bundled, encode
from records.campaign import Campaign, read_campaign
from records.errors import CannotGoOn
from records.filenames import INDEXES, MANIFEST, RECORD
from records.location import NotThere, Remote, is_partial
from records.packed import LATENCIES, PACKED, REDUCED, CampaignName, Listed, ScenarioName
from records.record import Record
from records.store import FRESH, PARTIAL, is_trial

PUBLISHED, UNDER_WAY = "_published.json", "_publishing-"
_LEVELS = 3  # a URI, folders in it, and folders in these: how deep campaigns lie below results/, too
_AT_ONCE = 8  # files
_NOTED = 200  # files after which what is there is noted
_NOT_OF_IT = frozenset({PUBLISHED, BUNDLE, INDEXES})  # in a campaign's folder: made for the place where it stands


class NotPublished(CannotGoOn):
    """No whole campaign at a URI, or something else in its place; the message says what cures it."""


class Tally(Record):
    """How far a campaign got.  done: trials that were run; planned: these and those that may still be run.

    states: how many have which verdict, or are damaged.  cells: how many ended how (records.stopping.End), where a rule
    stops them.  packed: trials out of a pack.
    """

    done: int
    planned: int
    states: dict[str, int]
    cells: dict[str, int]
    packed: int


class Published(Record):
    """_published.json and the lists of what is under way.  files: by name inside the folder called `campaign`.

    tally: for those who list campaigns and read no trials; None where an older program published it.
    """

    version: Literal[1] = 1
    scenario: ScenarioName
    campaign: CampaignName
    created: str
    digest: str
    tally: Tally | None = None
    files: tuple[Listed, ...]

    def is_of(self, campaign: Campaign) -> bool:
        """Whether it is the same execution of the same scenario."""
        mine = (campaign.scenario, campaign.created, campaign.digest)
        return (self.scenario, self.created, self.digest) == mine


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """copied, kept, removed: files that were written, were there already, and were there and are of no use now."""

    copied: tuple[Listed, ...]
    kept: tuple[Listed, ...]
    removed: tuple[str, ...]


def read_published(target: Remote) -> Published:
    """The list of a published campaign.  Raises NotPublished when there is none, Unreachable."""
    try:
        return Published.model_validate_json((target / PUBLISHED).read_bytes())
    except NotThere as error:
        raise NotPublished(
            f"{target}: no campaign that has been published as a whole ({PUBLISHED} is missing, which comes last); "
            "`lab publish CAMPAIGN URI` copies one there, and goes on with one that was interrupted"
        ) from error
    except ValidationError as error:
        raise NotPublished(f"{target / PUBLISHED}: {error}") from error


def must_be_whole(folder: Path) -> None:
    """NotPublished when `folder`, of this machine, holds a campaign that has been copied there in part."""
    if not is_whole(folder):
        raise NotPublished(f"{folder}: a campaign that was not copied to its end; `lab publish` again goes on with it")


def is_whole(folder: Path) -> bool:
    """Whether no campaign has been copied in part to `folder`."""
    return (folder / PUBLISHED).exists() or not any(folder.glob(f"{UNDER_WAY}*"))


def published_below(place: Remote) -> dict[Remote, Published | NotPublished]:
    """The campaigns at a URI, in folders of it and in folders of these; instead of a list, why it is no whole one.

    A listing for each folder that is looked into, and none inside a campaign.  Raises NotPublished when there is no
    campaign, Unreachable.
    """
    found: list[Remote] = []
    level = [place]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in range(_LEVELS):
            below: list[Remote] = []
            for one, (files, folders) in zip(level, pool.map(Remote.entries, level), strict=True):
                if any(name == PUBLISHED or name.startswith(UNDER_WAY) for name in files):
                    found.append(one)
                else:
                    below += folders
            level = below
        lists = list(pool.map(_read_or_why, found))
    if not found:
        raise NotPublished(
            f"{place}: no campaign has been published there or in folders of it; "
            "`lab publish CAMPAIGN URI` copies one there"
        )
    return dict(zip(found, lists, strict=True))


def _read_or_why(target: Remote) -> Published | NotPublished:
    try:
        return read_published(target)
    except NotPublished as error:
        return error


def publish(folder: Path, target: Remote, *, tally: Tally | None = None) -> Copied:
    """Copy the campaign in `folder` to `target`, whole or without its list; what is there already stays.

    tally: what the list says of it.  The caller holds the campaign's lock.  Raises NotPublished when something else
    stands at `target`, when that has more of a trial than `folder` or a file did not arrive as it was sent,
    Unreachable, DamagedTrial when campaign.json cannot be read, OSError.
    """
    campaign = read_campaign(folder)
    about = Published(
        scenario=campaign.scenario, campaign=folder.name, created=campaign.created, digest=campaign.digest,
        tally=tally, files=(),
    )  # fmt: skip
    there = target.files()
    before, notes, whole = _before(target, there, campaign)
    wanted = {name: _listed(folder, name) for name in sorted(_names(folder))}
    kept = {name: one for name, one in wanted.items() if before.get(name) == one and there.get(name) == one.bytes}
    left = [one for name, one in wanted.items() if name not in kept]
    useless = sorted((before.keys() & there.keys()) - wanted.keys())
    if lost := [name for name in useless if _is_lost(name, before, wanted)]:
        raise NotPublished(
            f"{target}: it has {len(lost)} files of trials that {folder} has no longer, the first {lost[0]}, and would "
            "lose them; name another URI for a copy without them"
        )
    same = whole is not None and whole.tally == tally and BUNDLE in there
    if same and not left and not useless:
        _remove(target, notes)
        return Copied(copied=(), kept=tuple(kept.values()), removed=())
    noting = _Noting(target, about, first=_behind(notes))
    noting.note(before.values() if PUBLISHED in there else ())  # first of all, so that what comes is known as ours
    if PUBLISHED in there:
        (target / PUBLISHED).unlink()
    try:
        for one in _sent(folder, target, left):
            noting.add(one)
    finally:
        noting.end()
    _remove(target, useless)
    _check_sizes(target, wanted)
    (target / BUNDLE).write(encode(folder, wanted))
    (target / PUBLISHED).write(_encoded(about, wanted.values()))
    _remove(target, (*notes, *noting.names))
    return Copied(copied=tuple(left), kept=tuple(kept.values()), removed=tuple(useless))


def _is_lost(name: str, before: Mapping[str, Listed], wanted: Mapping[str, Listed]) -> bool:
    """Whether a file there, which is not here, is of a trial that is here: of one that was not run again since."""
    cell, _, rest = name.partition("/")
    trial, _, file = rest.partition("/")
    if not is_trial(trial) or file in (PACKED, REDUCED, LATENCIES):  # a pack's, where the trial itself has come back
        return False
    record = f"{cell}/{trial}/{MANIFEST}"
    return record in wanted and before.get(record) == wanted[record]


def _remove(target: Remote, names: Iterable[str]) -> None:
    for name in names:
        (target / name).unlink()


def _behind(notes: Iterable[str]) -> int:
    """A number above those of these notes, some of which may have been removed already."""
    numbers = (name.removeprefix(UNDER_WAY).removesuffix(".json") for name in notes)
    return 1 + max((int(one) for one in numbers if one.isdecimal()), default=-1)


class _Noting:
    """Notes what has been copied, every few files, so that little is copied twice."""

    def __init__(self, target: Remote, about: Published, *, first: int) -> None:
        self._target, self._about, self._first = target, about, first
        self._new: list[Listed] = []
        self.names: list[str] = []

    def add(self, one: Listed) -> None:
        """A file is there."""
        self._new.append(one)
        if len(self._new) == _NOTED:
            self.end()

    def end(self) -> None:
        """Note what has not been noted yet."""
        if self._new:
            self.note(self._new)
            self._new = []

    def note(self, files: Iterable[Listed]) -> None:
        """Note these files."""
        name = f"{UNDER_WAY}{self._first + len(self.names):05d}.json"
        (self._target / name).write(_encoded(self._about, files))
        self.names.append(name)


def _encoded(about: Published, files: Iterable[Listed]) -> bytes:
    found = about.model_copy(update={"files": tuple(sorted(files, key=lambda one: one.file))})
    return f"{found.model_dump_json(indent=1)}\n".encode()


def _before(
    target: Remote, there: Mapping[str, int], campaign: Campaign
) -> tuple[dict[str, Listed], list[str], Published | None]:
    """What earlier commands copied, the names of the lists of what is under way, and the list of a whole campaign."""
    notes = sorted(name for name in there if name.startswith(UNDER_WAY))
    lists: dict[str, Published] = {}
    for name in (*notes, *({PUBLISHED} & there.keys())):
        with suppress(ValidationError, NotThere):  # what was cut off has been copied for nothing
            lists[name] = Published.model_validate_json((target / name).read_bytes())
    if there and not lists:
        raise NotPublished(
            f"{target}: there are {len(there)} files already, and no list of a campaign; name another URI"
        )
    for one in lists.values():
        if not one.is_of(campaign):
            raise NotPublished(
                f"{target}: another campaign is there ({one.scenario} of {one.created}); name another URI"
            )
    return {listed.file: listed for one in lists.values() for listed in one.files}, notes, lists.get(PUBLISHED)


def _names(folder: Path) -> Iterator[str]:
    """The campaign's files, by their names inside its folder; not those of trials that are being written, nor ours.

    NotPublished for a link: what it points at may be of another machine, or nobody's to give away.
    """
    for root, folders, names in os.walk(folder, onerror=_raise):
        top = Path(root) == folder
        folders[:] = [name for name in folders if not (name.startswith(PARTIAL) or (top and name in _NOT_OF_IT))]
        mine = [name for name in names if not (name.startswith(FRESH) or (top and _is_ours(name)))]
        for name in (*folders, *mine):
            if (path := Path(root) / name).is_symlink():
                raise NotPublished(f"{path}: a link, and links are not published; put what it points at in its place")
        for name in mine:
            if (path := Path(root) / name).is_file() and not is_partial(name):
                yield path.relative_to(folder).as_posix()


def _raise(error: OSError) -> None:
    raise error


def _is_ours(name: str) -> bool:
    return name in _NOT_OF_IT or name == f".{RECORD}" or name.startswith(UNDER_WAY)


def _listed(folder: Path, name: str) -> Listed:
    with (folder / name).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Listed(file=name, bytes=file.tell(), sha256=digest)


def _sent(folder: Path, target: Remote, files: Sequence[Listed]) -> Iterator[Listed]:
    """Copy the files, several at once, and give each when it has been read back.  After a failure no more are begun."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        under_way = {pool.submit(_send, folder, target, one): one for one in files}
        try:
            for future, one in under_way.items():
                future.result()
                yield one
        finally:
            pool.shutdown(cancel_futures=True)


def _send(folder: Path, target: Remote, one: Listed) -> None:
    try:
        (target / one.file).write(folder / one.file)
    except FileNotFoundError as error:
        raise NotPublished(
            f"{folder / one.file}: it has gone since the copying began; `lab publish` again goes on"
        ) from error
    for _ in _checked(target, one):
        pass


def fetch(target: Remote, files: Iterable[Listed], folder: Path, *, known: Path | None = None) -> None:
    """Copy these files from `target` to `folder`, several at once.

    known: a folder, which may be another machine's, where some of them are: those are not fetched.  Raises NotPublished
    when one is not what the list says, Unreachable, OSError.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(lambda one: _fetch(target, one, folder / one.file, known), files):
            pass


def fetch_records(
    target: Remote, files: Iterable[Listed], folder: Path, *, if_bundled: Iterable[Listed] = ()
) -> None:  # fmt: skip
    """As `fetch`, by one call for all files that are in the bundle; those `if_bundled` are fetched in no other way."""
    needed = {one.file: one for one in files}
    wanted = needed | {one.file: one for one in if_bundled}
    for name, content in bundled(target):
        one = wanted.get(name)
        if one is not None and hashlib.sha256(content).hexdigest() == one.sha256:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            needed.pop(name, None)
    fetch(target, needed.values(), folder)


def _fetch(target: Remote, one: Listed, path: Path, known: Path | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if known is not None and (known / one.file).is_file() and _listed(known, one.file) == one:
        shutil.copyfile(known / one.file, path)
        return
    with path.open("wb") as out:
        for part in _checked(target, one):
            out.write(part)


def _checked(target: Remote, one: Listed) -> Iterator[memoryview]:
    """The content of a file, part after part; NotPublished at its end when it is not the one that is listed."""
    digest, size = hashlib.sha256(), 0
    with (target / one.file).open() as file:
        for part in file.parts():
            digest.update(part)
            size += len(part)
            yield part
    must_be(target, one, size=size, sha256=digest.hexdigest())


def must_be(target: Remote, one: Listed, *, size: int, sha256: str) -> None:
    """NotPublished where a file of `target` that was read is not the one that is listed."""
    if (size, sha256) != (one.bytes, one.sha256):
        raise NotPublished(f"{target / one.file}: its {size} bytes are not those that were published")


def _check_sizes(target: Remote, wanted: Mapping[str, Listed]) -> None:
    there = target.files()
    lacking = [name for name, one in wanted.items() if there.get(name) != one.bytes]
    if lacking:
        raise NotPublished(f"{target}: {len(lacking)} files are not there as they were sent, the first {lacking[0]}")
