"""Did the machine spoil a finished trial?  Then it is repeated.  Pure."""

from __future__ import annotations

from textwrap import shorten

from experiments.scenario.limits import LIMITS, MACHINE_CPU
from records.verdict import Check, Health, State, Verdict

_LONGEST = 200  # characters


def spoiled_by_machine(verdict: Verdict) -> tuple[Check, ...]:
    """The failed checks of a trial when the machine alone can have made every one of them fail; empty otherwise.

    One failed check that speaks of the stack is enough for the trial to stand as it is.
    """
    failed = tuple(one.check for one in verdict.checks if one.health is Health.FAILED)
    return failed if all(LIMITS[check].machine_alone for check in failed) else ()


def crowded(machine_cpu: float | None) -> str:
    """Why trials that ran side by side had too little processor, '' when they had enough."""
    if machine_cpu is None:
        return "there are no processor samples of its window"
    return f"{machine_cpu:.0%} of the processor was in use, {MACHINE_CPU:.0%} are allowed" * (machine_cpu > MACHINE_CPU)


def spoiled_beside_others(verdict: Verdict, machine_cpu: float | None) -> str:
    """Why a trial that ran beside others may owe its result to them, '' when it does not."""
    if why := crowded(machine_cpu):
        return why
    return "" if verdict.state is State.VALID else "; ".join(verdict.reasons())


def in_brief(why: str) -> str:
    """Why a trial is run again, for a terminal: its folder, which is named beside it, has the whole of it."""
    return why if len(why) <= _LONGEST else shorten(why, _LONGEST, placeholder=" …")
