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
    "station": "has no clients, so nothing would happen",
}
_NEVER_LATE = "stack {!r} is in clients that speak to each other, so all have to be there when they connect"


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """The key that says what cannot be, and what is allowed; nothing for a topology that cannot be itself.

    UnknownStackError as stacks.registry.get.
    """
    if not settings.nodes:
        return
    if isinstance(settings.workload, PubSub) and settings.workload.away is not None:
        yield ("nodes",), "workload.away takes subscribers off as well, and who is gone why could not be told: use one"
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
    servers = {host: {station for station, need in needs if need == host} for host in there} if len(there) > 1 else {}
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
