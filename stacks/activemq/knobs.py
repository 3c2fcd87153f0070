"""What a scenario can set of ActiveMQ over STOMP and OpenWire."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from stacks.knobs import TlsKnobs


class ActiveMQKnobs(TlsKnobs):
    """No keep-alives by default: they would be packets of our own on the medium under test."""

    keep_alive_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """the longest that client and broker stay silent on an idle connection (heart-beat of STOMP, maxInactivityDuration
    of OpenWire; our client sends three signs of life in that time), each of which gives up a peer that is silent for up
    to three times as long; 0 = never, else at least 0.1"""

    @field_validator("keep_alive_s")
    @classmethod
    def _never_or_long_enough(cls, value: float) -> float:
        if 0 < value < 0.1:
            raise ValueError("0, which is never, or at least 0.1 s")
        return value


class OpenWireKnobs(ActiveMQKnobs):
    """What only JMS's own sessions have."""

    transacted: bool = False
    """whether a publisher's session is transacted and commits after each message, which is one more exchange with the
    broker: a message is published when its commit is answered"""
