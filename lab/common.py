"""What the verbs share: where results are, how errors end, how a campaign is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from emulation import congestion, media
from emulation.library import ProfileError
from emulation.namespace import KernelError
from experiments import campaign as campaigns
from experiments.campaign import CampaignError
from experiments.deploy import DeployError
from experiments.kernels import NOT_IN_THE_LAB, WANTED, Kernels, NotPossible
from experiments.papers import UnknownPaper
from experiments.runner import GaveUp
from experiments.scenario import ScenarioError
from experiments.sharedmachine import NeitherYesNorNo
from results.pack import BadPack
from results.store import DamagedTrial

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_RESULTS = ROOT / "results"
_WIDE = 400  # columns where nobody watches: nothing is folded


def is_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


out = Console(highlight=False, width=None if is_terminal() else _WIDE)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class Status(IntEnum):
    """Exit statuses of `lab`."""

    ALL_VALID = 0
    FAILED = 1
    USAGE = 2
    NOT_ALL_VALID = 3
    TIME_IS_UP = 4
    INTERRUPTED = 130


# What is wrong comes before what is unfinished, and that before verdicts, which are told in words in any case.
_SEVERITY = [Status.ALL_VALID, Status.NOT_ALL_VALID, Status.TIME_IS_UP, Status.FAILED, Status.INTERRUPTED]


def gravest(*statuses: Status) -> Status:
    """The status of a command whose parts ended with these."""
    return max(statuses, key=_SEVERITY.index)


Results = Annotated[
    Path,
    typer.Option(
        "--results",
        envvar="AIRWIRE_RESULTS",
        help="Folder that campaigns are written to and read from.",
        file_okay=False,
    ),
]

Kernel = Annotated[
    str,
    typer.Option(
        "--kernel",
        envvar="AIRWIRE_RUN_ON",
        help="host: this machine's own kernel; lab: the embedded one; auto: the own if it can do what the link needs.",
    ),
]

Medium = Annotated[
    str,
    typer.Option(
        "--medium",
        envvar="AIRWIRE_MEDIUM",
        help="What makes links. tc: htb, netem and nftables; line: ours in user space, on this machine's own kernel; "
        "auto: what suits kernel and profile.",
    ),
]

_USAGE_ERRORS = (NeitherYesNorNo, ScenarioError, ProfileError, UnknownPaper)
_FAILURES = (BadPack, CampaignError, DamagedTrial, DeployError, GaveUp, KernelError, NotPossible)


def fail(message: str, status: Status) -> NoReturn:
    """Say it on standard error and end."""
    err.print(message, style="red", markup=False)
    raise typer.Exit(status)


@contextmanager
def told() -> Iterator[None]:
    """Every error that a user can meet ends in one clear message and a status, never in a traceback."""
    try:
        yield
    except _USAGE_ERRORS as error:
        fail(str(error), Status.USAGE)
    except _FAILURES as error:
        fail(str(error), Status.FAILED)
    except KeyboardInterrupt:
        fail("interrupted", Status.INTERRUPTED)
    except OSError as error:
        fail(f"{error.filename or 'the operating system'}: {error.strerror or error}", Status.FAILED)


def tidy(results: Path) -> None:
    """What every command does first: clear up after commands that were killed."""
    if os.geteuid() == 0:
        congestion.sweep()
    if results.is_dir():
        campaigns.sweep(results)


def kernels(wanted: str, medium: str = "auto") -> Kernels:
    """The kernels and media to choose from, by the user's words."""
    if wanted not in WANTED:
        fail(f"--kernel: {wanted!r} is not one of {', '.join(WANTED)}", Status.USAGE)
    if medium not in media.WANTED:
        fail(f"--medium: {medium!r} is not one of {', '.join(media.WANTED)}", Status.USAGE)
    if (wanted, medium) == ("lab", "line"):
        fail(f"--kernel lab --medium line: {NOT_IN_THE_LAB}; leave one of them out", Status.USAGE)
    return Kernels(wanted=wanted, medium=medium)


def find(results: Path, name: str | None) -> Path:
    """The campaign called `name` (a path, or the name of its folder), or the latest one."""
    known = campaigns.folders(results)
    if name is None:
        if not known:
            raise CampaignError(f"{results}: no campaign here yet; `lab run SCENARIO` makes one")
        return known[-1]
    if (path := Path(name)).is_dir():
        return path.resolve()
    found = [folder for folder in known if folder.name == name]
    if not found:
        raise CampaignError(f"{results}: no campaign {name!r}; `lab list` shows those there are")
    return found[-1]


def shown(path: Path) -> str:
    """A path as the user would type it."""
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
