"""What a study computes or simulates instead of running it: a program of its folder prints the values.

    case,metric,seed,value
    id-collision,computed_share,,4.5474e-05
    hops-of-requests,computed_number,1,1.37

A value without a seed is exact: of arithmetic, or the extreme of all that was tried.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator

from analysis.claims.evidence import Computed, ComputedValues
from analysis.claims.known import unknown
from analysis.metrics import COMPUTED
from analysis.papers.record import ComputedCases

HEAD = ["case", "metric", "seed", "value"]
METRICS = [one.name for one in COMPUTED]


class ComputedError(ValueError):
    """What was printed cannot be used; one line per problem, with the line that it is about."""


def read_computed(text: str, asked: ComputedCases, *, command: str) -> ComputedValues:
    """All values that the study's program has printed.  command: prints them again, `{case}` being one of the cases.

    ComputedError names every line that is wrong, and every case that is missing.
    """
    lines = list(csv.reader(text.splitlines()))
    if not lines or lines[0] != HEAD:
        raise ComputedError(f"{asked.program}: begins with {','.join(HEAD)}, and then has a line for each value")
    problems = [f"{asked.program}: line {number} of its output: {what}" for number, what in _wrong(lines[1:], asked)]
    if problems:
        raise ComputedError("\n".join(problems))
    found: dict[tuple[str, str], dict[int, float]] = {}
    exact = set()
    for case, metric, seed, value in lines[1:]:
        found.setdefault((case, metric), {})[int(seed or 0)] = float(value)
        if not seed:
            exact.add((case, metric))
    if missing := [case for case in asked.cases if case not in {of for of, _ in found}]:
        raise ComputedError(f"{asked.program}: prints no value of {', '.join(missing)}")
    return {
        key: Computed(values=values, exact=key in exact, command=command.format(case=key[0]))
        for key, values in found.items()
    }


def _wrong(lines: list[list[str]], asked: ComputedCases) -> Iterator[tuple[int, str]]:
    before: dict[tuple[str, str], set[str]] = {}
    for number, cells in enumerate(lines, 2):
        if len(cells) != len(HEAD):
            yield number, f"{len(cells)} cells, not {len(HEAD)}"
            continue
        case, metric, seed, value = cells
        seeds = before.setdefault((case, metric), set())
        if problem := unknown("case of `computed`", case, asked.cases) or unknown("computed metric", metric, METRICS):
            yield number, problem
        elif seed and not seed.isdecimal():
            yield number, f"seed: {seed!r} is no number"
        elif seed in seeds or (seeds and "" in {seed, *seeds}):
            yield number, f"{case} has a value of seed {seed or 'none'} beside {', '.join(sorted(seeds)) or 'none'}"
        elif not _is_number(value):
            yield number, f"value: {value!r} is no number"
        seeds.add(seed)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
