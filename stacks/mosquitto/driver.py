"""Eclipse Mosquitto 2, spoken to over MQTT 3.1.1 or 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from records.messaging import Guarantee
from records.workload import Pattern
from stacks.driver import Endpoint, Here, Service, Subscription
from stacks.mqtt.client import Connection, connect
from stacks.mqtt.knobs import Count, MqttKnobs
from stacks.mqtt.packets import Version
from stacks.mqtt.session import Kept

PORT, TLS_PORT = 1883, 8883
_VERSIONS: dict[str, Version] = {"3.1.1": 4, "5": 5}


class MosquittoKnobs(MqttKnobs):
    """What a scenario can set."""

    EXPLICIT: ClassVar[frozenset[str]] = MqttKnobs.EXPLICIT | {"server_window", "server_queue"}

    version: Literal["3.1.1", "5"] = "5"
    """the version of MQTT"""
    server_window: Count = 20
    """messages that the broker has sent to a client without their last answer, at most"""
    server_queue: Annotated[int, Field(ge=1, le=100_000_000)] = 100_000
    """messages that it holds for a client beside these, at most: the next are dropped without a word"""

    @model_validator(mode="after")
    def _within_what_the_broker_remembers(self) -> MosquittoKnobs:
        # Measured with 2.0.11: of 20,000 messages sent with a window of 100 half were lost, though all were answered.
        if (self.version, self.qos) == ("3.1.1", 2) and self.window > self.server_window:
            raise ValueError(
                f"window {self.window} above server_window {self.server_window}: with MQTT 3.1.1 and QoS 2 the broker "
                "loses messages that it has answered; make window at most server_window, or take version '5'"
            )
        return self


class Mosquitto:
    """Eclipse Mosquitto 2 over MQTT 5 or 3.1.1.

    A queue is a shared subscription: the broker gives what is sent to it to receivers that are there, and keeps
    nothing for those that come later.  It writes its store when it ends and now and then, so that nothing is promised
    to be on disk.
    """

    name = "mosquitto"
    KNOBS = MosquittoKnobs
    in_client = False

    def __init__(self, knobs: MosquittoKnobs | None = None) -> None:
        self._knobs = knobs or MosquittoKnobs()
        self._kept: dict[str, Kept] = {}

    @property
    def patterns(self) -> frozenset[Pattern]:
        """MQTT 3.1.1 has no word for where a reply goes."""
        every = {Pattern.PUBSUB, Pattern.QUEUE, Pattern.BROADCAST}
        return frozenset(every | {Pattern.REQUEST_REPLY} if self._knobs.version == "5" else every)

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Those of its QoS."""
        return self._knobs.guarantees()

    def services(self) -> tuple[Service, ...]:
        """One broker."""
        variables = {
            "mosquitto_server_window": self._knobs.server_window,
            "mosquitto_server_queue": self._knobs.server_queue,
        }
        tls = self._knobs.tls
        port = PORT if tls == "off" else TLS_PORT
        return (Service(name="mosquitto", role="mosquitto", port=port, variables=variables, tls=tls),)

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """Open one client connection; StackError when there is none."""
        del here
        terms = self._knobs.terms(client_id, _VERSIONS[self._knobs.version])
        return await connect(services[0], terms, self._knobs.qos, self._kept.setdefault(client_id, Kept()))
