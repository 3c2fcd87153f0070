"""Trial folders: written whole or not at all, and read back.

    <root>/<scenario>/<campaign>/scenario.yaml, campaign.json, <cell>/trial-NNN/...

A trial is written into a hidden folder beside its final place and renamed when every byte is on disk, so a
folder with a trial's name is a finished trial.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from records import older
from records.errors import CannotGoOn
from records.filenames import LINK, MANIFEST, VERDICT
from records.link import LinkProof
from records.location import Place
from records.manifest import Manifest
from records.packed import PACKED, Elsewhere, Packed
from records.record import Record
from records.schema import FURTHER_TABLES, NEWER, TABLES, VERSION, tables_of
from records.verdict import Verdict

PARTIAL, SET_ASIDE, FAILED = ".partial-", ".set-aside-", ".failed-"
FRESH = ".new-"  # begins the name of a file of a reduction that is being written
FOREIGN = ".out-of-a-pack"  # in a campaign's folder: its programs are somebody else's
WHY, WHY_FAILED = "set-aside.txt", "failed.txt"
_TRIAL = re.compile(r"trial-(\d{3,})")
R = TypeVar("R", bound=Record)


class DamagedTrial(CannotGoOn):
    """A trial folder holds something that cannot be read; the message names the file and what is wrong."""


def trial_name(trial: int) -> str:
    """Folder name of trial number `trial` (from 1)."""
    return f"trial-{trial:03d}"


def is_trial(name: str) -> bool:
    """Whether a folder of that name is a finished trial's."""
    return _TRIAL.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished trial folder."""

    path: Path

    @property
    def number(self) -> int:
        """The trial's number within its cell, from 1."""
        return int(self.path.name.removeprefix("trial-"))

    def manifest(self) -> Manifest:
        """The manifest; DamagedTrial when unreadable or of another schema version."""
        return _read_record(self.path / MANIFEST, Manifest)

    def link(self, manifest: Manifest | None = None) -> LinkProof:
        """The link proof; DamagedTrial when unreadable, or older and without a readable manifest.

        manifest: the trial's, where it has been read.
        """
        proof = _read_record(self.path / LINK, LinkProof)
        if proof.states is not None:
            return proof
        manifest = manifest or self.manifest()
        stations = [node.name for node in manifest.nodes if node.role == "station"]
        try:
            return LinkProof.model_validate(proof.model_dump() | older.link(manifest.profile, stations))
        except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedTrial(f"{self.path / MANIFEST}: its profile says no link: {error}") from error

    def verdict(self) -> Verdict:
        """The verdict; DamagedTrial when unreadable."""
        return _read_record(self.path / VERDICT, Verdict)

    def packed(self) -> Packed | None:
        """What is said of a trial that came out of a pack, else None; DamagedTrial when unreadable."""
        path = self.path / PACKED
        return _read_record(path, Packed) if path.exists() else None

    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """The files that a pack left out, but for those that have been put back; DamagedTrial as `packed`."""
        packed = self.packed()
        return tuple(one for one in packed.elsewhere if not (self.path / one.file).is_file()) if packed else ()

    def table(self, name: str) -> pa.Table:
        """One of the tables of records.schema; DamagedTrial when unreadable, elsewhere or of another shape."""
        path = self.path / f"{name}.parquet"
        for one in self.elsewhere():
            if one.file == path.name:
                raise DamagedTrial(
                    f"{path} stands elsewhere: a pack left it out ({one.bytes} bytes); copy it here, "
                    "or pack with --ledgers where it stands"
                )
        return read_table(path, (TABLES | FURTHER_TABLES)[name])


def trials(campaign: Path) -> list[Trial]:
    """Every finished trial of a campaign folder, by cell name, then number."""
    cells = sorted(cell for cell in campaign.iterdir() if cell.is_dir() and not cell.name.startswith("."))
    return [trial for cell in cells for trial in trials_of(cell)]


def trials_of(cell: Path) -> list[Trial]:
    """Every finished trial of a cell's folder, by number; none when there is no such folder."""
    names = os.listdir(cell) if cell.is_dir() else []
    return sorted((Trial(cell / name) for name in names if is_trial(name)), key=lambda trial: trial.number)


class TrialWriter:
    """A trial being written at `path`; `commit` gives it its name, `discard` removes it."""

    def __init__(self, campaign: Path, cell: str, trial: int) -> None:
        self.final = campaign / cell / trial_name(trial)
        self.path = self.final.with_name(PARTIAL + self.final.name)

    def open(self) -> Path:
        """Make the folder (without what an earlier, interrupted attempt left) and return it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        return self.path

    def commit(self) -> Trial:
        """Check that the folder is complete, put it on disk and rename it to its final name."""
        candidate = Trial(self.path)
        rows = candidate.manifest().rows
        candidate.link(), candidate.verdict()
        for name in tables_of(rows):
            candidate.table(name)
        sync_tree(self.path)
        self.path.rename(self.final)
        sync(self.final.parent)
        return Trial(self.final)

    def withdraw(self) -> None:
        """Remove the finished folder, if there is one; it is never seen half removed."""
        with suppress(FileNotFoundError):
            self.final.rename(self.path)
        self.discard()

    def discard(self) -> None:
        """Remove the unfinished folder."""
        shutil.rmtree(self.path, ignore_errors=True)


def aside(trial: Trial) -> list[Path]:
    """Where earlier runs of a trial are kept that were set aside, oldest first."""
    return sorted(trial.path.parent.glob(f"{SET_ASIDE}{trial.path.name}-*"), key=lambda path: (_run_of(path), path))


def _run_of(path: Path) -> int:
    """The number of a run that was set aside; 0 where its folder has none."""
    number = path.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def aside_of(campaign: Path) -> list[Path]:
    """Every folder of a campaign that holds a trial that was set aside, by name."""
    return sorted(path for path in campaign.glob(f"*/{SET_ASIDE}*") if path.is_dir())


def set_aside(trial: Trial, why: str) -> Path:
    """Keep a finished trial under a hidden name, so that it is no result of the campaign; returns the new path."""
    number = 1 + max(map(_run_of, aside(trial)), default=0)  # a user may have removed any
    path = trial.path.rename(trial.path.with_name(f"{SET_ASIDE}{trial.path.name}-{number}"))
    with suppress(OSError):  # on a full disk it is set aside all the same
        (path / WHY).write_text(f"{why}\n")
    return path


def why_aside(path: Path) -> str:
    """Why the trial at `path` was set aside."""
    try:
        return (path / WHY).read_text().strip()
    except OSError:
        return "the machine stalled"


def failed_folder(trial: Path) -> Path:
    """Where the logs of the run that failed are kept, of the trial at that place, until one succeeds."""
    return trial.with_name(f"{FAILED}{trial.name}")


def note_failed(trial: Path, why: str) -> None:
    """Write down why a trial's last run failed, unless there is no room: that may be why."""
    folder = failed_folder(trial)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WHY_FAILED).write_text(f"{why}\n")


def why_failed(trial: Path) -> str:
    """Why a trial's last run failed; '' where it did not, or nobody has written it down."""
    try:
        return (failed_folder(trial) / WHY_FAILED).read_text().strip()
    except OSError:
        return ""


def remove_partials(campaign: Path) -> list[Path]:
    """Remove what interrupted trials left.  The caller holds the campaign's lock, so nobody is writing them."""
    stale = sorted(campaign.glob(f"*/{PARTIAL}*"))
    for folder in stale:
        shutil.rmtree(folder)
    return stale


def write_table(path: Path, table: pa.Table) -> None:
    """Write a ledger table, compressed; the schema is the caller's to have right."""
    pq.write_table(table, path, compression="zstd")


def read_table(path: Place, schema: pa.Schema) -> pa.Table:
    """Read a table and check its shape; DamagedTrial names what is wrong."""
    try:
        # A file: the dataset layer would read partition values out of cell folder names.  One of Arrow's: its threads
        # may still hold one of Python's when Python ends, which aborts the process (apache/arrow#34314).
        with pa.OSFile(str(path)) if isinstance(path, Path) else pa.BufferReader(path.read_bytes()) as file:
            table = pq.ParquetFile(file).read()
    except (OSError, pa.ArrowException) as error:
        raise DamagedTrial(f"{path}: {error}") from error
    for position, one in enumerate(schema):
        if one.name in NEWER and one.name not in table.column_names:
            table = table.add_column(min(position, table.num_columns), one, pa.nulls(table.num_rows, one.type))
    if table.schema.remove_metadata() != schema:
        raise DamagedTrial(f"{path}: columns are {table.schema.names}, expected {schema.names} with their types")
    return table


def write_record(path: Path, record: Record) -> None:
    """Write a record as indented JSON."""
    path.write_text(record.model_dump_json(indent=1) + "\n")


def _read_record(path: Path, kind: type[R]) -> R:
    try:
        text = path.read_text()
        try:
            found = kind.model_validate_json(text)
        except ValidationError:
            if kind is Manifest:  # of another version it has another shape
                _must_be_ours(path, json.loads(text).get("schema_version"))
            raise
    except (OSError, ValidationError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedTrial(f"{path}: {error}") from error
    if isinstance(found, Manifest):  # one that says no version is nobody's: the default is for those who write
        _must_be_ours(path, found.schema_version if "schema_version" in found.model_fields_set else None)
    return found


def _must_be_ours(path: Path, version: object) -> None:
    if version != VERSION:
        raise DamagedTrial(f"{path}: schema version {version!r}, this program reads version {VERSION}")


def sync_tree(folder: Path) -> None:
    """Put a folder and all that is in it on disk."""
    for entry in _walk(folder):
        sync(entry)


def _walk(folder: Path) -> Iterator[Path]:
    for root, _, files in os.walk(folder):
        yield from (Path(root) / name for name in files)
        yield Path(root)


def sync(path: Path) -> None:
    """Put one file, or the names in one folder, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
