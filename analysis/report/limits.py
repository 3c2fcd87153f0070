"""What limited trials, as their verdicts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.report.provenance import Source
from analysis.report.shown import number
from analysis.units import digits
from records.verdict import Limiter, Verdict

NOT_RECORDED = "not recorded"
_WORDS = {
    Limiter.LINK: "link",
    Limiter.SERVER: "server",
    Limiter.GENERATOR: "load generator",
    Limiter.DISK: "disk",
    Limiter.MACHINE: "machine",
    Limiter.SCHEDULE: "its schedule",
    Limiter.PROGRAMS: "the programs, or round trips",
    Limiter.NOTHING: "round trips",
}


def limited_cell(found: Sequence[Source], cell: str) -> str:
    """What limited the trials of a cell, with how many where they differ; empty when none was run."""
    told = Counter(_word(one.verdict) for one in found if one.cell.name == cell and one.verdict is not None)
    if len(told) == 1:
        return next(iter(told))
    return ", ".join(f"{word} ({count})" for word, count in told.most_common())


def limited_trial(verdict: Verdict | None) -> str:
    """A sentence about what limited a trial; empty without a verdict."""
    if verdict is None:
        return ""
    if verdict.limited_by is None:
        return "What limited this trial was not recorded."
    if verdict.limited_by is Limiter.NOTHING:
        return "No resource was at its bound: the loop waited for round trips."
    if verdict.limited_by is Limiter.SCHEDULE:
        return "No resource was at its bound: the load was what its schedule asked for."
    if verdict.limited_by is Limiter.PROGRAMS:
        return "No resource was at its bound: the programs waited for round trips, or for something of their own."
    return f"This trial was limited by the {_WORDS[verdict.limited_by]}."


def use_rows(verdict: Verdict | None) -> list[dict[str, Any]]:
    """How much of each resource was used, and where its bound is."""
    return [
        {
            "of": _WORDS[one.of], "unit": one.unit, "bound": number(one.limit, digits(one.limit)),
            "share": number(one.share, NOT_RECORDED if one.share is None else digits(one.share)),
        }
        for one in (verdict.uses if verdict else ())
    ]  # fmt: skip


def unrecorded_checks(verdict: Verdict | None) -> list[str]:
    """Names of the checks that the version which judged the trial did not have."""
    return [check.value.replace("_", " ") for check in verdict.not_recorded] if verdict else []


def _word(verdict: Verdict) -> str:
    return NOT_RECORDED if verdict.limited_by is None else _WORDS[verdict.limited_by]
