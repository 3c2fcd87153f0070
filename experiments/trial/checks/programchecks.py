"""Health checks of a load that is programs: which apply, and whether the programs did what was asked.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.trial.checks.samples import Measured
from records.commands import ProgramRun
from records.verdict import Check

_MOST_NAMED = 3
_THEIRS = "what programs use of the processor and of memory is their own affair; machine_use judges the machine"
_OF_MESSAGES = {
    **dict.fromkeys((Check.LEDGER_CLOSES, Check.CLEAN_SLATE), "programs send no messages that a ledger could count"),
    **dict.fromkeys((Check.GENERATOR_CPU, Check.SERVER_CPU, Check.SERVER_THREAD, Check.SERVER_MEMORY), _THEIRS),
    Check.PATH_RTT: "programs connect when the window has begun, over the link that is in force",
}
_OF_PROGRAMS = {Check.PROGRAMS_SUCCEEDED: "the load is messages"}


def not_applicable(programs: Sequence[ProgramRun] | None) -> dict[Check, str]:
    """The checks that say nothing of a trial, each with the reason.  programs: None where the load was messages."""
    return _OF_PROGRAMS if programs is None else _OF_MESSAGES


def program_checks(programs: Sequence[ProgramRun] | None) -> dict[Check, Measured]:
    """How many programs failed, did not end, or did not print what the scenario says that they print."""
    problems = [run.problem for run in programs or () if run.problem]
    more = f"; and {len(problems) - _MOST_NAMED} more" if len(problems) > _MOST_NAMED else ""
    said = "; ".join(problems[:_MOST_NAMED]) + more
    many = len(programs or ())
    return {Check.PROGRAMS_SUCCEEDED: (len(problems), said or f"{many} program{'s' * (many != 1)} ended with status 0")}
