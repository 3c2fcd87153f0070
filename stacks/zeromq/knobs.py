"""What a scenario can set of ZeroMQ's sockets."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from stacks.knobs import Knobs

Mark = Annotated[int, Field(ge=1, le=100_000_000)]
_LEAST_S = 0.001
Seconds = Annotated[float, Field(ge=0, le=3600)]


class ZeroMQKnobs(Knobs):
    """Options of every socket, after libzmq's zmq_setsockopt(3)."""

    EXPLICIT: ClassVar[frozenset[str]] = frozenset({"send_high_water", "receive_high_water"})

    send_high_water: Mark = 1000
    """messages held for each peer, at most (ZMQ_SNDHWM)"""
    receive_high_water: Mark = 1000
    """messages held of each peer, at most (ZMQ_RCVHWM)"""
    heartbeat_s: Seconds = 0.0
    """after so long a peer is sent a ping (ZMQ_HEARTBEAT_IVL); 0 = never"""
    heartbeat_timeout_s: Seconds = 0.0
    """a peer that leaves a ping unanswered for so long is dropped (ZMQ_HEARTBEAT_TIMEOUT); 0 = as heartbeat_s"""
    reconnect_s: Annotated[float, Field(ge=0.001, le=3600)] = 0.1
    """how long after a lost connection the next is tried (ZMQ_RECONNECT_IVL)"""
    linger_s: Annotated[float, Field(ge=0, le=60)] = 1.0
    """for how long what is unsent is still sent when a client leaves (ZMQ_LINGER)"""

    @model_validator(mode="after")
    def _times_are_of_milliseconds(self) -> ZeroMQKnobs:
        for name in ("heartbeat_s", "heartbeat_timeout_s"):
            if 0 < (given := getattr(self, name)) < _LEAST_S:
                raise ValueError(f"{name} {given:g}: libzmq counts milliseconds, so it is 0 or {_LEAST_S:g} at least")
        return self

    @model_validator(mode="after")
    def _a_timeout_needs_heartbeats(self) -> ZeroMQKnobs:
        if self.heartbeat_timeout_s and not self.heartbeat_s:
            raise ValueError(
                f"heartbeat_timeout_s {self.heartbeat_timeout_s:g} without heartbeats: give heartbeat_s as well"
            )
        return self
