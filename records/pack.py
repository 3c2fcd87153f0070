"""A campaign as one file: what may be in it, and taking it out again.

    pack.json                           first: every other file with its size and SHA-256, by name
    campaign.json, scenario.yaml
    <cell>/trial-NNN/                   TRIAL, and LEDGERS when they were asked for
    <cell>/.set-aside-trial-NNN-N/      ASIDE

Packs are untrusted: names have exactly these shapes, sizes are bounded before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from records.archive import BadArchive, Member, Reader, member, write
from records.campaign import Campaign, read_campaign
from records.errors import CannotGoOn
from records.filenames import LINK, MANIFEST, RECORD, VERDICT
from records.packed import FOLDER_NAME, LATENCIES, PACKED, REDUCED, CampaignName, Digest, ScenarioName
from records.record import Record
from records.schema import FURTHER_TABLES, TABLES
from records.store import SET_ASIDE, WHY, DamagedTrial, Trial, aside_of, trial_name, trials

INDEX, SUFFIX, SCENARIO = "pack.json", ".airwire.tar.xz", "scenario.yaml"
TRIAL = (MANIFEST, LINK, VERDICT, PACKED, REDUCED, LATENCIES)
LEDGERS = tuple(f"{name}.parquet" for name in (*TABLES, *FURTHER_TABLES))
ASIDE = (MANIFEST, VERDICT, WHY)
MOST_BYTES, MOST_FILES, MOST_RECORD = 4 << 30, 200_000, 64 << 20
MOST_PACKED = 2 * MOST_BYTES  # of a file: what cannot be compressed is a little longer for it
MOST_ROWS = 50_000_000  # of a ledger: 3 GB in memory
_CELL = re.compile(FOLDER_NAME)
_ASIDE = rf"{re.escape(SET_ASIDE)}trial-([0-9]{{3,9}})-[1-9][0-9]{{0,8}}"
_IN_CELL = re.compile(rf"({FOLDER_NAME})/(?:trial-([0-9]{{3,9}})|{_ASIDE})/([^/]+)")


class BadPack(CannotGoOn):
    """A file that is no pack, or a damaged or hostile one; the message names it and what is wrong."""


class Entry(Record):
    name: str
    bytes: int = Field(ge=0)
    sha256: Digest


class Index(Record):
    """pack.json.  campaign: name of its folder.  files: sorted by name."""

    version: Literal[1] = 1
    scenario: ScenarioName
    campaign: CampaignName
    files: tuple[Entry, ...]


def write_pack(path: Path, *, scenario: str, campaign: str, members: Iterable[Member]) -> None:
    """Write a pack; BadPack when it would be one that `extract` refuses."""
    ordered = sorted(members, key=lambda one: one.name)
    entries = tuple(Entry(name=one.name, bytes=one.bytes, sha256=one.sha256) for one in ordered)
    try:
        index = Index(scenario=scenario, campaign=campaign, files=entries)
        check(index)
        write(path, [member(INDEX, f"{index.model_dump_json(indent=1)}\n".encode()), *ordered])
    except (BadArchive, ValidationError, ValueError) as error:
        raise BadPack(f"{campaign} cannot be packed: {error}") from error


def extract(path: Path, folder: Path) -> tuple[Index, Campaign]:
    """Write the files of the pack at `path` below `folder`, which is empty, and check each of them.

    BadPack when anything in it is not as it must be; what was written until then is the caller's to remove.
    """
    try:
        with path.open("rb", buffering=0) as file:
            index = _extract(Reader(file), folder)
        return index, _checked_records(folder, index)
    except DamagedTrial as error:
        raise BadPack(f"{path}: {str(error).replace(f'{folder}/', '')}") from error
    except (BadArchive, ValidationError, ValueError) as error:
        raise BadPack(f"{path}: {error}") from error


def _extract(reader: Reader, folder: Path) -> Index:
    index = Index.model_validate_json(reader.first(INDEX, most=MOST_RECORD))
    check(index)
    for entry in index.files:
        target = folder / entry.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            if reader.copy(entry.name, entry.bytes, file) != entry.sha256:
                raise BadArchive(f"{entry.name}: its content does not have the digest that {INDEX} says")
    reader.end()
    return index


def _checked_records(folder: Path, index: Index) -> Campaign:
    campaign = read_campaign(folder)
    if campaign.scenario != index.scenario:
        raise DamagedTrial(f"{folder / RECORD}: scenario {campaign.scenario!r}, {INDEX} says {index.scenario!r}")
    for name in dict.fromkeys((*(cell.name for cell in campaign.cells), *(one.cell for one in campaign.order))):
        if not _CELL.fullmatch(name):  # a folder of this name will be made
            raise DamagedTrial(f"{folder / RECORD}: {name!r} is no name for a cell")
    known = {cell.name for cell in campaign.cells}
    if strange := [one.cell for one in campaign.order if one.cell not in known]:
        raise DamagedTrial(f"{folder / RECORD}: it plans trials of {strange[0]!r}, which is none of its cells")
    seeds = {(one.cell, one.trial): one.seed for one in campaign.order}
    if len(seeds) < len(campaign.order):
        raise DamagedTrial(f"{folder / RECORD}: it plans a trial twice")
    for trial in trials(folder):
        check_trial(trial)
        check_ledgers(trial)
        seed, planned = trial.manifest().seed, seeds.get((trial.path.parent.name, trial.number))
        if seed != planned:
            raise DamagedTrial(f"{trial.path / MANIFEST}: its seed is {seed}, and {RECORD} plans {planned or 'none'}")
        if trial.packed() is None:
            raise DamagedTrial(f"{trial.path}: there is no {PACKED} in it")
    for path in aside_of(folder):
        Trial(path).manifest(), Trial(path).verdict()
    return campaign


def check_trial(trial: Trial) -> None:
    """Read a trial's records; DamagedTrial when one cannot be read or is of another trial."""
    manifest = trial.manifest()
    trial.link(), trial.verdict(), trial.packed()
    for capture in manifest.captures:
        if capture.file in ("", ".", "..") or "/" in capture.file or "\0" in capture.file:
            raise DamagedTrial(f"{trial.path / MANIFEST}: {capture.file!r} is no name for a capture")
    if (manifest.cell.name, manifest.trial) != (trial.path.parent.name, trial.number):
        raise DamagedTrial(f"{trial.path / MANIFEST}: it is of {manifest.cell.name}/{trial_name(manifest.trial)}")


def check_ledgers(trial: Trial) -> None:
    """DamagedTrial when a ledger has more rows than a pack's may have, which a few bytes can claim."""
    for name in LEDGERS:
        if not (path := trial.path / name).is_file():
            continue
        try:
            about = pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            continue  # damage, as its reduction says, and nobody reads a row of it
        rows = max(about.num_rows, sum(about.row_group(number).num_rows for number in range(about.num_row_groups)))
        if rows > MOST_ROWS:
            raise DamagedTrial(f"{path}: {rows} rows, more than a pack's ledger may have ({MOST_ROWS})")


def check(index: Index) -> None:
    """Raises ValueError when a name, a size or the set of files is not one of a pack."""
    if len(index.files) > MOST_FILES:
        raise ValueError(f"{len(index.files)} files, more than {MOST_FILES}")
    total = sum(entry.bytes for entry in index.files)
    if total > MOST_BYTES:
        raise ValueError(f"{total} bytes in all, more than {MOST_BYTES}")
    names = [entry.name for entry in index.files]
    if any(first >= second for first, second in pairwise(names)):
        raise ValueError("its files are not in order, or one is there twice")
    for entry in index.files:
        if entry.bytes > MOST_RECORD and not entry.name.endswith(".parquet"):
            raise ValueError(f"{entry.name}: {entry.bytes} bytes, more than {MOST_RECORD}")
    _check_names(names)


def _check_names(names: Sequence[str]) -> None:
    folders: dict[str, set[str]] = {}
    for name in names:
        if name in (RECORD, SCENARIO):
            continue
        found = _IN_CELL.fullmatch(name)
        known = () if found is None else (*TRIAL, *LEDGERS) if found[2] else ASIDE
        number = found and int(found[2] or found[3])
        if found is None or found[4] not in known or f"trial-{found[2] or found[3]}" != trial_name(number or 0):
            raise ValueError(f"{name!r} is no file of a campaign")
        folders.setdefault(name.rpartition("/")[0], set()).add(found[4])
    if RECORD not in names:
        raise ValueError(f"there is no {RECORD} in it")
    for folder, files in folders.items():
        least = {MANIFEST, VERDICT} if SET_ASIDE in folder else set(TRIAL)
        if missing := sorted(least - files):
            raise ValueError(f"{folder}: there is no {missing[0]} in it")
