"""Who publishes what to whom, from which node: a cell's workload spread over stations.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.load.protocol import AwayPlan, ConsumerPlan, NodePlan, ProducerPlan
from experiments.settings import Settings
from results.manifest import Consumer, Producer, Workload
from stacks.driver import Delivery, Endpoint


def workload(settings: Settings, stations: Sequence[str]) -> Workload:
    """Client i uses topic i mod topics on station i mod stations, so both ends of a pair share a station.

    Clients that are apart: publishers on the first half of the stations, subscribers on the others.
    """
    work = settings.workload
    clients = work.clients
    half = len(stations) // 2
    of_publishers, of_subscribers = (stations[:half], stations[half:]) if clients.apart else (stations, stations)
    selector = (work.selector.low, work.selector.high) if work.selector else None
    return Workload(
        topics=tuple(f"topic-{number}" for number in range(clients.topics)),
        producers=tuple(
            Producer(id=number, node=of_publishers[number % len(of_publishers)], topic=number % clients.topics)
            for number in range(clients.publishers)
        ),
        consumers=tuple(
            Consumer(
                id=number,
                node=of_subscribers[number % len(of_subscribers)],
                topic=number % clients.topics,
                durable=work.guarantee.subscription == "durable",
                selector=selector,
            )
            for number in range(clients.subscribers)
        ),
        body_bytes=work.body_bytes,
        loop=work.loop,
        rate_per_producer=work.rate,
        body_type=work.body_type.value,
        ack=work.ack.value,
        receive=work.receive,
        memory_limit_mb=work.memory_limit_mb,
        when_full=work.when_full,
        persistent=work.guarantee.delivery is Delivery.PERSISTENT,
    )


def guarantee_class(settings: Settings) -> str:
    """Stacks are compared only when this is equal."""
    guarantee = settings.workload.guarantee
    return f"{guarantee.subscription}, {guarantee.delivery.value}, ack {settings.workload.ack.value}"


def node_plans(
    settings: Settings,
    work: Workload,
    *,
    at: Endpoint,
    seed: int,
    out_dir: Callable[[str], Path],
    connect_limit_s: float = 60.0,
) -> tuple[NodePlan, ...]:
    """One plan per station that has clients.  out_dir: from a station's name to the folder for its ledger.

    connect_limit_s: what a client may take to connect and subscribe.
    """
    away = settings.workload.away
    nodes = sorted({one.node for one in work.producers} | {one.node for one in work.consumers})
    return tuple(
        NodePlan(
            node=node,
            stack=settings.stack,
            host=at.host,
            port=at.port,
            producers=tuple(
                ProducerPlan(id=one.id, topic=one.topic, topic_name=work.topics[one.topic])
                for one in work.producers
                if one.node == node
            ),
            consumers=tuple(
                ConsumerPlan(
                    id=one.id,
                    topic=one.topic,
                    topic_name=work.topics[one.topic],
                    durable=one.durable,
                    selector=one.selector,
                )
                for one in work.consumers
                if one.node == node
            ),
            body_bytes=work.body_bytes,
            persistent=work.persistent,
            body_type=settings.workload.body_type,
            ack=settings.workload.ack,
            acknowledge_every=settings.workload.acknowledge_every,
            receive=settings.workload.receive,
            prefetch=settings.workload.prefetch,
            loop=work.loop,
            rate_per_producer=work.rate_per_producer,
            away=AwayPlan(at_s=away.at_s, lasts_s=away.lasts_s) if away else None,
            property_range=settings.workload.selector.of if settings.workload.selector else None,
            seed=seed,
            out_dir=str(out_dir(node)),
            connect_timeout_s=connect_limit_s,
        )
        for node in nodes
    )
