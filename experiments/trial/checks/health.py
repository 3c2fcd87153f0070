"""Health checks: whether a trial may be believed, by the thresholds of experiments.scenario.limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from experiments.scenario.limits import LIMITS, Limit
from experiments.scenario.settings import CheckSettings
from experiments.trial.checks.limiting import limited_by, uses
from experiments.trial.checks.linechecks import line_checks, line_not_applicable, too_large
from experiments.trial.checks.machinechecks import OF_OTHERS, machine_checks
from experiments.trial.checks.path_rtt import BARE
from experiments.trial.checks.processchecks import process_checks
from experiments.trial.checks.programchecks import not_applicable, program_checks
from experiments.trial.checks.samples import Measured
from experiments.trial.observers.linesamples import LineSeen
from experiments.trial.observers.machinewatch import Reading
from records import quantities
from records.audience import Audience
from records.commands import ProgramRun
from records.ledger import message_keys, reconcile
from records.link import LinkCheck
from records.manifest import Window
from records.verdict import IN_CLIENT, SHARED_MACHINE, Check, Health, HealthCheck, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a trial knows about itself when it has ended.

    resources: the table of records.schema; further_resources: of the links of other segments.
    capture_drops: per port, None where tcpdump would not say; None: nothing was to be captured.
    clock_step_s: how far the wall clock moved against the monotonic one.
    unreadable: bodies without a marker, or of another length than what was sent.
    miscounted: rows by which the ledger differs from what the clients counted as they went.
    stale: deliveries of messages that the trial did not send when they say they were sent.
    lost: why each lost connection or server went, empty when none.
    host: readings of the whole machine, each with its time (ns), empty when nobody watched it.
    lab: whether the trial ran in a lab kernel.  shared_machine: whether others' use of the machine is not judged.
    open_loop: whether the load follows a schedule.
    line: how late the line was, None where the kernel made the link.  full_frame_s: how long a full frame takes on the
    fastest link that the line makes, at its fastest; 0 = one has no limit.
    path_rtt: what experiments.trial.checks.path_rtt found.  bare: whether the scenario had clients connect on another
    link.
    in_client: whether the stack runs inside its clients' processes, so that what these use is not the generator's.
    serverless: whether the stack has no processes of its own.  on_link: whether the load crosses the link.
    programs: how the programs ended that the load was, None where it was messages.
    station_cores: what each station may use of a core, None = all share all.  stations: the samples' subjects that are
    processes of a station, by its name.
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
    audiences: Sequence[Audience]
    unreadable: int
    miscounted: int
    lost: Sequence[str]
    path_rtt: Measured
    further_resources: Sequence[pa.Table] = ()
    host: Sequence[tuple[int, Reading]] = ()
    lab: bool = False
    shared_machine: bool = False
    open_loop: bool = False
    stale: int = 0
    bare: bool = False
    in_client: bool = False
    serverless: bool = False
    on_link: bool = True
    line: LineSeen | None = None
    full_frame_s: float = 0.0
    programs: Sequence[ProgramRun] | None = None
    station_cores: float | None = None
    stations: Mapping[str, Sequence[str]] = field(default_factory=dict)


def judge(evidence: Evidence, settings: CheckSettings, levels: dict[str, str]) -> Verdict:
    """Run every check.  `levels` (factor to printed level) decides which waivers hold."""
    measured = {check: found for group in _GROUPS for check, found in group(evidence).items()}
    waived = dict.fromkeys(OF_OTHERS, SHARED_MACHINE) if evidence.shared_machine else {}
    waived |= {
        waiver.check: waiver.because
        for waiver in settings.waive
        if all(levels.get(factor) == level for factor, level in waiver.when.items())
    }
    if evidence.in_client:
        waived[Check.GENERATOR_CPU] = IN_CLIENT
    if evidence.bare:
        waived[Check.PATH_RTT] = BARE
    found = uses(evidence, measured, LIMITS)
    inapplicable = not_applicable(evidence.programs) | line_not_applicable(evidence)
    return Verdict(
        checks=tuple(
            HealthCheck(check=check, health=Health.NOT_APPLICABLE, detail=inapplicable[check])
            if check in inapplicable
            else _decide(check, *measured[check], limit=limit_of(check, settings), because=waived.get(check))
            for check in Check
        ),
        limited_by=limited_by(found, open_loop=evidence.open_loop, programs=evidence.programs is not None),
        uses=found,
    )


def limit_of(check: Check, settings: CheckSettings) -> Limit:
    """The limit in force: the scenario's own, which is tighter, or the default."""
    default = LIMITS[check]
    return replace(default, value=min(default.value, settings.limits.get(check, default.value)))


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
        Check.LINK_RATE: {"rate", "group_air"},
        Check.LINK_LOSS: {"loss", "losses", "duplicates", "damage", "bypass", "group"},
        Check.LINK_DELAY: {"delay", "jitter", "reordered", "fates"},
        Check.LINK_TIMELINE: {"change"},
    }
    found: dict[Check, Measured] = {}
    for check, some in kinds.items():
        mine = [item for item in evidence.link_checks if item.quantity in some]
        broken = [out_of_tolerance(item) for item in mine if not item.holds]
        # A link may have no rate and no timeline to prove, but delay and loss are probed on every link.
        count = len(broken) if mine or check in (Check.LINK_RATE, Check.LINK_TIMELINE) else None
        found[check] = (count, "; ".join(broken) or f"{len(mine)} within tolerance")
    return found


# Quantities of a link that are no counts.
_SAID = {"rate": quantities.rate, "delay": quantities.time, "jitter": quantities.time, "fates": quantities.time}
_SAID["loss"] = quantities.share


def out_of_tolerance(item: LinkCheck) -> str:
    """What a check that does not hold asked and got."""
    if item.quantity == "change":
        return f"{item.detail}: {item.delivered * 1e3:.1f} ms late, {item.high * 1e3:g} ms are tolerated"
    after = f", after {item.state}" if item.state else ""
    of = f" of {item.path}" if item.path else ""
    asked, delivered, low, high = map(
        _SAID.get(item.quantity, "{:g}".format), (item.asked, item.delivered, item.low, item.high)
    )
    got = delivered if math.isfinite(item.delivered) else "nothing"
    return (
        f"{item.direction} {item.quantity}{of} ({item.source}{after}): "
        f"asked {asked}, delivered {got}, tolerated {low} to {high}"
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
    result = reconcile(evidence.published, evidence.delivered, evidence.audiences)
    wrong = evidence.miscounted + evidence.unreadable
    old = max(_before_they_were_sent(evidence.published, evidence.delivered), evidence.stale)
    return {
        Check.LEDGER_CLOSES: (
            wrong + result.foreign,
            (
                f"{result.expected} expected = {result.delivered} delivered + {result.lost} lost + "
                f"{result.in_doubt} in doubt; {result.foreign} that were not sent to who had them, "
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
    lambda evidence: program_checks(evidence.programs),
)
