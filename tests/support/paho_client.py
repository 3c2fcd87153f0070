"""A client of paho-mqtt, the oracle: what it has sent, what it was sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties as PahoProperties

from stacks.driver import Endpoint
from stacks.mqtt.packets import Version

LIMIT_S = 20.0


@dataclass
class Paho:
    """Every call blocks until the broker has answered it; TimeoutError when it does not.

    got: topic, body and QoS of every message, in order.
    """

    client: paho.Client
    got: list[tuple[str, bytes, int]] = field(default_factory=list)
    _arrived: threading.Condition = field(default_factory=threading.Condition)

    def subscribe(self, *topics: tuple[str, int]) -> None:
        """Each with its QoS; returns when all are in force."""
        answered = threading.Event()
        codes: list[int] = []

        def done(*given: object) -> None:
            codes.extend(one.value for one in given[3])  # type: ignore[attr-defined]
            answered.set()

        self.client.on_subscribe = done
        self.client.subscribe(list(topics))
        _within(answered)
        assert codes == [qos for _, qos in topics]

    def take(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        """Called by paho, in its thread."""
        with self._arrived:
            self.got.append((message.topic, message.payload, message.qos))
            self._arrived.notify()

    def until(self, count: int) -> None:
        """Returns when so many messages have arrived."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.got) >= count, LIMIT_S):
                raise TimeoutError(f"{len(self.got)} of {count} messages within {LIMIT_S:g} s")

    def publish(self, topic: str, body: bytes, qos: int, properties: PahoProperties | None = None) -> None:
        """Returns when it has gone, with QoS 1 and 2 when the broker has answered it."""
        sent = self.client.publish(topic, body, qos, properties=properties)
        sent.wait_for_publish(LIMIT_S)
        if not sent.is_published():
            raise TimeoutError(f"no answer within {LIMIT_S:g} s")


@contextmanager
def paho_client(at: Endpoint, client_id: str, version: Version) -> Iterator[Paho]:
    """A client that is connected; its network loop is a thread, which ends with the block."""
    one = Paho(paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTProtocolVersion(version)))
    connected = threading.Event()
    one.client.on_connect = lambda *_: connected.set()
    one.client.on_message = one.take
    one.client.connect(at.host, at.port)
    one.client.loop_start()
    try:
        _within(connected)
        yield one
        one.client.disconnect()
    finally:
        one.client.loop_stop()


def _within(event: threading.Event) -> None:
    if not event.wait(LIMIT_S):
        raise TimeoutError(f"no answer within {LIMIT_S:g} s")
