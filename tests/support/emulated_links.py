"""Links for tests: a profile in a line, applied to a network and probed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from emulation.line.serving import LineProcess
from emulation.link import features
from emulation.link.link import Link, applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.proof.probe import PORT, ProbePath, probe_path
from emulation.proof.proof import Ends, Samples, probe_link
from experiments.trial.observers.priority import ahead
from records.link import LinkCheck
from topologies.network import Network

SHORT = Samples(rate_s=0.3)


def profile(**settings: Any) -> LinkProfile:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex"}
    return LinkProfile.model_validate(base | settings)


def plan_of(
    network: Network,
    one: LinkProfile,
    *,
    seed: int = 1,
    timeline_s: float = 10,
    made_by: MediumName = "tc",
    times_frames: bool | None = None,
) -> LinkPlan:
    """times_frames: whether frames pay on an idle link, too; None: if this kernel can have them pay."""
    return linkplan.plan(
        one,
        list(network.ports.stations),
        seed=seed,
        seconds=10,
        timeline_s=timeline_s,
        made_by=made_by,
        times_frames=features.times_frames() if times_frames is None else times_frames,
    )


def ends(network: Network, station: str = "sta1") -> Ends:
    node, server = network.node(station), network.servers[0]
    return Ends(station_pid=node.pid, station_address=node.address, wired_pid=server.pid, wired_address=server.address)


@contextmanager
def link(
    network: Network,
    *,
    timeline_s: float = 10,
    made_by: MediumName = "tc",
    times_frames: bool | None = None,
    line: LineProcess | None = None,
    **settings: Any,
) -> Iterator[Link]:
    """A link with these settings, in force.  line: what carries it if a line makes it, None = one of its own."""
    plan = plan_of(network, profile(**settings), timeline_s=timeline_s, made_by=made_by, times_frames=times_frames)
    with applied(plan, network.ports, line) as made:
        yield made


@contextmanager
def path(
    network: Network, direction: str = "uplink", *, silence_s: float = 0.5, station: str = "sta1"
) -> Iterator[ProbePath]:
    """A port of its own for each station, so that several can be open at one end."""
    where = ends(network, station)
    up = direction == "uplink"
    with probe_path(
        from_pid=where.station_pid if up else where.wired_pid,
        to_pid=where.wired_pid if up else where.station_pid,
        to_address=where.wired_address if up else where.station_address,
        port=PORT + list(network.ports.stations).index(station),
    ) as found:
        found.wait(silence_s)
        yield found


def prove(
    network: Network,
    asked: LinkProfile,
    made: LinkProfile | None = None,
    *,
    made_by: MediumName = "tc",
    seed: int = 1,
    line: LineProcess | None = None,
) -> list[LinkCheck]:
    """Probe a link for what `asked` says (by seed 1), which is as `made` says (by `seed`); every group of stations.

    line: as in `link`.
    """
    plan = plan_of(network, asked, made_by=made_by)
    return prove_plan(network, plan, plan_of(network, made or asked, made_by=made_by, seed=seed), line=line)


def prove_plan(
    network: Network, asked: LinkPlan, made: LinkPlan, *, line: LineProcess | None = None
) -> list[LinkCheck]:
    """Probe a link for what one plan says, which is made by another."""
    checks: list[LinkCheck] = []
    for group, members in enumerate(asked.groups):
        if members:
            with applied(made, network.ports, line):
                checks += probe_link(asked, {group: ends(network, members[0])}, SHORT)
    return checks


def holding(
    network: Network, asked: LinkProfile, *, made_by: MediumName = "tc", line: LineProcess | None = None
) -> list[LinkCheck]:
    """Probe a link that should hold, and again when it does not: a stall of the machine spoils times."""
    return until_it_holds(lambda: prove(network, asked, made_by=made_by, line=line))


def until_it_holds(probe: Callable[[], list[LinkCheck]]) -> list[LinkCheck]:
    """Probe as a trial does: again when something does not hold, then going before whatever else runs here.

    A machine that other work slows down for a minute or two is waited for.
    """
    checks = probe()
    for pause_s in (0, 3, 6, 15, 30, 60):
        if not broken(checks):
            break
        time.sleep(pause_s)
        with ahead(()):
            checks = probe()
    return checks


def gap_trace(busy_ms: int, gap_ms: int, *, every_ms: int = 2) -> dict[str, Any]:
    """An event from the timeline's start on: a full frame up so often, then none for a while, then again."""
    times = [*range(every_ms, busy_ms, every_ms), *range(busy_ms + gap_ms, 2 * busy_ms + gap_ms, every_ms)]
    return {"at": 0, "trace": {"uplink": {"opportunities_ms": times}}}


def broken(checks: Iterable[LinkCheck]) -> set[str]:
    return {check.quantity for check in checks if not check.holds}
