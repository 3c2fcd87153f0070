"""What the verbs share: where results are, how they speak to the user, how errors end."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from records.errors import CannotGoOn, WrongInput

if TYPE_CHECKING:
    from records.location import Place  # which imports what takes time

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_RESULTS = ROOT / "results"
_WIDE = 400  # columns where nobody watches: nothing is folded
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and the end of a line


def is_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


class Screen(Console):
    """Shows a question mark for a control character in a text: packs, files' names and brokers' words are others'."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As Console has it."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else _CONTROL.sub("?", segment.text)
            yield Segment(text, segment.style, segment.control)


# What is printed has names of the user's in it: a folder may be called a[b].
out = Screen(highlight=False, markup=False, width=None if is_terminal() else _WIDE)
err = Screen(stderr=True, highlight=False, markup=False, soft_wrap=True)


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


def fail(message: str, status: Status) -> NoReturn:
    """Say it on standard error and end."""
    err.print(message, style="red")
    raise typer.Exit(status)


@contextmanager
def told() -> Iterator[None]:
    """Every error that a user can meet ends in one clear message and a status, never in a traceback."""
    try:
        yield
    except WrongInput as error:
        fail(str(error), Status.USAGE)
    except CannotGoOn as error:
        fail(str(error), Status.FAILED)
    except (KeyboardInterrupt, typer.Abort):  # the latter at a question
        fail("interrupted", Status.INTERRUPTED)
    except OSError as error:
        fail(f"{error.filename or 'the operating system'}: {error.strerror or error}", Status.FAILED)


def can_be_written(option: str, file: Path | None) -> None:
    """End where a file of the user's has no folder, or is one: before the work whose results it is for."""
    if file is not None and (file.is_dir() or not file.name or not file.parent.is_dir()):
        why = "a folder stands there" if file.is_dir() or not file.name else f"there is no folder {file.parent}"
        fail(f"{option} {file}: {why}", Status.USAGE)


def note(line: str) -> None:
    """Say something on standard error that is no failure."""
    err.print(line, style="yellow")


def command(verb: str, *places: Place) -> str:
    """A command of `lab` as the user would type it."""
    return shlex.join(("lab", verb, *map(shown, places)))


def shown(path: Place) -> str:
    """A path, or a URI, as the user would type it."""
    if not isinstance(path, Path):
        return str(path)
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
