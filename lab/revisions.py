"""What a user may call a campaign by when two are compared: its folder, its name, or the git commit it measured."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.campaign import campaign as campaigns
from lab.common import ROOT, shown
from records.campaign import read_campaign
from records.filenames import RECORD
from records.publishing import is_whole, must_be_whole
from records.store import DamagedTrial, trials

_PREFIX = re.compile(r"[0-9a-f]{7,40}")


class NotFound(Exception):
    """A name that stands for no campaign; the message says what was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The campaigns that `name` may stand for, oldest first; revision: when it is a git commit's."""

    name: str
    folders: tuple[Path, ...]
    revision: str | None = None


def named(results: Path, name: str) -> Named:
    """Campaigns by folder, by name (`lab list` shows them), by scenario, or by revision, tag or its first letters.

    Of a revision only finished campaigns count, all of whose trials carry it.  Raises NotFound, NotPublished.
    """
    path, found = Path(name), campaigns.called(results, name)
    if path.is_dir() and ((path / RECORD).is_file() or not found):
        if not (path / RECORD).is_file():
            raise NotFound(f"{name or 'an empty name'}: no campaign (there is no {RECORD} in it)")
        must_be_whole(path)
        return Named(name=name, folders=(path.resolve(),))
    if found:
        must_be_whole(found[-1])
        return Named(name=name, folders=(found[-1],))
    revision = _revision(name)
    if revision is None:
        raise NotFound(f"{name}: no folder, no campaign in {shown(results)} (`lab list` shows them), no git revision")
    of_it = tuple(folder for folder in campaigns.folders(results) if _measured(folder, revision))
    if not of_it:
        raise NotFound(f"{name}: no finished campaign in {shown(results)} was run at git revision {revision[:12]}")
    return Named(name=name, folders=of_it, revision=revision)


def choose(a: Named, b: Named) -> tuple[Path, Path]:
    """The latest campaign of B, and the latest of A of the same scenario that is another one.  Raises NotFound."""
    if len(a.folders) == len(b.folders) == 1 and a.folders != b.folders:
        return a.folders[0], b.folders[0]
    for second in reversed(b.folders):
        for first in reversed(a.folders):
            if first != second and _scenario(first) == _scenario(second):
                return first, second
    if a.folders == b.folders:
        raise NotFound(f"{a.name} and {b.name} are the same campaign: {shown(a.folders[0])}")
    kinds = [", ".join(sorted({_scenario(folder) for folder in one.folders})) for one in (a, b)]
    raise NotFound(f"no scenario was run of both: {a.name} has {kinds[0]}; {b.name} has {kinds[1]}")


def said(one: Named, chosen: Path) -> str:
    """Which campaign a name was taken for; empty when there was no choice to make."""
    if one.revision is None:
        return ""
    of_how_many = f"the latest of {len(one.folders)} campaigns" if len(one.folders) > 1 else "the campaign"
    return f"{one.name}: {shown(chosen)}, {of_how_many} of revision {one.revision[:12]}"


def _revision(name: str) -> str | None:
    command: Sequence[str] = (
        "git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}",
    )  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is not None and done.returncode == 0:
        return done.stdout.strip()
    return name if _PREFIX.fullmatch(name) else None


def _measured(folder: Path, revision: str) -> bool:
    try:
        if not is_whole(folder) or campaigns.missing(folder, read_campaign(folder)):
            return False
        return all(trial.manifest().git.revision.startswith(revision) for trial in trials(folder))
    except DamagedTrial:
        return False


def _scenario(folder: Path) -> str:
    return read_campaign(folder).scenario
