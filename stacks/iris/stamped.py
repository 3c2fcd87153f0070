"""A node that writes when it had which message of the load (records.stamps): payload is encrypted between nodes."""

from __future__ import annotations

import time
from functools import lru_cache
from ipaddress import IPv4Address

from records.stamps import Point, Stamps, marked
from stacks.iris import relay
from stacks.iris.acked import first_chunk
from stacks.iris.frames import HEADER_BYTES, Kind, Op
from stacks.iris.links import PeerLink, RelayLink
from stacks.iris.node import Node, Settings

_WRITTEN_EVERY = 25  # steps of the wheel: who is killed takes half a second of stamps with it
_PASSED_ON = (Op.BALANCE, Op.FLOOD, Op.DIRECT)
_APPLICATION = 0


class StampedNode(Node):
    """It stamps what has a marker.  Of tunnels with connections of their own only what applications give and get."""

    def __init__(self, settings: Settings, stamps: Stamps) -> None:
        self._stamps, self._steps = stamps, 0
        super().__init__(settings)

    def close(self) -> None:
        """Cut every connection, and write what is left."""
        super().close()
        self._stamps.close()

    def send(self, node: int, *parts: bytes) -> bool:
        """Have a frame go to a node."""
        mark = _mark(parts[0], parts[1][:_LOOKED_AT]) if len(parts) == 2 else b""
        t_ns = time.monotonic_ns() if mark else 0
        if not super().send(node, *parts):
            return False
        if mark and (peer := self._links[node].peer) is not None:
            self._stamps.add(mark, t_ns, Point.TO_PEER, parts[0][1] == Kind.REPLY, _number(peer.address))
        return True

    def frames(self, link: PeerLink, frames: list[bytes]) -> None:
        """Frames of a node that has the key."""
        if link.peer is not None:
            t_ns, address = time.monotonic_ns(), _number(link.peer.address)
            for frame in frames:
                if mark := _mark(frame, frame[HEADER_BYTES : HEADER_BYTES + _LOOKED_AT]):
                    self._stamps.add(mark, t_ns, Point.FROM_PEER, frame[1] == Kind.REPLY, address)
        super().frames(link, frames)

    def asked(self, link: RelayLink, message: relay.Message) -> None:
        """An application asks for something."""
        if mark := _mark_of(message):
            reply = isinstance(message, relay.Reply)
            self._stamps.add(mark, time.monotonic_ns(), Point.FROM_APPLICATION, reply, _APPLICATION)
        super().asked(link, message)

    def _tell(self, application: int, message: relay.Message) -> bool:
        t_ns = time.monotonic_ns()
        if not super()._tell(application, message):
            return False
        if application in self._applications and (mark := _mark_of(message)):
            reply = isinstance(message, relay.Replied)
            self._stamps.add(mark, t_ns, Point.TO_APPLICATION, reply, _APPLICATION)
        return True

    def _tick(self) -> None:
        super()._tick()
        self._steps += 1
        if self._steps % _WRITTEN_EVERY == 0:
            self._stamps.flush()


_LOOKED_AT = 64  # bytes of a frame's data: a packet's head and a marker
_number = lru_cache(maxsize=1024)(lambda address: int(IPv4Address(address)))


def _mark(head: bytes, data: bytes) -> bytes:
    """Of a frame: its head and what begins with its data."""
    if len(head) < HEADER_BYTES or head[0] not in _PASSED_ON:
        return b""
    return marked(first_chunk(data) if head[1] == Kind.DATA else data)


def _mark_of(message: relay.Message) -> bytes:
    """Of what an application gives or gets."""
    match message:
        case relay.TunnelData(_, size, data):
            return marked(data) if size else b""
        case (
            relay.Request(data=data) | relay.Requested(data=data) | relay.Reply(data=data) | relay.Replied(data=data)
            | relay.Broadcast(data=data) | relay.Broadcasted(data=data) | relay.Publish(data=data)
            | relay.Published(data=data)
        ):  # fmt: skip
            return marked(data)
        case _:
            return b""
