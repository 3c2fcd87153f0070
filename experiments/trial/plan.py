"""Who publishes what to whom, from which node: a cell's workload spread over stations.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Literal

from experiments.load.protocol import NodePlan, PeerAt, ServiceAt, client_id
from experiments.scenario.settings import Settings
from records.manifest import Consumer, PlacedWorkload, Producer
from records.workload import Command, PubSub
from stacks.driver import Endpoint, between_clients

_FIRST_PORT = 20_000  # below those that Linux gives out by itself, from 32,768 on


def workload(settings: Settings, stations: Sequence[str]) -> PlacedWorkload:
    """The clients of a cell on its stations, as records.clients spreads them; each has its number for an id.

    A caller's replies come to a consumer of its own, numbered behind the services.
    """
    asked = settings.workload
    pubsub = asked if isinstance(asked, PubSub) else None
    selector = (pubsub.selector.low, pubsub.selector.high) if pubsub and pubsub.selector else None
    producers = tuple(
        Producer(id=number, node=stations[end.station], topic=end.channel)
        for number, end in enumerate(asked.clients.producers(len(stations)))
    )
    consumers = tuple(
        Consumer(
            id=number,
            node=stations[end.station],
            topic=end.channel,
            durable=pubsub is not None and pubsub.durable,
            selector=selector,
        )
        for number, end in enumerate(asked.clients.consumers(len(stations)))
    )
    replies = tuple(
        Consumer(id=len(consumers) + one.id, node=one.node, topic=one.topic, caller=one.id)
        for one in (producers if asked.replies else ())
    )
    return PlacedWorkload(asked=asked, producers=producers, consumers=(*consumers, *replies))


def node_plans(
    settings: Settings,
    work: PlacedWorkload,
    *,
    addresses: Mapping[str, str],
    services: Sequence[Endpoint],
    seed: int,
    out_dir: Callable[[str], Path],
    connect_limit_s: float = 60.0,
    late: Collection[str] = (),
) -> tuple[NodePlan, ...]:
    """One plan per station that has clients; none for a load that is programs.

    addresses: node name to IPv4 address.  services: all that the stack has.  out_dir: from a station's name to the
    folder for its ledger.
    connect_limit_s: what a client may take to connect and subscribe.  late: nodes that join later.
    """
    asked = work.asked
    if isinstance(asked, Command):
        return ()
    them = peers(settings, work, addresses)
    nodes = sorted({one.node for one in work.producers} | {one.node for one in work.consumers})
    return tuple(
        NodePlan(
            node=node,
            stack=settings.stack,
            knobs=settings.knobs.get(settings.stack, {}),
            address=addresses[node],
            services=tuple(ServiceAt.model_validate(asdict(one)) for one in services),
            peers=them,
            workload=asked,
            producers=tuple(one for one in work.producers if one.node == node),
            consumers=tuple(one for one in work.consumers if one.node == node),
            seed=seed,
            out_dir=str(out_dir(node)),
            connect_timeout_s=connect_limit_s,
            late=node in late,
        )
        for node in nodes
    )


def peers(settings: Settings, work: PlacedWorkload, addresses: Mapping[str, str]) -> tuple[PeerAt, ...]:
    """Every client, each with a port that no other has on its node; a caller's replies come to its own.

    None where clients do not speak to each other.
    """
    if isinstance(work.asked, Command) or not between_clients(settings.driver()):
        return ()
    ports = {node: count(_FIRST_PORT) for node in addresses}
    clients: list[tuple[Literal["producer", "consumer"], Producer | Consumer]] = [
        *(("producer", one) for one in work.producers),
        *(("consumer", one) for one in work.consumers if one.caller is None),
    ]
    channels = work.asked.clients.channels
    return tuple(
        PeerAt(
            client_id=client_id(one.node, role, one.id),
            role=role,
            channel=channels[one.topic],
            address=addresses[one.node],
            port=next(ports[one.node]),
        )
        for role, one in clients
    )
