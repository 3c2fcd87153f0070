"""What a scenario can set of a stack that speaks MQTT."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from records.messaging import Guarantee
from stacks.knobs import TlsKnobs
from stacks.mqtt.packets import Version
from stacks.mqtt.session import Terms

Count = Annotated[int, Field(ge=1, le=65_535)]  # what a receive maximum can be, section 3.1.2.11.3


class MqttKnobs(TlsKnobs):
    """How clients speak."""

    EXPLICIT: ClassVar[frozenset[str]] = frozenset({"qos", "window"})

    qos: Literal[0, 1, 2] = 1
    """0 at most once, 1 at least once, 2 exactly once, between client and broker"""
    window: Count = 20
    """messages that a client has sent without their last answer, at most"""
    keep_alive_s: Annotated[int, Field(ge=0, le=65_535)] = 60
    """after so long without a packet a client asks for a sign of life; 0 = never"""

    def guarantees(self) -> frozenset[Guarantee]:
        """What the QoS promises: with 0 nothing is acknowledged, and nothing kept for whoever is away."""
        if self.qos == 0:
            return frozenset({Guarantee.ACK_NONE, Guarantee.ORDERED})
        once = {Guarantee.EXACTLY_ONCE} if self.qos == 2 else set()
        return frozenset({Guarantee.ACK_AUTO, Guarantee.ORDERED, Guarantee.DURABLE, *once})

    def terms(self, client_id: str, version: Version) -> Terms:
        """What a client asks for with its first packet, as long as nothing of it is kept."""
        return Terms(
            version=version, client_id=client_id, clean=True, keep_alive_s=self.keep_alive_s, window=self.window
        )
