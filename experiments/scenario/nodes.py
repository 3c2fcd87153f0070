"""What may happen to nodes in a cell (key `nodes`).  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.scenario import placement
from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import Settings
from records import nodes
from records.workload import PubSub
from records.yaml_lines import Key
from stacks.driver import between_clients

_WHY = {
    "server": "has no service of the stack, or is the only server that has one",
    "router": "is a router, and routers stay",
    "station": "has no clients, so nothing would happen",
}


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """The key that says what cannot be, and what is allowed; nothing for a topology that cannot be itself.

    UnknownStackError as stacks.registry.get.
    """
    if not settings.nodes:
        return
    if isinstance(settings.workload, PubSub) and settings.workload.away is not None:
        yield ("nodes",), "workload.away takes subscribers off as well, and who is gone why could not be told: use one"
    if any(one.placement == "nodes" for one in settings.driver().services()):
        yield ("nodes",), f"stack {settings.stack!r} has its services on stations, which stay: use another stack"
    elif between_clients(settings.driver()):
        yield from _between_clients(settings)
    try:
        plan = topology_plan(settings)
    except ValueError:
        return
    names, clients = plan.of_role("station"), settings.workload.clients
    used = {names[end.station] for end in (*clients.producers(len(names)), *clients.consumers(len(names)))}
    there = [host for host, _ in placement.placed(plan, settings.driver().services())]
    homes = list(placement.homes(settings, plan)) if there else []
    servers = {host: {station for station, home in homes if home == host} for host in there} if len(there) > 1 else {}
    found = nodes.problems(
        settings.nodes,
        window_s=settings.window.window_s,
        stations=[name for name in names if name in used],
        servers=servers,
        others={host.name: _WHY[host.role] for host in plan.hosts},
    )
    for (index, key), problem in found:
        yield ("nodes", index, key), problem


def _between_clients(settings: Settings) -> Iterator[tuple[Key, str]]:
    """Clients that speak to each other begin together, and nobody else keeps what was sent to them."""
    why = f"of stack {settings.stack!r} clients speak to each other: a station can only vanish, and join after that"
    later = nodes.late(settings.nodes)
    for index, one in enumerate(settings.nodes):
        if one.event == "kill" or one.node in later:
            yield ("nodes", index, "event"), f"{one.event!r} of {one.node} at {one.at_s:g} s: {why}"
