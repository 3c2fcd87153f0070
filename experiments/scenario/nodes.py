"""What may happen to nodes in a cell (key `nodes`).  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from experiments.scenario import placement
from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import Settings
from records import nodes
from records.workload import PubSub, Stream
from records.yaml_lines import Key
from stacks.driver import between_clients
from topologies.plan import TopologyPlan
from topologies.routes import NoPath, Routes

_WHY = {
    "server": "has no service of the stack, or is the only server that has one",
    "station": "has no clients, so nothing would happen",
}
_MOVES = (
    "clients of shape: shared take none: a stream whose receiver goes has another one, which the ledger takes for a "
    "mistake; use streams with ends of their own (shape: one_way or duplex)"
)
_NEVER_LATE = "stack {!r} is in clients that speak to each other, so all have to be there when they connect"


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """The key that says what cannot be, and what is allowed; nothing for a topology that cannot be itself.

    UnknownStackError as stacks.registry.get.
    """
    if not settings.nodes:
        return
    if isinstance(settings.workload, PubSub) and settings.workload.away is not None:
        yield ("nodes",), "workload.away takes subscribers off as well, and who is gone why could not be told: use one"
    if isinstance(settings.workload, Stream) and settings.workload.shared:
        yield ("nodes",), _MOVES
    try:
        plan = topology_plan(settings)
    except ValueError:
        return
    names, clients = plan.of_role("station"), settings.workload.clients
    used = {names[end.station] for end in (*clients.producers(len(names)), *clients.consumers(len(names)))}
    services = settings.driver().services()
    there = [host for host, _ in placement.placed(plan, services)]
    if any(one.overlay for one in services):
        needs = [(station, station) for station in used]
    else:
        needs = list(placement.homes(settings, plan)) if there else []
    servers = _needed(plan, there, needs) if len(there) > 1 else {}
    found = nodes.problems(
        settings.nodes,
        window_s=settings.window.window_s,
        stations=[name for name in names if name in used],
        servers=servers,
        routers=plan.of_role("router"),
        others={host.name: _WHY[host.role] for host in plan.hosts if host.role in _WHY},
        never_late=_NEVER_LATE.format(settings.stack) if between_clients(settings.driver()) else "",
    )
    for (index, key), problem in found:
        yield ("nodes", index, key), problem


def _needed(plan: TopologyPlan, there: Iterable[str], needs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The stations that need each server: for its service, or because it passes on what is for another one."""
    routes = Routes(plan)
    found: dict[str, set[str]] = {host: set() for host in there}
    for station, home in needs:
        with suppress(NoPath):  # which is told elsewhere
            for host in {home, *(hop.receiver for hop in routes.hops(station, home))} & found.keys():
                found[host].add(station)
    return found
