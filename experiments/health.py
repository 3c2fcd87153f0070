"""Health checks: whether a trial may be believed.  Every threshold is here; a scenario may tighten or waive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from experiments.limiting import limited_by, uses
from experiments.linechecks import LineSeen, line_checks, too_large
from experiments.machinechecks import OF_OTHERS, machine_checks
from experiments.machinewatch import Reading
from experiments.path_rtt import BARE
from experiments.processchecks import process_checks
from experiments.samples import Measured
from experiments.settings import CheckSettings
from experiments.sharedmachine import BECAUSE
from results.ledger import message_keys, reconcile
from results.link import LinkCheck
from results.manifest import Consumer, Window
from results.verdict import Check, Health, HealthCheck, Verdict


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest value that passes, in `unit`.

    machine_alone: whether this machine (a stall, other work on it) can make a trial fail the check although link and
    stack are sound.  A trial that fails only such checks is set aside and repeated (experiments.again), so it is
    False wherever what is measured is the stack's own doing, even if the machine has a part in it.
    """

    value: float
    unit: str
    machine_alone: bool


# 60 % of processor and memory is the bound that the 2005 pub/sub study set for all of its machines.
LIMITS: dict[Check, Limit] = {
    # Stacks cannot change the link.  A stall makes probes late, and those that it holds up for too long count as lost.
    Check.LINK_RATE: Limit(0, "checks outside tolerance", machine_alone=True),
    Check.LINK_LOSS: Limit(0, "checks outside tolerance", machine_alone=True),
    Check.LINK_DELAY: Limit(0, "checks outside tolerance", machine_alone=True),
    # The thread that plays the timeline has to wake within 20 ms.
    Check.LINK_TIMELINE: Limit(0, "checks outside tolerance", machine_alone=True),
    # A small frame takes 0.8 ms at 1 Mbit/s: a medium that is later than that is another one.
    # A line goes before all other work, so that it is late when the machine, or its hypervisor, does not let it run.
    Check.LINE_LATENESS: Limit(0.001, "s, at the 99.9th percentile", machine_alone=True),
    # A setting of ours; nothing but us changes it.
    Check.OFFLOADS_OFF: Limit(0, "offloads on, other MTUs, or frames too large for a link", machine_alone=False),
    # The kernel's buffer holds seconds of packets; tcpdump misses some only when it does not run for longer.
    Check.CAPTURE_DROPS: Limit(0, "packets", machine_alone=True),
    # Processor time and memory are those of the stack's own processes: other processes add nothing to them.
    Check.GENERATOR_CPU: Limit(0.6, "share of a core, busiest client process", machine_alone=False),
    Check.SERVER_CPU: Limit(0.6, "share of all cores", machine_alone=False),
    # Beyond, a message waits longer for the thread than for four others to be served (M/M/1: use / (1 - use)).
    Check.SERVER_THREAD: Limit(0.8, "share of a core, busiest thread of a server", machine_alone=False),
    Check.SERVER_MEMORY: Limit(0.6, "share of memory", machine_alone=False),
    # The generator is an ordinary process: other work makes it wait although the heartbeat, which goes first, does not.
    Check.SEND_LATENESS: Limit(0.25, "s", machine_alone=True),
    Check.HEARTBEAT: Limit(0.5, "s", machine_alone=True),
    # Beyond, what wants a processor of two waits longer than it works (M/M/2: 1.8 times at 0.8).  Others' work is not
    # in it: what saturates the machine is the trial itself, and would again.
    Check.MACHINE_USE: Limit(0.8, "share of all cores, foreign load not included", machine_alone=False),
    # Daemons and the like use a few hundredths; a shell that compiles, or a browser, a core and more.
    Check.FOREIGN_LOAD: Limit(0.1, "cores", machine_alone=True),
    # Whatever needs the processor is slower by that share: by less than the precision that a cell is measured to.
    Check.STEAL: Limit(0.05, "share of all cores", machine_alone=True),
    # A group that is throttled stands still for what is left of a period of 100 ms.
    Check.CPU_QUOTA: Limit(0, "periods in which the quota stopped the trial", machine_alone=True),
    # Losses that are in no list.  The backlog has room for 1,000 packets of links that stations and servers fill at
    # most at their rate: it overflows when the kernel does not run for long.
    Check.SOFTIRQ_DROPS: Limit(0, "packets", machine_alone=True),
    # Slow is not wrong: late messages are in doubt or lost, and the books close all the same.
    Check.LEDGER_CLOSES: Limit(0, "rows that do not match", machine_alone=False),
    Check.CLEAN_SLATE: Limit(0, "messages from before the trial", machine_alone=False),
    # What ended or hung up did so by itself; nothing of ours gives a connection up within a stall of seconds.
    Check.SERVERS_ALIVE: Limit(0, "servers or connections lost", machine_alone=False),
    # A stall makes round trips longer, never shorter.
    Check.PATH_RTT: Limit(0, "ends of connections trained on another link", machine_alone=False),
}

# The same bound for all trials together, while several share a machine.
MACHINE_CPU = LIMITS[Check.SERVER_CPU].value


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a trial knows about itself when it has ended.

    resources: the table of results.schema.  capture_drops: per port, None where tcpdump would not say; None: nothing
    was to be captured.
    clock_step_s: how far the wall clock moved against the monotonic one.  unreadable: bodies without a marker.
    miscounted: rows by which the ledger differs from what the clients counted as they went.
    stale: deliveries of messages that the trial did not send when they say they were sent.
    lost: why each lost connection or server went, empty when none.
    host: readings of the whole machine, each with its time (ns), empty when nobody watched it.
    lab: whether the trial ran in a lab kernel.  shared_machine: whether others' use of the machine is not judged.
    open_loop: whether the load follows a schedule.
    line: how late the line was, None where the kernel made the link.
    path_rtt: what experiments.path_rtt found.  bare: whether the scenario had clients connect on another link.
    """

    link_checks: Sequence[LinkCheck]
    offloads_on: Sequence[str]
    capture_drops: dict[str, int | None] | None
    resources: pa.Table
    window: Window
    cores: int
    memory_bytes: int
    send_lateness_s: float | None
    clock_step_s: float
    published: pa.Table
    delivered: pa.Table
    consumers: Sequence[Consumer]
    unreadable: int
    miscounted: int
    lost: Sequence[str]
    path_rtt: Measured
    host: Sequence[tuple[int, Reading]] = ()
    lab: bool = False
    shared_machine: bool = False
    open_loop: bool = False
    stale: int = 0
    bare: bool = False
    line: LineSeen | None = None


def judge(evidence: Evidence, settings: CheckSettings, levels: dict[str, str]) -> Verdict:
    """Run every check.  `levels` (factor to printed level) decides which waivers hold."""
    measured = {check: found for group in _GROUPS for check, found in group(evidence).items()}
    waived = dict.fromkeys(OF_OTHERS, BECAUSE) if evidence.shared_machine else {}
    waived |= {
        waiver.check: waiver.because
        for waiver in settings.waive
        if all(levels.get(factor) == level for factor, level in waiver.when.items())
    }
    if evidence.bare:
        waived[Check.PATH_RTT] = BARE
    found = uses(evidence, measured, LIMITS)
    return Verdict(
        checks=tuple(
            _decide(check, *measured[check], limit=limit_of(check, settings), because=waived.get(check))
            for check in Check
        ),
        limited_by=limited_by(found, open_loop=evidence.open_loop),
        uses=found,
    )


def limit_of(check: Check, settings: CheckSettings) -> Limit:
    """The limit in force: the scenario's own, which is tighter, or the default."""
    default = LIMITS[check]
    return replace(default, value=min(default.value, settings.limits.get(check, default.value)))


def looser_limits(settings: CheckSettings) -> dict[Check, str]:
    """Limits of a scenario that are above the default, with what to do about it."""
    return {
        check: f"{own:g}: looser than {LIMITS[check].value:g} {LIMITS[check].unit}; a limit may only be "
        "tightened: waive the check by name, with a reason, if it does not matter"
        for check, own in settings.limits.items()
        if own > LIMITS[check].value
    }


def _decide(check: Check, measured: float | None, detail: str, *, limit: Limit, because: str | None) -> HealthCheck:
    if measured is None:
        health = Health.UNKNOWN
    elif measured <= limit.value:
        health = Health.PASSED
    else:
        health = Health.FAILED
    if health is not Health.PASSED and because is not None:
        health, detail = Health.WAIVED, f"{detail} (waived: {because})"
    return HealthCheck(check=check, health=health, measured=measured, limit=limit.value, unit=limit.unit, detail=detail)


def _link(evidence: Evidence) -> dict[Check, Measured]:
    kinds = {
        Check.LINK_RATE: {"rate"},
        Check.LINK_LOSS: {"loss", "losses", "duplicates", "damage", "bypass"},
        Check.LINK_DELAY: {"delay", "jitter", "reordered", "fates"},
        Check.LINK_TIMELINE: {"change"},
    }
    found: dict[Check, Measured] = {}
    for check, quantities in kinds.items():
        mine = [item for item in evidence.link_checks if item.quantity in quantities]
        broken = [out_of_tolerance(item) for item in mine if not item.holds]
        # A link may have no rate and no timeline to prove, but delay and loss are probed on every link.
        count = len(broken) if mine or check in (Check.LINK_RATE, Check.LINK_TIMELINE) else None
        found[check] = (count, "; ".join(broken) or f"{len(mine)} within tolerance")
    return found


def out_of_tolerance(item: LinkCheck) -> str:
    """What a check that does not hold asked and got."""
    if item.quantity == "change":
        return f"{item.detail}: {item.delivered * 1e3:.1f} ms late, {item.high * 1e3:g} ms are tolerated"
    after = f", after {item.state}" if item.state else ""
    return (
        f"{item.direction} {item.quantity} ({item.source}{after}): asked {item.asked:g}, delivered {item.delivered:g}, "
        f"tolerated {item.low:g} to {item.high:g}"
    )


def _rest(evidence: Evidence) -> dict[Check, Measured]:
    return {
        Check.OFFLOADS_OFF: _offloads(evidence),
        Check.CAPTURE_DROPS: _capture_drops(evidence.capture_drops),
        Check.PATH_RTT: evidence.path_rtt,
        Check.SERVERS_ALIVE: (len(evidence.lost), "; ".join(evidence.lost[:3]) or "all up to the end"),
    }


def _offloads(evidence: Evidence) -> Measured:
    frames, said = too_large(evidence.resources)
    on = ", ".join(evidence.offloads_on) or "TSO, GSO, GRO are off"
    return len(evidence.offloads_on) + frames, f"{on}; {said}" if said else on


def _capture_drops(drops: dict[str, int | None] | None) -> Measured:
    if drops is None:
        return 0, "nothing was captured: capture is off"
    silent = [port for port, count in drops.items() if count is None]
    if silent or not drops:
        return None, f"tcpdump gave no counts for {', '.join(silent) or 'any port'}"
    total = sum(count or 0 for count in drops.values())
    return total, f"{total} packets not captured on {len(drops)} ports"


def _ledger(evidence: Evidence) -> dict[Check, Measured]:
    """Stale deliveries are those that came before they were sent, or carry another time of sending."""
    result = reconcile(evidence.published, evidence.delivered, evidence.consumers)
    wrong = evidence.miscounted + evidence.unreadable
    old = max(_before_they_were_sent(evidence.published, evidence.delivered), evidence.stale)
    return {
        Check.LEDGER_CLOSES: (
            wrong + result.foreign,
            (
                f"{result.expected} expected = {result.delivered} delivered + {result.lost} lost + "
                f"{result.in_doubt} in doubt; {result.foreign} without a publication, "
                f"{evidence.unreadable} unreadable, {evidence.miscounted} counted otherwise by the clients"
            ),
        ),
        Check.CLEAN_SLATE: (old, f"{old} deliveries of messages that this trial did not send"),
    }


def _before_they_were_sent(published: pa.Table, delivered: pa.Table) -> int:
    """Deliveries older than the publication of the same number: an earlier trial's message under our name."""
    keys = message_keys(published.column("producer").to_numpy(), published.column("seq").to_numpy())
    sent_ns = published.column("t_send_ns").to_numpy()
    order = np.argsort(keys)
    wanted = message_keys(delivered.column("producer").to_numpy(), delivered.column("seq").to_numpy())
    if not len(keys):
        return len(wanted)
    position = np.clip(np.searchsorted(keys[order], wanted), 0, len(keys) - 1)
    known = keys[order][position] == wanted
    early = delivered.column("t_recv_ns").to_numpy() < sent_ns[order][position]
    return int(np.count_nonzero(known & early))


# Each gives what some of the checks measured; together they give all.
_GROUPS: tuple[Callable[[Evidence], dict[Check, Measured]], ...] = (
    _link,
    _rest,
    process_checks,
    machine_checks,
    line_checks,
    _ledger,
)
