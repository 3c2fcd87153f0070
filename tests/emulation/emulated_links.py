"""Links for tests: a profile in a line, applied to a network and probed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from emulation import linkplan, shaper
from emulation.linkplan import LinkPlan
from emulation.probe import ProbePath, probe_path
from emulation.profile import LinkProfile
from emulation.proof import Ends, Samples, probe_link
from emulation.shaper import AppliedLink
from experiments.priority import ahead
from results.link import LinkCheck
from topologies.network import Network

SHORT = Samples(rate_s=0.3)


def profile(**settings: Any) -> LinkProfile:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex"}
    return LinkProfile.model_validate(base | settings)


def plan_of(network: Network, one: LinkProfile, *, seed: int = 1, timeline_s: float = 10) -> LinkPlan:
    return linkplan.plan(one, list(network.ports.stations), seed=seed, seconds=10, timeline_s=timeline_s)


def ends(network: Network, station: str = "sta1") -> Ends:
    node, server = network.node(station), network.servers[0]
    return Ends(station_pid=node.pid, station_address=node.address, wired_pid=server.pid, wired_address=server.address)


@contextmanager
def link(network: Network, *, timeline_s: float = 10, **settings: Any) -> Iterator[AppliedLink]:
    """A link with these settings, in force."""
    with shaper.applied(plan_of(network, profile(**settings), timeline_s=timeline_s), network.ports) as made:
        yield made


@contextmanager
def path(network: Network, direction: str = "uplink", *, silence_s: float = 0.5) -> Iterator[ProbePath]:
    where = ends(network)
    up = direction == "uplink"
    with probe_path(
        from_pid=where.station_pid if up else where.wired_pid,
        to_pid=where.wired_pid if up else where.station_pid,
        to_address=where.wired_address if up else where.station_address,
    ) as found:
        found.wait(silence_s)
        yield found


def prove(network: Network, asked: LinkProfile, made: LinkProfile | None = None) -> list[LinkCheck]:
    """Probe a link for what `asked` says, which is as `made` says; every group of stations."""
    plan, real = plan_of(network, asked), plan_of(network, made or asked)
    checks: list[LinkCheck] = []
    for group, members in enumerate(plan.groups):
        if members:
            with shaper.applied(real, network.ports):
                checks += probe_link(plan, {group: ends(network, members[0])}, SHORT)
    return checks


def holding(network: Network, asked: LinkProfile) -> list[LinkCheck]:
    """Probe a link that should hold, and again when it does not: a stall of the machine spoils times."""
    return until_it_holds(lambda: prove(network, asked))


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


def broken(checks: Iterable[LinkCheck]) -> set[str]:
    return {check.quantity for check in checks if not check.holds}
