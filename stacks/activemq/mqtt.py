"""Apache ActiveMQ 5, spoken to over MQTT 3.1.1."""

from __future__ import annotations

from collections.abc import Sequence

from records.messaging import Guarantee
from records.workload import Pattern
from stacks.activemq.driver import PORT
from stacks.driver import Endpoint, Here, Service, Subscription
from stacks.mqtt.client import Connection, connect
from stacks.mqtt.knobs import MqttKnobs
from stacks.mqtt.session import Kept

MQTT_PORT, MQTT_TLS_PORT = 1883, 8883


class ActiveMQMqtt:
    """Apache ActiveMQ 5 over MQTT 3.1.1.

    The broker makes a message of QoS 1 or 2 a persistent one, which it stores where a durable subscription waits for
    it, before it answers.  It knows no shared subscriptions, so there are no queues.
    """

    name = "activemq-mqtt"
    KNOBS = MqttKnobs
    patterns = frozenset({Pattern.PUBSUB, Pattern.BROADCAST})
    in_client = False

    def __init__(self, knobs: MqttKnobs | None = None) -> None:
        self._knobs = knobs or MqttKnobs()
        self._kept: dict[str, Kept] = {}

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Those of its QoS, and what this broker stores.

        Not exactly once: it says that there is no session when there is one, so a client cannot know what it has had.
        """
        stored = {Guarantee.PERSISTENT} if self._knobs.qos else set()
        return (self._knobs.guarantees() - {Guarantee.EXACTLY_ONCE}) | {Guarantee.MEMORY_LIMIT} | stored

    def services(self) -> tuple[Service, ...]:
        """One broker, the same as `activemq`'s, with a port for MQTT."""
        tls = self._knobs.tls
        port = MQTT_PORT if tls == "off" else MQTT_TLS_PORT
        variables = {"activemq_port": PORT, "activemq_mqtt_port": port}
        return (Service(name="activemq", role="activemq", port=port, variables=variables, tls=tls),)

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """Open one client connection; StackError when there is none."""
        del here
        kept = self._kept.setdefault(client_id, Kept())
        return await connect(services[0], self._knobs.terms(client_id, 4), self._knobs.qos, kept)
