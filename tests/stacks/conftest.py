"""One ActiveMQ with a port for MQTT, for all tests that want the usual one; their topics and clients have own names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from activemq_brokers import Broker, running_broker

from stacks.activemq.mqtt import MQTT_PORT


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("activemq"), activemq_mqtt_port=str(MQTT_PORT)) as running:
        yield running
