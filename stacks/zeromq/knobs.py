"""What a scenario can set of ZeroMQ's sockets."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from stacks.knobs import Knobs

Mark = Annotated[int, Field(ge=1, le=100_000_000)]
Seconds = Annotated[float, Field(ge=0, le=3600)]


class ZeroMQKnobs(Knobs):
    """Options of every socket, after libzmq's zmq_setsockopt(3).

    send_high_water, receive_high_water: messages held for, and of, each peer, at most (ZMQ_SNDHWM, ZMQ_RCVHWM).
    heartbeat_s: after so long a ping is sent, and a peer that leaves it unanswered for heartbeat_timeout_s is dropped
    (ZMQ_HEARTBEAT_IVL, ZMQ_HEARTBEAT_TIMEOUT); 0 = never.  reconnect_s: how long after a lost connection the next is
    tried (ZMQ_RECONNECT_IVL).  linger_s: for how long what is unsent is still sent when a client leaves (ZMQ_LINGER).
    """

    EXPLICIT: ClassVar[frozenset[str]] = frozenset({"send_high_water", "receive_high_water"})

    send_high_water: Mark = 1000
    receive_high_water: Mark = 1000
    heartbeat_s: Seconds = 0.0
    heartbeat_timeout_s: Seconds = 0.0
    reconnect_s: Annotated[float, Field(ge=0.001, le=3600)] = 0.1
    linger_s: Annotated[float, Field(ge=0, le=60)] = 1.0

    @model_validator(mode="after")
    def _a_timeout_needs_heartbeats(self) -> ZeroMQKnobs:
        if self.heartbeat_timeout_s and not self.heartbeat_s:
            raise ValueError(
                f"heartbeat_timeout_s {self.heartbeat_timeout_s:g} without heartbeats: give heartbeat_s as well"
            )
        return self
