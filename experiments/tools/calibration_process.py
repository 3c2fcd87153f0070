"""`python -m experiments.tools.calibration_process`: probes link profiles on the kernel that it runs on.

Reads a Request (one JSON line) and answers with a records.calibration.Calibrated for each profile.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from emulation.kernel import kernel
from emulation.kernel.namespace import KernelError
from emulation.link import features
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.profile import LinkProfile
from emulation.proof import expectation
from emulation.proof.proof import Ends, Samples, probe_link
from emulation.tc.losstable import LossCount
from experiments.tools.calibration import Request, stations_needed
from experiments.trial.observers.heartbeat import heartbeat
from experiments.workers.worker import asked_for
from records.calibration import Calibrated
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

_TRIES = 3
_AFTER_A_STALL_S = 1.0
# A second of full frames, and some thousands of small packets where they do not take longer than these seconds.
_SAMPLES = Samples(delay=200, jitter=1000, delay_s=6.0, apart=3.0, loss=300, loss_most=4000, loss_s=4.0, rate_s=1.0)


def main() -> int:
    """Calibrate the profiles that standard input names."""
    request, say = asked_for(Request)
    # reno is built into every kernel and allowed everywhere; nothing here uses TCP.
    with star(stations=max(map(stations_needed, request.profiles)), congestion_control="reno") as network:
        for profile in request.profiles:
            say(_calibrated(profile, network, request))
    return 0


def _calibrated(profile: LinkProfile, network: Network, request: Request) -> Calibrated:
    started, worst = time.monotonic(), 0.0
    found = Calibrated(profile=profile.name, kernel=kernel.current(), medium=request.medium)
    for attempt in range(1, _TRIES + 1):
        with heartbeat() as heart:
            try:
                found = _once(profile, network, request)
            except (KernelError, OSError, ValueError) as error:
                return found.model_copy(update={"refused": str(error), "failed": True, "tries": attempt})
        worst = max(worst, heart.worst_s)
        found = found.model_copy(update={"tries": attempt, "stall_s": worst, "seconds": time.monotonic() - started})
        if not found.outside:
            break
        time.sleep(_AFTER_A_STALL_S)
    return found


def _once(profile: LinkProfile, network: Network, request: Request) -> Calibrated:
    """The link before its timeline begins: all of its states would take as long as the timeline does."""
    stations = [node.name for node in network.stations][: stations_needed(profile)]
    plan = linkplan.plan(
        profile,
        stations,
        seed=request.seed,
        seconds=60,
        timeline_s=0,
        made_by=request.medium,
        times_frames=features.times_frames(),
    )
    names, checks = [], []
    for group, members in enumerate(plan.groups):
        if not members:
            continue
        # Afresh for each group, so that the numbering of its packets starts at zero.
        with applied(plan, network.ports) as link:
            probed = probe_link(plan, {group: _ends(network, members)}, _SAMPLES)
            counts = link.loss_counts()
        names.append(", ".join(members))
        checks.append((*probed, *_shares(plan, group, counts)))
    return Calibrated(
        profile=profile.name,
        kernel=kernel.current(),
        medium=request.medium,
        stations=tuple(names),
        checks=tuple(checks),
    )


def _shares(plan: LinkPlan, group: int, counts: Sequence[LossCount]) -> list[LinkCheck]:
    """The share of packets lost against the model's, which the list of a seed only comes near."""
    found = []
    for loss, model, count in zip(plan.losses, plan.models, counts, strict=True):
        if (loss.group, loss.state) != (group, 0) or not loss.share or loss.station not in ("", plan.groups[group][0]):
            continue
        seen = max(count.seen, 1)
        expected = expectation.losses(model, seen)
        found.append(
            LinkCheck(
                quantity="loss",
                direction=loss.direction,
                source="probe",
                asked=loss.share,
                delivered=count.dropped / seen,
                low=expected.low / seen,
                high=expected.high / seen,
                detail=f"{count.dropped} of {count.seen} packets dropped ({loss.model})",
            )
        )
    return found


def _ends(network: Network, members: Sequence[str]) -> Ends:
    station, wired = network.node(members[0]), network.servers[0]
    return Ends(
        station_pid=station.pid,
        station_address=station.address,
        wired_pid=wired.pid,
        wired_address=wired.address,
    )


if __name__ == "__main__":
    sys.exit(main())
