"""Any program as a load: which commands a scenario names, what is read from what clients print, and how they ended."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveFloat,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from records.record import Record
from records.written import Written

PLACEHOLDERS = ("server", "seed", "station", "duration")
DURATION, FAILED = "duration_s", "failed_programs"  # of every trial, whatever its programs print
# Names that a trial's other figures have, beside those of metrics, in tables and files.
RESERVED = frozenset({
    DURATION, FAILED, "cell", "trial", "state", "seed", "latency_of", "waived", "lab_kernel", "window_s", "reasons",
    "trends", "lower_bounds", "expected", "duplicates", "in_doubt", "reordered",
    *(f"{name}_{way}" for name in ("data_packets", "retr_or_ooo") for way in ("uplink", "downlink")),
})  # fmt: skip
_BRACES = re.compile(r"\{\{|\}\}|\{(\w*)\}|[{}]")


class PrintedError(ValueError):
    """What a client printed is not what the scenario declares; the message names metric, value and way out."""


def fill(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The words with `{name}` replaced by its value; `{{` and `}}` are braces.

    ValueError for a name that `values` does not have, and for a brace alone.
    """

    def one(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] in values:
            return values[found[1]]
        known = ", ".join(f"{{{name}}}" for name in values)
        raise ValueError(f"{found[0]!r} in {found.string!r} is not one of {known}; a brace itself is written twice")

    return tuple(_BRACES.sub(one, word) for word in words)


def _split(value: object) -> object:
    """In a scenario a command is one text, as a list would be a factor.  Its quotes are a shell's, nothing else is."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(f"{str(error).lower()}: close the quotes, or write \\ before a quote that is meant") from error


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise ValueError("a word has a NUL in it, which no program can be given")
    first = fill(words, dict.fromkeys(PLACEHOLDERS, ""))[0]
    if first != words[0] or not first:
        raise ValueError(f"{words[0]!r}: the first word is the program, without placeholders")
    if "/" in first and not first.startswith("/"):
        raise ValueError(f"{first!r}: give the program's name, or its whole path from / on")
    return words


Words = Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_split), AfterValidator(_words)]


class ServerCommand(Written):
    """The command on every server's node, from before go to the drain's end.

    It is ready when it listens on `ready_port` (TCP), which may take `limit_s`, or `ready_s` after its start.
    """

    command: Words
    ready_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    ready_s: Annotated[PositiveFloat, Field(le=300)] | None = None
    limit_s: Annotated[PositiveFloat, Field(le=300)] = 10.0

    @model_validator(mode="after")
    def _one_criterion(self) -> ServerCommand:
        if (self.ready_port is None) == (self.ready_s is None):
            raise ValueError("say when the server is ready, by one of ready_port and ready_s")
        return self


class ClientCommand(Written):
    """The command on every station, from the window's start to its own end, or the drain's."""

    command: Words


class Printed(Written):
    """A number that the client prints in JSON.

    path: its keys from the outermost on, with dots between; a list's elements by number.  label: what the report calls
    it, left out: its name.  about: what it counts, left out: where it was read.
    """

    path: Annotated[str, Field(pattern=r"^[^.]+(\.[^.]+)*$")]
    unit: Literal["1/s", "bit/s", "s", "share", "B", "count"]
    better: Literal["higher", "lower"] | None = None
    label: Annotated[str, Field(max_length=60)] = ""
    about: str = ""


MetricName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Metrics = dict[MetricName, Printed]
_METRICS: TypeAdapter[Metrics] = TypeAdapter(Metrics)


class ProgramRun(Record):
    """A client's command and how it ended.

    server: the node whose address it was given, '' where it was given none.  command: its words, as they were filled.
    started_after_s: from the window's start to the start of the program.  status: exit status; minus the signal that
    ended it.  timed_out: it had not ended with the drain, and was killed.  metrics: those that it printed.  problem:
    what was wrong, '' when nothing was.
    """

    station: str
    server: str
    command: tuple[str, ...]
    started_after_s: float
    status: int
    duration_s: float
    timed_out: bool
    metrics: dict[str, float]
    problem: str = ""

    @property
    def failed(self) -> bool:
        """Whether it ended other than with status 0 by itself."""
        return self.timed_out or self.status != 0


def figures(runs: Sequence[ProgramRun]) -> dict[str, float]:
    """A trial's metrics: of each the mean over the stations that have it, and how many programs failed.

    The mean duration is of all, the failed ones included, and a lower bound where one timed out.
    """
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    values = {name: [run.metrics[name] for run in runs if name in run.metrics] for name in names}
    values[DURATION] = [run.duration_s for run in runs]
    found = {name: math.fsum(some) / len(some) for name, some in values.items() if some}
    return found | {FAILED: float(sum(run.failed for run in runs))}


def exact_figures(runs: Sequence[ProgramRun]) -> dict[str, float]:
    """Those of `figures` that are no lower bounds, for whoever asks how precise they are."""
    bounded = {DURATION} if any(run.timed_out for run in runs) else set()
    return {name: value for name, value in figures(runs).items() if name not in bounded}


def declared_in(settings: Mapping[str, Any]) -> dict[str, Printed]:
    """The metrics that a cell's settings, as a campaign keeps them, declare; none where they are of messages.

    None either where they cannot be read: a campaign of another version, or one that somebody has changed.
    """
    work = settings.get("workload")
    if not isinstance(work, Mapping) or work.get("pattern") != "command":
        return {}
    try:
        return _METRICS.validate_python(work.get("metrics", {}))
    except ValidationError:
        return {}


def printed(text: str, wanted: Mapping[str, Printed]) -> dict[str, float]:
    """The declared metrics, from standard output that is one JSON document, or has JSON objects as lines.

    Lines that are no JSON are the program's own words.  Of several objects with the path, the last holds.
    PrintedError when a metric is not there, or is no number that its unit can have.
    """
    documents = list(_documents(text))
    return {name: _value(name, one, documents) for name, one in wanted.items()}


def _documents(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        for line in text.splitlines():
            if line.lstrip().startswith(("{", "[")):
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    continue


def _value(name: str, wanted: Printed, documents: Sequence[Any]) -> float:
    if not documents:
        raise PrintedError(f"metric {name!r}: the client printed no JSON; have it print {wanted.path!r} so")
    found = [value for one in documents if (value := _at(one, wanted.path.split("."))) is not None]
    if not found:
        raise PrintedError(f"metric {name!r}: no JSON that the client printed has {wanted.path!r}; correct its path")
    value = found[-1]
    shown = json.dumps(value)[:80]
    number = _number(value)
    if number is None:
        raise PrintedError(f"metric {name!r}: {wanted.path!r} is {shown}, not a finite number; correct its path")
    if number < 0 or (wanted.unit == "share" and number > 1):
        allowed = "from 0 to 1, as a share is" if wanted.unit == "share" else "0 or more"
        raise PrintedError(
            f"metric {name!r}: {wanted.path!r} is {shown}, and has to be {allowed}; correct path or unit"
        )
    return number


def _number(value: object) -> float | None:
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass  # an integer too large for a float
    return None


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document
