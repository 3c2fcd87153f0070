"""Health checks of the machine: whether the trial had it to itself, and enough of it.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from experiments.trial.checks.samples import Measured, counted, growth, machine_cpu, series
from experiments.trial.observers.machinewatch import Reading
from records.verdict import Check

if TYPE_CHECKING:
    from experiments.trial.checks.health import Evidence

_NOT_RECORDED = "not recorded: nobody watched the machine through the window"
# What a machine that others use, too, cannot be blamed for: it is measured all the same.
OF_OTHERS = (Check.FOREIGN_LOAD, Check.STEAL, Check.CPU_QUOTA)


def machine_checks(evidence: Evidence) -> dict[Check, Measured]:
    """What the trial and the kernel used, what others took, and what the kernel did not come to."""
    return {
        Check.MACHINE_USE: _machine_use(evidence),
        Check.FOREIGN_LOAD: _foreign_load(evidence),
        Check.STEAL: _steal(evidence),
        Check.CPU_QUOTA: _quota(evidence),
        Check.SOFTIRQ_DROPS: _softirq_drops(evidence),
    }


def per_second(evidence: Evidence, value: Callable[[Reading], float | None]) -> float | None:
    """How much a value of the readings grew per second of the window; None where there is none."""
    points = [(t_ns, found) for t_ns, one in evidence.host if (found := value(one)) is not None]
    return growth([t_ns for t_ns, _ in points], [found for _, found in points], evidence.window)


def whole_machine(evidence: Evidence) -> float | None:
    """Share of the machine's processors that was in use in the window or stolen, whoever used them."""
    busy = per_second(evidence, lambda one: one.busy_s + (one.steal_s or 0.0))
    return None if busy is None else busy / evidence.host[-1][1].processors


def _machine_use(evidence: Evidence) -> Measured:
    """A lab kernel is a machine of its own, with one core; what it uses is what its processes use here."""
    mine = per_second(evidence, lambda one: one.trial_s if evidence.lab else one.busy_s - one.foreign_s)
    if mine is None:
        use = machine_cpu(evidence.resources, evidence.window, cores=evidence.cores)
        return use, "no processor samples of the window" if use is None else f"{use:.0%} in use, by whomever"
    cores = evidence.cores if evidence.lab else evidence.host[-1][1].cores
    who = "the lab kernel" if evidence.lab else "the campaign's trials and the kernel"
    return max(mine, 0.0) / cores, f"{who} used {max(mine, 0.0):.2f} of {cores} core{'s' * (cores > 1)}"


def _foreign_load(evidence: Evidence) -> Measured:
    foreign = per_second(evidence, lambda one: one.foreign_s)
    if foreign is None:
        return None, _NOT_RECORDED
    said = f"others used {foreign:.2f} of a core"
    if name := _busiest(evidence):
        said += f", {name} the most"
    if not evidence.host[-1][1].kernel_seen:
        said += "; kernel threads count as foreign, because they cannot be told in a container"
    return foreign, said


def _busiest(evidence: Evidence) -> str:
    used: dict[str, float] = {}
    for t_ns, one in evidence.host:
        if evidence.window.start_ns <= t_ns <= evidence.window.end_ns and one.busiest_s > 0:
            used[one.busiest] = used.get(one.busiest, 0.0) + one.busiest_s
    return max(used, key=lambda name: used[name], default="")


def _steal(evidence: Evidence) -> Measured:
    stolen = per_second(evidence, lambda one: one.steal_s)
    if stolen is None:
        return None, _NOT_RECORDED
    share = stolen / evidence.host[-1][1].processors
    return share, f"the hypervisor gave {share:.1%} of the processors' time to others"


def _quota(evidence: Evidence) -> Measured:
    if not evidence.host:
        return None, _NOT_RECORDED
    last = evidence.host[-1][1]
    if last.throttled_periods is None:
        return None, f"not recorded: {last.unread}"
    points = [(t_ns, one) for t_ns, one in evidence.host if one.throttled_periods is not None]
    times = np.array([t_ns for t_ns, _ in points])
    periods = counted(times, np.array([one.throttled_periods for _, one in points]), evidence.window)
    if periods is None:
        return None, _NOT_RECORDED
    seconds = growth(times, [one.throttled_s for _, one in points], evidence.window) or 0.0
    if not periods:
        return 0, "no quota of a control group stopped this trial"
    return periods, f"a control group's quota stopped this trial in {periods} periods, for {seconds:.1%} of the time"


def _softirq_drops(evidence: Evidence) -> Measured:
    """On a machine that others use, too, drops of the whole kernel may be theirs: the link's own ports count."""
    found = {
        name: counted(*series(evidence.resources, subject, metric), evidence.window)
        for name, subject, metric in (
            ("backlog", "softirq", "dropped_packets"),
            ("ports", "ports", "dropped_packets"),
            ("squeezed", "softirq", "squeezed"),
            ("refused", "line", "refused_frames"),
        )
    }
    backlog, ports = found["backlog"], found["ports"]
    if ports is not None:
        further = (series(one, "ports", "dropped_packets") for one in evidence.further_resources)
        ports += sum(counted(*one, evidence.window) or 0 for one in further)
    if backlog is None or ports is None:
        return None, "not recorded: no counts of the kernel's dropped packets around the window"
    refused = found["refused"] or 0  # 0 as well where there is no line
    said = (
        f"{backlog} packets dropped from the kernel's backlog, {ports} by the link's ports; its softirqs ended with "
        f"packets left {found['squeezed']} times"
    ) + f"; ports refused {refused} frames of the line" * (refused > 0)
    return refused + (ports if evidence.shared_machine else max(backlog, ports)), said
