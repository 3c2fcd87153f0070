"""Where a stack's services run in a cell's network, and which hosts its clients' packets go between.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product

from experiments.scenario.settings import Settings
from stacks import registry
from stacks.driver import Service, between_clients, from_home
from topologies.plan import TopologyPlan


def hosts(plan: TopologyPlan, service: Service) -> tuple[str, ...]:
    """The hosts that have a service, in the order in which channels are at home there.

    Of stations the second comes first: clients are dealt out from the first station on, so with as many channels as
    stations every client would sit where its channel is at home, and nothing would cross the medium.
    """
    if service.placement == "servers":
        return plan.of_role("server")
    first, *others = plan.of_role("station")
    return (*others, first)


def placed(plan: TopologyPlan, services: Iterable[Service]) -> tuple[tuple[str, Service], ...]:
    """Every service with each host that it runs on."""
    return tuple((host, one) for one in services for host in hosts(plan, one))


def between_stations(settings: Settings) -> bool:
    """Whether clients talk to services on stations, or to each other.  UnknownStackError as stacks.registry.get."""
    driver = settings.driver()
    return between_clients(driver) or any(one.placement == "nodes" for one in driver.services())


def ways(settings: Settings, plan: TopologyPlan) -> tuple[tuple[str, str], ...]:
    """A station and a host with a service, for every two that clients' packets can go between, there and back.

    Where services are on stations these are the clients' own stations and their channels' homes, but for clients that
    are at home, or, where services speak to each other, any two stations; where clients talk to each other, the
    stations of a channel's producers and consumers.  Else every station and every server.  UnknownStackError as
    stacks.registry.get.
    """
    if between_clients(settings.driver()):
        return _met(settings, plan)
    if any(one.overlay for one in settings.driver().services()):
        return tuple(permutations(plan.of_role("station"), 2))
    if not between_stations(settings):
        return tuple(product(plan.of_role("station"), plan.of_role("server")))
    return tuple(dict.fromkeys((here, there) for here, there in homes(settings, plan) if here != there))


def _met(settings: Settings, plan: TopologyPlan) -> tuple[tuple[str, str], ...]:
    found = ((here, there) for here, _, consuming in _channels(settings, plan) for there in consuming if here != there)
    return tuple(dict.fromkeys(found))


def _channels(settings: Settings, plan: TopologyPlan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The station of a producer, its channel, and the stations of that channel's consumers; no two are equal."""
    stations, clients = plan.of_role("station"), settings.workload.clients
    consuming: dict[int, dict[str, None]] = {}
    for end in clients.consumers(len(stations)):
        consuming.setdefault(end.channel, {})[stations[end.station]] = None
    for here, channel in dict.fromkeys(
        (stations[end.station], end.channel) for end in clients.producers(len(stations))
    ):
        yield here, clients.channels[channel], tuple(consuming.get(channel, ()))


def homes(settings: Settings, plan: TopologyPlan) -> Iterator[tuple[str, str]]:
    """Of every client its station and the host at which its channel is at home."""
    found = [host for host, _ in placed(plan, settings.driver().services())]
    stations, clients = plan.of_role("station"), settings.workload.clients
    for end in (*clients.producers(len(stations)), *clients.consumers(len(stations))):
        yield stations[end.station], from_home(found, end.channel)[0]


def problems(settings: Settings, plan: TopologyPlan) -> Iterator[tuple[str, str]]:
    """Why a stack's services cannot be placed in a network: the key that says so, and what is allowed."""
    kind, stack = settings.topology.kind, settings.stack
    placements = {one.placement for one in settings.driver().services()}
    if "servers" in placements and not plan.of_role("server"):
        others = ", ".join(_without_servers())
        why = f"{kind} has no server, which stack {stack!r} needs: use another topology, or a stack of {others}"
        yield "topology", why
    if not between_stations(settings):
        if not placements:
            yield from _out_of_reach(settings, plan)
        return
    on_stations = (
        f"stack {stack!r} has its services on stations"
        if placements
        else f"stack {stack!r} is in clients that speak to each other"
    )
    in_lab = settings.kernel == "lab"
    if len(plan.segments) > 1:
        yield "topology", f"{on_stations}, which have to be on one medium: use peers or star, not {kind}"
    elif not ways(settings, plan):
        why = f"{on_stations}, and each is where those are that it talks to, so that nothing would cross the medium: "
        yield "workload", f"{why}use two stations or more (now {settings.stations}), or another number of channels"
    elif plan.emulated[0].wired and (in_lab or settings.medium == "tc"):
        why = f"{on_stations}, and by tc what these send each other on topology {kind} misses the uplink's delay: "
        yield "kernel" if in_lab else "medium", f"{why}use topology peers, or medium line on the machine's own kernel"


def _out_of_reach(settings: Settings, plan: TopologyPlan) -> Iterator[tuple[str, str]]:
    """The first channel that a stack without a network cannot serve, as every station's clients are one process."""
    work, words = settings.workload, settings.workload.clients.WORDS
    for here, channel, consuming in _channels(settings, plan):
        others = [there for there in consuming if there != here]
        if others and not (work.shared and here in consuming):
            why = (
                f"{settings.stack!r} delivers between clients of one station only, and {channel} has a {words.sender} "
                f"on {here} and a {words.receiver} on {others[0]}: use one station (now {settings.stations}), other "
                "numbers of clients and channels, or another stack, such as reference"
            )
            yield "stack", why
            return


def _without_servers() -> Iterator[str]:
    for name, stack in registry.stacks().items():
        if all(one.placement != "servers" for one in stack.services()):
            yield name
