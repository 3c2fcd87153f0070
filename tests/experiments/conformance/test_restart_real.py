"""A stack that forgets, and one that does not, when their servers are killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.conformance.promises import OF_RESTARTS
from experiments.conformance.proving import of_restarts
from experiments.conformance.restart import MESSAGES, Restarted, restarted
from records.messaging import Delivery, Guarantee
from stacks.activemq.driver import ActiveMQ
from stacks.driver import Endpoint, Here, Publisher
from stacks.reference.driver import Reference, ReferenceConnection

pytestmark = [pytest.mark.root, pytest.mark.broker]


class BoastingConnection(ReferenceConnection):
    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        del delivery
        return await super().publisher(topic, delivery=Delivery.NONPERSISTENT)


class Boasting(Reference):
    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> ReferenceConnection:
        made = await super().connect(here, services, client_id)
        made.__class__ = BoastingConnection
        return made


def test_a_broker_that_syncs_and_keeps_has_all_of_it(tmp_path: Path) -> None:
    after = restarted(ActiveMQ(), tmp_path)
    assert after == Restarted(answered=MESSAGES, synced=MESSAGES, arrived=MESSAGES)
    assert {one.answer for one in of_restarts(ActiveMQ(), OF_RESTARTS, lambda: after)} == {"kept"}


def test_a_broker_in_memory_that_says_it_is_persistent_breaks_both_promises(tmp_path: Path) -> None:
    boasting = Boasting(guarantees=Reference().guarantees | {Guarantee.PERSISTENT})
    after = restarted(boasting, tmp_path)
    assert after == Restarted(answered=MESSAGES, synced=0, arrived=0)
    found = of_restarts(boasting, OF_RESTARTS, lambda: after)
    assert [(one.answer, one.why) for one in found] == [
        ("broken", f"{MESSAGES} of {MESSAGES} were answered and gone afterwards"),
        ("broken", f"{MESSAGES} of {MESSAGES} were answered without a sync"),
    ]
