"""What limited a trial: the one place that decides it.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.trial.checks.machinechecks import per_second, whole_machine
from experiments.trial.checks.samples import Measured, growth, series
from records.link import LinkCheck
from records.verdict import Check, Limiter, Use

if TYPE_CHECKING:
    from experiments.scenario.limits import Limit
    from experiments.trial.checks.health import Evidence

# A queue that is never empty sends all the time; proofs of a rate tolerate 2 %, and a timeline's mean is less exact.
LINK_LIMIT = 0.95
# Above this, more time passes with something waiting for a disk than without.
DISK_LIMIT = 0.5
# A line is one thread in a real-time class, and Linux stops that class when it uses 95 % of a second.
LINE_LIMIT = 0.8


def uses(evidence: Evidence, measured: Mapping[Check, Measured], limits: Mapping[Check, Limit]) -> tuple[Use, ...]:
    """How much of each thing that can be a limit was used in the window; limits: the defaults, never a scenario's."""
    link = _link(evidence.link_checks)
    disk = per_second(evidence, lambda one: one.io_stalled_s)
    return (
        Use(of=Limiter.LINK, share=link, limit=LINK_LIMIT, unit="share of its rate, busiest queue"),
        _of(Limiter.SERVER, (Check.SERVER_THREAD, Check.SERVER_CPU), measured, limits),
        _of(Limiter.GENERATOR, (Check.GENERATOR_CPU,), measured, limits),
        Use(of=Limiter.DISK, share=disk, limit=DISK_LIMIT, unit="share of the time that something waited for a disk"),
        _machine(evidence, measured, limits),
    )


def limited_by(found: Sequence[Use], *, open_loop: bool, programs: bool = False) -> Limiter:
    """A link that is full is the limit whatever else is busy; else what is furthest above its bound.

    With nothing at its bound a closed loop is limited by its round trips, an open one by its schedule; of programs it
    is not known what they waited for.
    """
    over = [one for one in found if one.share is not None and one.share >= one.limit]
    if any(one.of is Limiter.LINK for one in over):
        return Limiter.LINK
    if over:
        return max(over, key=lambda one: (one.share or 0.0) / one.limit).of
    if programs:
        return Limiter.PROGRAMS
    return Limiter.SCHEDULE if open_loop else Limiter.NOTHING


def _machine(evidence: Evidence, measured: Mapping[Check, Measured], limits: Mapping[Check, Limit]) -> Use:
    """All cores, or the one that a line runs on, whichever is nearer to its bound."""
    shares = (whole_machine(evidence), measured[Check.MACHINE_USE][0])
    whole = Use(
        of=Limiter.MACHINE,
        share=max((one for one in shares if one is not None), default=None),
        limit=limits[Check.MACHINE_USE].value,
        unit="share of all cores, others' work included",
    )
    line = growth(*series(evidence.resources, "line", "cpu_seconds"), evidence.window)
    if line is None or line / LINE_LIMIT <= (whole.share or 0.0) / whole.limit:
        return whole
    return Use(of=Limiter.MACHINE, share=line, limit=LINE_LIMIT, unit="share of a core, the line's process")


def _link(checks: Sequence[LinkCheck]) -> float | None:
    """Carried by what could have been, of the queue that was fullest; None for a link without a rate."""
    shares = [
        one.delivered / one.asked for one in checks if (one.quantity, one.source) == ("rate", "trial") and one.asked > 0
    ]
    return max(shares, default=None)


def _of(
    limiter: Limiter, checks: Sequence[Check], measured: Mapping[Check, Measured], limits: Mapping[Check, Limit]
) -> Use:
    """Of several checks the one that is nearest to its bound."""
    told = [check for check in checks if measured[check][0] is not None]
    most = max(told or checks, key=lambda check: (measured[check][0] or 0.0) / limits[check].value)
    return Use(of=limiter, share=measured[most][0], limit=limits[most].value, unit=limits[most].unit)
