"""What a scenario can set of ActiveMQ over STOMP and OpenWire."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stacks.tls import TlsKnobs


class ActiveMQKnobs(TlsKnobs):
    """No keep-alives by default: they would be packets of our own on the medium under test."""

    keep_alive_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """how often client and broker send a sign of life on an idle connection (heart-beat of STOMP, maxInactivityDuration
    of OpenWire), each of which gives up a peer that is silent for up to three times as long; 0 = never"""
