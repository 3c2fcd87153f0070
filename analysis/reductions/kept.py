"""One trial's reduction beside its campaign: its rows as a pack has them, and of what and by which code they were made.

    <campaign>/reduced/cell=C/trial=N/reduced.parquet, _reduction.json

Each file is put in place whole; the record comes last and has the digest of the rows, so that what a killed command
left is never taken for whole.  Names that begin with `_` are passed over by whatever reads partitioned Parquet.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from analysis.details import without
from analysis.looked import Looked
from analysis.packed import encode, read_rows, without_folder
from analysis.partial import PARTIAL
from analysis.rows import Rows
from analysis.trial import reduce_trial
from records.errors import CannotGoOn
from records.packed import PACKED, REDUCED, Digest
from records.record import Record
from records.store import FRESH, DamagedTrial, Trial

FOLDER, RECORD = "reduced", "_reduction.json"
KEPT, MADE_OF = "kept", "made of"  # tables of what tasks say of rows
_MAY_BE_WRITTEN_S = 86_400.0  # so long after it was made, at most: that of `shared` is there for a whole report
_FAILED = ("damage", PARTIAL)
_LONGEST = 200  # of a folder's name, which has 255 characters at most
Stamps = Mapping[str, tuple[int, int]]


class Input(Record):
    """A file of the trial when it was reduced."""

    file: str
    bytes: int = Field(ge=0)
    mtime_ns: int
    sha256: Digest


class Reduction(Record):
    """code: digest of modules and libraries that made it (code.py).  made: when, UTC.  inputs: the trial's files."""

    version: Literal[1] = 1
    code: Digest
    made: str
    inputs: tuple[Input, ...]
    reduced_sha256: Digest


class OtherFiles(CannotGoOn):
    """A task has read other files of a trial than this process sees; the message names the trial."""


class State(StrEnum):
    """How a trial's kept reduction stands.  AWAY: captures that it was made of are gone, and nothing has changed."""

    CURRENT = "current"
    AWAY = "of captures that are gone"
    NONE = "none"
    OTHER_CODE = "by other code or libraries"
    CHANGED = "of files that have changed"
    DAMAGED = "damaged"

    @property
    def usable(self) -> bool:
        """Whether the rows are the trial's.  Where captures are gone nothing could make them again."""
        return self in (State.CURRENT, State.AWAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """why: what is wrong with a damaged one.  away: names of captures that are gone.  record: where it is readable."""

    state: State
    why: str = ""
    away: tuple[str, ...] = ()
    record: Reduction | None = None

    @property
    def usable(self) -> bool:
        """As State has it."""
        return self.state.usable


def place_of(trial: Path) -> Path:
    """The folder of the reduction of the trial at `trial`."""
    cell = quote(trial.parent.name, safe="")
    if len(cell) > _LONGEST:  # a letter of another alphabet takes six to nine of these
        cell = f"{cell[:_LONGEST]}-{hashlib.sha256(cell.encode()).hexdigest()[:8]}"
    return trial.parent.parent / FOLDER / f"cell={cell}" / f"trial={Trial(trial).number}"


def stamps(trial: Path) -> Stamps:
    """Size and time of change of the files in a trial's folder, by name: what stands deeper is not reduced.

    Of a folder that cannot be read there are none, and reducing it says why.
    """
    found = {}
    with suppress(OSError):
        for entry in os.scandir(trial) if trial.is_dir() else ():
            if entry.is_file():
                stat = entry.stat()
                found[entry.name] = stat.st_size, stat.st_mtime_ns
    return found


def look(trial: Path, code: str) -> Kept:
    """How the reduction that is kept of a trial stands with the trial's files and with `code`."""
    place = place_of(trial)
    if not (place / RECORD).exists():
        return Kept(state=State.NONE)
    try:
        record = Reduction.model_validate_json((place / RECORD).read_text())
    except (OSError, ValueError) as error:
        return Kept(state=State.DAMAGED, why=f"{place / RECORD}: {error}")
    now = stamps(trial)
    found = judged(
        record, code, trial=trial, names=now, same=lambda one: _is_same(trial / one.file, one, now[one.file])
    )  # fmt: skip
    if found.state is not State.CHANGED and (fault := _fault(place / REDUCED, record)):
        return Kept(state=State.DAMAGED, why=fault, record=record)
    return found


def judged(record: Reduction, code: str, *, trial: Path, names: Collection[str], same: Callable[[Input], bool]) -> Kept:
    """How a reduction stands with `code` and the files that a trial has, by `names`; its records are in `trial`.

    same: whether an input that is among them has the content that it had.
    """
    away = tuple(one.file for one in record.inputs if one.file not in names)
    here = [one for one in record.inputs if one.file in names]
    changed = not all(same(one) for one in here)
    if changed or not _captures(trial, away) or (not away and len(names) > len(here)):
        return Kept(state=State.CHANGED, record=record)
    if away:
        return Kept(state=State.AWAY, away=away, record=record)
    return Kept(state=State.CURRENT if record.code == code else State.OTHER_CODE, record=record)


def rows_of(trial: Path) -> pa.Table:
    """The rows that are kept of a trial, of number 0; DamagedTrial, OSError when they cannot be read."""
    path = place_of(trial) / REDUCED
    return read_rows(path.read_bytes(), path=str(path))


@dataclass(frozen=True, slots=True)
class KeptRows:
    """All rows of `trial`, from the file `path` of that digest; made again where it is no longer that."""

    trial: Path
    path: Path
    sha256: str

    def __call__(self) -> pa.Table:
        """In analysis.rows.SCHEMA, of any number."""
        with suppress(OSError, DamagedTrial):
            content = self.path.read_bytes()
            if hashlib.sha256(content).hexdigest() == self.sha256:
                return read_rows(content, path=str(self.path))
        return _made(self.trial, 0)

    def digest(self) -> str:
        """SHA-256 of the file, '' where it is no longer that, so that the rows would be made again."""
        with suppress(OSError):
            return self.sha256 if _sha256(self.path) == self.sha256 else ""
        return ""


def kept_rows(trial: Path, sha256: str) -> KeptRows:
    """What reads the rows that are kept of a trial, or that a pack left in its folder."""
    packed = (trial / PACKED).exists() and Trial(trial).elsewhere()
    return KeptRows(trial, (trial if packed else place_of(trial)) / REDUCED, sha256)


def keep(
    trial: Path, rows: pa.Table, *, code: str, before: Stamps, also: Sequence[Input] = (), made_of: str = ""
) -> str:  # fmt: skip
    """Keep a trial's rows, unless a file has changed since `before`, when they were about to be made.

    also: what they were made of beside the files in the trial's folder.  made_of: what the task that made them read
    (`sources`), '' where that was this process; OtherFiles when it is not what stands here.
    Returns the digest of what is kept, '' when nothing is.
    Where something failed it is tried again each time: the reason may not have been in the files.  What a pack left
    without its files has its rows with it (records.packed).  OSError when the disk does not take it.
    """
    if _failed(rows) or Trial(trial).elsewhere():
        return ""
    inputs = _inputs(trial, before)
    if stamps(trial) != before:
        return ""
    if made_of and made_of != _digest(inputs):
        raise OtherFiles(
            f"{trial}: a worker has other files under this path, on a disk of its own, so that its rows are not this "
            "trial's; give workers storage that they share with this machine, or leave --master out"
        )
    content = encode(rows)
    record = Reduction(
        code=code, made=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs=tuple(sorted([*inputs, *also], key=lambda one: one.file)),
        reduced_sha256=hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    place = place_of(trial)
    place.mkdir(parents=True, exist_ok=True)
    _put(place / REDUCED, content)
    _put(place / RECORD, f"{record.model_dump_json(indent=1)}\n".encode())
    return record.reduced_sha256


def reduce_and_keep(
    trial: Path, number: int, code: str, *, brief: bool = False, looked: Looked | None = None,
    also: Sequence[Input] = (), before: Stamps | None = None,
) -> pa.Table:  # fmt: skip
    """The trial's rows, with file names as seen from its folder, and kept where the disk takes them.

    looked: what other tasks have found in its captures (analysis.trial).  also: of what else they are made (keep).
    before: how its files stood when the first of them was read, None = nobody has read any.  brief: of what is kept,
    without its details (analysis.details), and with a row of table KEPT, whose text is the digest.
    """
    before = stamps(trial) if before is None else before
    rows = _made(trial, number, looked)
    digest = ""
    with suppress(OSError):  # whoever asked for the rows sees that they are not kept, and says so
        digest = keep(trial, rows, code=code, before=before, also=also) or _in_pack(trial, rows)
    return in_brief(rows, number, digest) if brief and digest else rows


def in_brief(rows: pa.Table, number: int, digest: str) -> pa.Table:
    """A trial's rows without details, and the digest of the file that has them."""
    said = Rows(number)
    said.add(KEPT, text=digest)
    return pa.concat_tables([without(rows), pa.Table.from_batches([said.batch()])])


def sources(trial: Path, number: int, code: str) -> pa.RecordBatch:
    """A row of table MADE_OF, for whoever does not see this folder: its text tells the trial's files from others."""
    found = look(trial, code)
    inputs = found.record.inputs if found.state is State.CURRENT and found.record else _inputs(trial, stamps(trial))
    said = Rows(number)
    said.add(MADE_OF, text=_digest(inputs))
    return said.batch()


def digests_in(rows: pa.Table, told: str = KEPT) -> tuple[pa.Table, dict[int, str]]:
    """The rows but for those of table `told`, and what these say, by trial."""
    is_told = pc.equal(rows.column("table"), told)
    said = rows.filter(is_told)
    return rows.filter(pc.invert(is_told)), dict(
        zip(said.column("trial").to_pylist(), said.column("text").to_pylist(), strict=True)
    )


def _inputs(trial: Path, seen: Stamps) -> list[Input]:
    return [
        Input(file=name, bytes=size, mtime_ns=mtime, sha256=_sha256(trial / name))
        for name, (size, mtime) in seen.items()
    ]


def _digest(inputs: Iterable[Input]) -> str:
    """Of names and contents: times of change are each disk's own."""
    return hashlib.sha256(json.dumps(sorted((one.file, one.sha256) for one in inputs)).encode()).hexdigest()


def _made(trial: Path, number: int, looked: Looked | None = None) -> pa.Table:
    return without_folder(pa.Table.from_batches([reduce_trial(trial, number, looked)]), str(trial))


def _in_pack(trial: Path, rows: pa.Table) -> str:
    """The digest of the rows that a pack left in the trial's folder, '' when these are not they."""
    try:
        packed = Trial(trial).packed() if Trial(trial).elsewhere() else None
    except DamagedTrial:
        return ""
    unread = pc.any(pc.and_(pc.equal(rows.column("table"), "damage"), pc.equal(rows.column("metric"), "reduction")))
    return "" if packed is None or unread.as_py() else packed.reduced_sha256


@contextmanager
def shared(trials: Iterable[Path]) -> Iterator[str]:
    """The name of a file beside the reductions of these trials' campaigns, while it is there.

    A task that sees it (`is_shared`) writes where this process reads.
    """
    name = f"{FRESH}shared-{uuid4().hex}"
    folders = {path.parent.parent / FOLDER for path in trials}
    try:
        for folder in folders:
            with suppress(OSError):  # nothing can be kept there: the rows come back whole
                folder.mkdir(exist_ok=True)
                (folder / name).touch()
        yield name
    finally:
        for folder in folders:
            with suppress(OSError):
                (folder / name).unlink()
            with suppress(OSError):  # something is in it
                folder.rmdir()


def is_shared(trial: Path, name: str) -> bool:
    """Whether the file `name` of `shared` is seen here."""
    return (trial.parent.parent / FOLDER / name).exists()


def _fault(path: Path, record: Reduction) -> str:
    """What is wrong with a file of rows, '' when it is the one of the record."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    same = hashlib.sha256(content).hexdigest() == record.reduced_sha256
    return "" if same else f"{path}: it is not the file that {RECORD} says"


def _failed(rows: pa.Table) -> bool:
    return pc.any(pc.is_in(rows.column("table"), pa.array(_FAILED))).as_py() is True


def _captures(trial: Path, names: Collection[str]) -> bool:
    """Whether these are all captures of the trial: without them it still counts (records.counting)."""
    try:
        return not names or {one.file for one in Trial(trial).manifest().captures}.issuperset(names)
    except DamagedTrial:
        return False


def _is_same(path: Path, one: Input, now: tuple[int, int]) -> bool:
    """Whether a file has the content that it had: a copy has another time, and is read."""
    try:
        return now[0] == one.bytes and (now[1] == one.mtime_ns or _sha256(path) == one.sha256)
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put(path: Path, content: bytes) -> None:
    fresh = path.with_name(f"{FRESH}{path.name}-{uuid4().hex}")
    try:
        fresh.write_bytes(content)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def prune(campaign: Path, unwanted: Iterable[Path]) -> int:
    """Remove these folders of reductions, and what killed commands left; returns the bytes.

    Only files that `keep` writes are removed, and folders that are empty then.  What may be being written stays.
    """
    gone = 0
    chosen = set(unwanted)
    for path in (campaign / FOLDER).glob(f"{FRESH}*"):
        gone += _removed(path)
    for place in places(campaign):
        for path in sorted(place.iterdir()):
            if path.name.startswith(FRESH) or (place in chosen and path.name in (REDUCED, RECORD)):
                gone += _removed(path)
        for folder in (place, place.parent, place.parent.parent):
            with suppress(OSError):  # something is in it
                folder.rmdir()
    return gone


def _removed(path: Path) -> int:
    """Remove a file, but for a fresh one of a command that may still run; its bytes, 0 where it stays or has gone."""
    with suppress(FileNotFoundError):  # whoever wrote it has put it in place
        about = path.stat()
        if not path.name.startswith(FRESH) or time.time() - about.st_mtime > _MAY_BE_WRITTEN_S:
            path.unlink()
            return about.st_size
    return 0


def places(campaign: Path) -> list[Path]:
    """The folders of all reductions that are kept of a campaign, those of trials that are no longer there included."""
    return sorted(path for path in (campaign / FOLDER).glob("cell=*/trial=*") if path.is_dir())
