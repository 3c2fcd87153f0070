"""What is to be known of trials, in a line each: why one does not count, why it was run again, what was waived.

All of it is told from the text of their reasons, which is what a reduction keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.findings import Standing, TrialFinding
from analysis.metric import Unit
from analysis.units import digits, scale
from records.verdict import Check, Health

_NEVER_RUN = (Standing.MISSING, Standing.FAILED)
_TOLD = (Health.FAILED, Health.UNKNOWN, Health.WAIVED)
_BEGINS = rf"(?:{'|'.join(Check)}) (?:{'|'.join(_TOLD)})\b"
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
_CHECK = re.compile(
    rf"(?P<check>{'|'.join(Check)}) (?P<health>{'|'.join(_TOLD)})(?:: (?P<detail>.*?))?"
    rf"(?: \(measured (?P<measured>{_NUMBER})(?: (?P<unit>.+?))?(?:, limit (?P<limit>{_NUMBER})(?: (?P=unit))?)?\))?",
    re.DOTALL,
)
# As the campaign's runner writes the notes, which older campaigns have in their manifests, too.
_RERUN = re.compile(r"so it is run again\b|; the earlier run is in \.set-aside-")
_AGAIN = re.compile(r", so it is run again\b|; the earlier run is in ")
_LONG = 100  # characters; a longer note is folded to what stands before its brackets
_BRACKETS = re.compile(r"(.+?) \(.+\)", re.DOTALL)
# Units of checks whose figures say something without the sentence before them, and how metrics write them.
_SCALES: dict[str, Unit | None] = {"share": "share", "s": "s", "cores": None}
_TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class Line:
    """short: what is read at once.  full: what it stands for, word for word; empty where `short` is all there is."""

    short: str
    full: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """bars: why trials do not count.  besides: how often they were run again, what was waived, other notes."""

    bars: tuple[Line, ...] = ()
    besides: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of them."""
        return (*self.bars, *self.besides)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """A health check, as its reason tells it.  measured and limit are in `unit`, None where they are not told."""

    check: str
    health: Health
    measured: float | None
    limit: float | None
    unit: str


def why(trials: Sequence[TrialFinding]) -> Why:
    """Of a cell's trials: alike reasons of several are one line."""
    bars: dict[str, list[tuple[int, str]]] = {}
    besides: dict[str, list[tuple[int, str]]] = {}
    again: list[Line] = []
    for trial in trials:
        for reason in trial.reasons:
            if not is_rerun(reason):
                lines = bars if _bars(trial, reason) else besides
                lines.setdefault(_alike(reason), []).append((trial.number, reason))
        if reruns := [reason for reason in trial.reasons if is_rerun(reason)]:
            again.append(Line(f"Trial {trial.number}: {_run_again(reruns)}", tuple(reruns)))
    return Why(bars=_lines(bars), besides=(*again, *_lines(besides)))


def run_again(reasons: Iterable[str]) -> Line | None:
    """How often a trial was run again and why; None where it was not."""
    notes = [reason for reason in reasons if is_rerun(reason)]
    said = _run_again(notes) if notes else ""
    return Line(said[0].upper() + said[1:], tuple(notes)) if notes else None


def is_rerun(reason: str) -> bool:
    """Whether a reason is the runner's note of an earlier run."""
    return _RERUN.search(reason) is not None


def _bars(trial: TrialFinding, reason: str) -> bool:
    one = _checked(reason)
    failed = one is not None and one.health is not Health.WAIVED
    return failed or trial.standing in _NEVER_RUN or (trial.damaged and reason.startswith("damaged "))


def _checked(reason: str) -> _Checked | None:
    found = _CHECK.fullmatch(reason)
    if found is None:
        return None
    measured, limit = (None if found[name] is None else float(found[name]) for name in ("measured", "limit"))
    return _Checked(
        check=found["check"], health=Health(found["health"]), measured=measured, limit=limit, unit=found["unit"] or ""
    )


def _alike(reason: str) -> str:
    """What reasons of one line have in common, and what that line begins with."""
    one = _checked(reason)
    if one is not None and _figures([one]):
        return f"{one.check} {one.health}"
    folded = _BRACKETS.fullmatch(reason) if len(reason) > _LONG else None
    return folded[1] if folded else reason


def _lines(grouped: Mapping[str, Sequence[tuple[int, str]]]) -> tuple[Line, ...]:
    """A line for each group of (trial, reason), by what they have in common."""
    found = []
    for common, told in grouped.items():
        numbers = list(dict.fromkeys(number for number, _ in told))
        checks = [one for _, reason in told if (one := _checked(reason)) is not None]
        short = f"{_trials(numbers)}: {common}"
        if figures := _figures(checks, limits=True):
            short += f": {figures}"
        elif len(told) > len(numbers) == 1:
            short += f", {_times(len(told))}"
        folded = any(reason != common for _, reason in told)
        full = [f"trial {number}: {reason}" if len(numbers) > 1 else reason for number, reason in told]
        found.append(Line(short, tuple(full) if folded else ()))
    return tuple(found)


def _run_again(notes: Sequence[str]) -> str:
    checks: dict[str, list[_Checked]] = {}
    others: dict[str, None] = {}
    for note in notes:
        failed = [one for one in _checks_in(note) if one.health is not Health.WAIVED]
        for one in failed:
            checks.setdefault(one.check, []).append(one)
        if not failed:
            others.setdefault(_AGAIN.split(note)[0])
    causes = [f"{check} {_figures(found)}".rstrip() for check, found in checks.items()] + list(others)
    return f"run again {_times(len(notes))}: {', '.join(causes)}"


def _checks_in(note: str) -> list[_Checked]:
    """The checks that a note of an earlier run tells of, in its brackets."""
    told = _AGAIN.split(note)
    inside = re.search(rf"\(({_BEGINS}.*)\)", " ".join(told[:2]), re.DOTALL)
    parts = re.split(rf"; (?={_BEGINS})", inside[1]) if inside else []
    return [one for part in parts if (one := _checked(part)) is not None]


def _figures(checks: Sequence[_Checked], *, limits: bool = False) -> str:
    """From the least to the most that was measured, '' of what is counted; limits: and what of, and the limits."""
    measured = [one.measured for one in checks if one.measured is not None]
    units = {one.unit.partition(",")[0] for one in checks if one.measured is not None}
    kind, _, of = units.pop().partition(" ") if len(units) == 1 else ("", "", "")
    if kind not in _SCALES:
        return ""
    said = _range(measured, kind)
    if not limits:
        return said
    allowed = [one.limit for one in checks if one.limit is not None]
    return f"{said} {of}".rstrip() + (f", limit {_range(allowed, kind)}" if allowed else "")


def _range(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    as_metric = _SCALES[unit]
    factor, word = scale(as_metric, high) if as_metric else (1.0, unit)
    ends = dict.fromkeys(_plainly(value / factor) for value in (low, high))
    return f"{' to '.join(ends)}\u00a0{word}".rstrip()


def _plainly(value: float) -> str:
    """Of three digits; a limit of 5 has no more than the one."""
    said = digits(value)
    return said.rstrip("0").rstrip(".") if "." in said and float(said.replace("\u202f", "")) == round(value) else said


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")


def _trials(numbers: Sequence[int]) -> str:
    """`Trial 2`, `Trials 1, 3 to 5 and 8`."""
    runs = [
        [number for _, number in run] for _, run in groupby(enumerate(sorted(numbers)), lambda one: one[1] - one[0])
    ]
    said: list[str] = []
    for run in runs:
        said += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    last = said.pop()
    return f"Trials {', '.join(said)} and {last}" if said else f"Trial{'s' * (len(numbers) > 1)} {last}"
