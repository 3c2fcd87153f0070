"""The MQTT driver of ActiveMQ against a real broker."""

from __future__ import annotations

import pytest
from activemq_brokers import Broker
from pattern_stories import Stories

from stacks.activemq.mqtt import MQTT_PORT, ActiveMQMqtt
from stacks.driver import Endpoint
from stacks.mqtt.knobs import MqttKnobs

pytestmark = [pytest.mark.root, pytest.mark.broker]

BODIES = [b"", bytes(range(256)), b"z" * 300_000, *(b"%d" % number for number in range(40))]


SERVICES = [Endpoint(host="127.0.0.1", port=MQTT_PORT)]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_member_of_a_group_gets_every_message_in_order(broker: Broker, qos: int) -> None:
    stories = Stories(ActiveMQMqtt(MqttKnobs.model_validate({"qos": qos})), SERVICES, f"group-{qos}")

    async def talk() -> None:
        assert await stories.broadcast(BODIES) == [BODIES] * 3
        await stories.close()

    broker.run(talk)


@pytest.mark.parametrize(("qos", "durable"), [(1, True), (2, True), (1, False)])
def test_what_a_subscriber_misses_waits_for_it_when_it_is_durable(broker: Broker, qos: int, durable: bool) -> None:
    stories = Stories(ActiveMQMqtt(MqttKnobs.model_validate({"qos": qos})), SERVICES, f"away-{qos}-{durable}")

    async def talk() -> None:
        again = await stories.missed(BODIES, durable=durable)
        assert again == [*(BODIES if durable else []), b"after"]
        await stories.close()

    broker.run(talk)
