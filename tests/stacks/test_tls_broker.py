"""Mosquitto and ActiveMQ over TLS: messages get through, nobody on the way reads them, strange servers are refused."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from here import HERE
from pattern_stories import until
from stack_servers import Deployed, deployed

from records.messaging import Ack, Delivery
from stacks.activemq.driver import PORT, ActiveMQ
from stacks.activemq.mqtt import MQTT_TLS_PORT, ActiveMQMqtt
from stacks.activemq.openwire import OPENWIRE_TLS_PORT, ActiveMQOpenWire
from stacks.certificates import Authority
from stacks.driver import Endpoint, Service, Stack, Subscription
from stacks.mosquitto.driver import Mosquitto, MosquittoKnobs
from stacks.tls import CertificateError

pytestmark = [pytest.mark.root, pytest.mark.broker]

SECRET = b"for its reader's eyes only"
BODIES = [SECRET, bytes(range(256)), b"z" * 300_000, *(b"%d" % number for number in range(40))]
ACTIVEMQ = {PORT: ActiveMQ(), OPENWIRE_TLS_PORT: ActiveMQOpenWire(), MQTT_TLS_PORT: ActiveMQMqtt()}
_EVERY_PROTOCOL = socket.htons(3)  # ETH_P_ALL, packet(7)


@pytest.fixture(scope="module")
def activemq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """One broker for its three drivers."""
    ports = {"activemq_openwire_port": OPENWIRE_TLS_PORT, "activemq_mqtt_port": MQTT_TLS_PORT}
    service = Service(name="activemq", role="activemq", port=PORT, variables=ports, tls="1.3")
    with deployed(cast(Stack, SimpleNamespace(services=lambda: (service,))), tmp_path_factory.mktemp("tls")) as running:
        yield running


async def talk(stack: Stack, at: Endpoint) -> tuple[list[bytes], str, bytes]:
    """What one subscriber gets, what its connection agreed on, and every packet of the namespace meanwhile."""
    loop, seen = asyncio.get_running_loop(), bytearray()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _EVERY_PROTOCOL) as tap:
        tap.setblocking(False)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        tap.bind(("lo", 0))
        loop.add_reader(tap, lambda: seen.extend(tap.recv(1 << 17)))
        reader: Any = await stack.connect(HERE, [at], "reader")
        got: list[bytes] = []
        await reader.subscribe("t", lambda body, _: got.append(bytes(body)), subscription=Subscription(), ack=Ack.AUTO)
        writer: Any = await stack.connect(HERE, [at], "writer")
        publisher = await writer.publisher("t", delivery=Delivery.NONPERSISTENT)
        for body in BODIES:
            await publisher.send(body)
        await until(lambda: len(got) == len(BODIES))
        (end,) = reader.sockets
        async with asyncio.timeout(5):  # nobody waits for a close that is not answered
            await reader.close()
            await writer.close()
        await asyncio.sleep(0.05)
        loop.remove_reader(tap)
    return got, end.tls, bytes(seen)


@pytest.mark.parametrize("tls", ["off", "1.2"])  # 1.3: in a trial, tests/experiments/trial/test_journey_real.py
def test_mosquittos_messages_are_seen_by_their_reader_alone(tmp_path_factory: pytest.TempPathFactory, tls: str) -> None:
    stack = Mosquitto(MosquittoKnobs.model_validate({"tls": tls, "qos": 1}))
    with deployed(stack, tmp_path_factory.mktemp("mosquitto")) as broker:
        (at,) = broker.services
        got, agreed, seen = broker.run(lambda: talk(stack, at))
        assert got == BODIES
        assert len(seen) > sum(map(len, BODIES))
        assert (SECRET in seen) == (tls == "off")
        assert agreed.startswith(f"TLSv{tls} ") if tls != "off" else agreed == ""
        if tls != "off":
            refused(broker, stack, at)


@pytest.mark.parametrize("port", ACTIVEMQ, ids=[stack.name for stack in ACTIVEMQ.values()])
def test_activemqs_messages_are_seen_by_their_reader_alone(activemq: Deployed, port: int) -> None:
    at = replace(activemq.services[0], port=port)
    got, agreed, seen = activemq.run(lambda: talk(ACTIVEMQ[port], at))
    assert got == BODIES
    assert agreed.startswith("TLSv1.3 ")
    assert len(seen) > sum(map(len, BODIES))
    assert SECRET not in seen
    refused(activemq, ACTIVEMQ[port], at)


def refused(broker: Deployed, stack: Stack, at: Endpoint) -> None:
    """A client that was told of another authority does not speak to this server."""

    async def connect() -> None:
        with pytest.raises(CertificateError, match="the server's certificate does not verify: "):
            await stack.connect(HERE, [replace(at, authority=Authority().certificate)], "stranger")

    broker.run(connect)
