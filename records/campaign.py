"""Campaign folders: what a campaign was asked to do, and where the latest one is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from records.comparing import Compared, compared
from records.filenames import RECORD
from records.record import Record
from records.stopping import Rule
from records.store import DamagedTrial, sync, write_record


class Cell(Record):
    """A cell as planned: its folder name, the level of each factor, and the resolved settings."""

    name: str
    levels: dict[str, str]
    settings: dict[str, Any]


class Planned(Record):
    """One trial in the order in which the campaign runs them."""

    cell: str
    trial: int
    seed: int


class Campaign(Record):
    """campaign.json.  digest: of the scenario, every default and every link profile it names.

    compare, baseline: the factor whose levels are compared, and the level that the others are compared with; None when
    nothing is compared.  An older record names no factor.
    order: every trial that may be run; with a stopping rule a cell ends as soon as it is precise enough.
    """

    scenario: str
    question: str = ""
    digest: str
    created: str
    seed: int
    factors: dict[str, tuple[str, ...]]
    compare: str | None = None
    baseline: str | None
    cells: tuple[Cell, ...]
    order: tuple[Planned, ...]
    stopping: Rule | None = None

    @property
    def compared(self) -> Compared | None:
        """What is compared, None when nothing is."""
        return compared(self.factors, factor=self.compare, baseline=self.baseline)

    def by(self, factor: str) -> Campaign:
        """The same campaign with another factor compared, against its first level."""
        found = self.compared
        if found is not None and found.factor == factor:
            return self
        return self.model_copy(update={"compare": factor, "baseline": None})


def read_campaign(folder: Path) -> Campaign:
    """Read a campaign folder's record; DamagedTrial when it cannot be read."""
    path = folder / RECORD
    try:
        return Campaign.model_validate_json(path.read_text())
    except (OSError, ValidationError, ValueError) as error:
        raise DamagedTrial(f"{path}: {error}") from error


def put_record(folder: Path, campaign: Campaign) -> None:
    """Put the record in its place, whole: nobody reads half of it, whatever happens meanwhile."""
    fresh = folder / f".{RECORD}"
    try:
        write_record(fresh, campaign)
        sync(fresh)
        fresh.replace(folder / RECORD)
    finally:
        fresh.unlink(missing_ok=True)  # a disk that is full has to have its room back
    sync(folder)


def write_campaign(folder: Path, campaign: Campaign, beside: Mapping[str, bytes] | None = None) -> None:
    """Write the record and the files that lie beside it, by name, and point `latest` beside the folder at it.

    FileExistsError when there is such a folder; no folder stays when the disk does not take it, or an interrupt comes.
    """
    folder.mkdir(parents=True)
    try:
        for name, content in (beside or {}).items():
            (folder / name).write_bytes(content)
        put_record(folder, campaign)
        point_latest(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def point_latest(folder: Path) -> None:
    """Point `latest` beside a campaign's folder at it."""
    fresh = folder.parent / f".latest-{folder.name}"
    fresh.symlink_to(folder.name)
    fresh.replace(folder.parent / "latest")
