"""Whether a finished trial says nothing about its stack, because of what the machine did, and is run again.  Pure."""

from __future__ import annotations

from experiments.health import MACHINE_CPU
from results.verdict import Check, Health, State, Verdict


def stalled(verdict: Verdict) -> bool:
    """Whether nothing but a stall of this machine speaks against a trial; a stall makes the generator late, too."""
    failed = {one.check for one in verdict.checks if one.health is Health.FAILED}
    return Check.HEARTBEAT in failed and failed <= {Check.HEARTBEAT, Check.SEND_LATENESS}


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
