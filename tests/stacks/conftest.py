"""One ActiveMQ for all tests that want one as it usually is; they give their topics and clients names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from activemq_brokers import Broker, running_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("activemq")) as running:
        yield running
