"""Packing synthetic campaigns without Spark."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from analysis.details import Reduced
from analysis.pack import packing
from analysis.rows import SCHEMA
from analysis.trial import reduce_trial
from records.campaign import read_campaign
from records.manifest import Git
from records.pack import write_pack

REVISION = Git(revision="ab" * 20, dirty=False)


def reduced(paths: Sequence[Path]) -> pa.Table:
    """The rows of trials, one after the other."""
    return pa.Table.from_batches([reduce_trial(path, number) for number, path in enumerate(paths)], SCHEMA)


def pack(campaign: Path, to: Path, *, ledgers: bool = False) -> Path:
    """Write the pack of a campaign to `to` and return that."""
    with TemporaryDirectory() as below:
        found = packing(
            campaign, Path(below), reduce=lambda paths: Reduced(rows=reduced(paths)), revision=REVISION, ledgers=ledgers
        )
        write_pack(to, scenario=read_campaign(campaign).scenario, campaign=campaign.name, members=found.members)
    return to


def copy(campaign: Path, root: Path) -> Path:
    """A campaign's folder once more, below `root`."""
    return shutil.copytree(campaign, root / campaign.parent.name / campaign.name)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
