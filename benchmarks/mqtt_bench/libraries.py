"""A publisher and a subscriber of each library, each in the way in which it is fastest.

Publishers keep a window of messages of QoS 1 under way; with QoS 0 they send as fast as what they send is taken.
"""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import aiomqtt
import uvloop
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from records.messaging import Ack, Delivery
from stacks.driver import Endpoint, Here, Subscription
from stacks.mosquitto.driver import Mosquitto, MosquittoKnobs

_PAHO_VERSIONS = {"3.1.1": paho.MQTTv311, "5": paho.MQTTv5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one client does.  address: its own.  window: messages of QoS 1 without an answer.  version: of MQTT."""

    library: str
    role: str
    address: str
    host: str
    port: int
    topic: str
    qos: int
    window: int
    version: str
    body_bytes: int

    @property
    def client_id(self) -> str:
        """As the broker knows it."""
        return f"{self.topic}-{self.role}"


@dataclass(slots=True)
class Count:
    """What a client has done.  messages: received, or sent and (with QoS 1) answered.  go: it may send."""

    ready: Callable[[], None]
    messages: int = 0
    go: threading.Event = field(default_factory=threading.Event)


def ours(plan: Plan, count: Count) -> None:
    """As the load generator uses it: a driver's connection, in uvloop."""
    uvloop.run(_ours(plan, count))


async def _ours(plan: Plan, count: Count) -> None:
    knobs = MosquittoKnobs.model_validate({"qos": plan.qos, "window": plan.window, "version": plan.version})
    at = Endpoint(host=plan.host, port=plan.port)
    connection = await Mosquitto(knobs).connect(Here(node="n", address=plan.address), [at], plan.client_id)
    if plan.role == "subscriber":

        def take(body: bytes, redelivered: bool) -> None:  # noqa: ARG001 - a handler's
            count.messages += 1

        await connection.subscribe(plan.topic, take, subscription=Subscription(), ack=Ack.AUTO)
        count.ready()
        await asyncio.Event().wait()
    publisher = await connection.publisher(plan.topic, delivery=Delivery.NONPERSISTENT)
    body = bytes(plan.body_bytes)

    async def send() -> NoReturn:
        while True:
            await publisher.send(body)
            count.messages += 1

    await _side_by_side(send, plan.window if plan.qos else 1, count)


def paho_mqtt(plan: Plan, count: Count) -> None:
    """In a loop of our own, which takes less of the processor than paho's and its thread do."""
    client = paho.Client(CallbackAPIVersion.VERSION2, plan.client_id, protocol=_PAHO_VERSIONS[plan.version])
    client.max_inflight_messages_set(plan.window)
    client.connect(plan.host, plan.port)
    if plan.role == "subscriber":

        def take(*_: Any) -> None:
            count.messages += 1

        client.on_message = take
        client.on_connect = lambda *_: client.subscribe(plan.topic, plan.qos)
        client.on_subscribe = lambda *_: count.ready()
        while True:
            _turn(client)
            before = -1
            while before != count.messages:  # it reads one at a time, and does not say when there is none
                before = count.messages
                client.loop_read()
    while not client.is_connected():
        _turn(client)
    count.ready()
    count.go.wait()
    body = bytes(plan.body_bytes)
    if plan.qos:
        _paho_window(client, plan, count, body)
    while True:
        client.publish(plan.topic, body)
        while client.want_write():
            _turn(client)
        count.messages += 1


def _paho_window(client: paho.Client, plan: Plan, count: Count, body: bytes) -> NoReturn:
    room = plan.window

    def answered(*_: Any) -> None:
        nonlocal room
        room += 1
        count.messages += 1

    client.on_publish = answered
    while True:
        while room:
            room -= 1
            client.publish(plan.topic, body, plan.qos)
        _turn(client)


def _turn(client: paho.Client) -> None:
    """Wait until the connection can be read, or written where something is to be; do that."""
    connection = client.socket()
    assert connection, "the connection is lost"
    readable, writable, _ = select.select([connection], [connection] * client.want_write(), [])
    if readable:
        client.loop_read()
    if writable:
        client.loop_write()


def aio_mqtt(plan: Plan, count: Count) -> None:
    """In uvloop, as ours."""
    uvloop.run(_aio_mqtt(plan, count))


async def _aio_mqtt(plan: Plan, count: Count) -> None:
    async with aiomqtt.Client(
        plan.host,
        plan.port,
        identifier=plan.client_id,
        protocol=aiomqtt.ProtocolVersion(_PAHO_VERSIONS[plan.version]),
        max_inflight_messages=plan.window,
    ) as client:
        client.pending_calls_threshold = plan.window  # it logs a line for each message beyond
        if plan.role == "subscriber":
            await client.subscribe(plan.topic, plan.qos)
            count.ready()
            async for _ in client.messages:
                count.messages += 1
        body = bytes(plan.body_bytes)

        async def send() -> NoReturn:
            while True:
                await client.publish(plan.topic, body, plan.qos)
                count.messages += 1

        await _side_by_side(send, plan.window, count)


async def _side_by_side(send: Callable[[], Any], tasks: int, count: Count) -> None:
    count.ready()
    await asyncio.to_thread(count.go.wait)
    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(send())


LIBRARIES: dict[str, Callable[[Plan, Count], None]] = {"ours": ours, "paho-mqtt": paho_mqtt, "aiomqtt": aio_mqtt}
