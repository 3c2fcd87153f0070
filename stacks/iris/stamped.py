"""A node that writes when it had which message of the load (records.stamps): payload is encrypted between nodes."""

from __future__ import annotations

import time
from functools import lru_cache
from ipaddress import IPv4Address

from records.stamps import Point, Stamps, marked
from stacks.iris import relay
from stacks.iris.acked import first_chunk
from stacks.iris.frames import HEADER_BYTES, SECRET_BYTES, FrameError, Kind, Op
from stacks.iris.frames import message as read_message
from stacks.iris.links import PeerLink, RelayLink
from stacks.iris.node import Node, Settings
from stacks.iris.payload import beginning

_WRITTEN_EVERY = 25  # steps of the wheel: who is killed takes half a second of stamps with it
_PASSED_ON = (Op.BALANCE, Op.FLOOD, Op.DIRECT)
_APPLICATION = 0
_LOOKED_AT = 64  # bytes of a frame's data: a packet's head and a marker
_MOST_LOOKED_AT = HEADER_BYTES + SECRET_BYTES + _LOOKED_AT


class StampedNode(Node):
    """It stamps what has a marker.  Of tunnels with connections of their own only what applications give and get."""

    def __init__(self, settings: Settings, stamps: Stamps) -> None:
        self._stamps, self._steps = stamps, 0
        super().__init__(settings)

    def close(self) -> None:
        """Cut every connection, and write what is left."""
        super().close()
        self._stamps.close()

    def send(self, node: int, *parts: bytes, beside: bytes = b"") -> bool:
        """Have a frame go to a node."""
        mark = _mark(b"".join((parts[0], *(part[:_LOOKED_AT] for part in parts[1:2]), beside[:_LOOKED_AT])))
        t_ns = time.monotonic_ns() if mark else 0
        if not super().send(node, *parts, beside=beside):
            return False
        if mark and (peer := self._links[node].peer) is not None:
            self._stamps.add(mark, t_ns, Point.TO_PEER, parts[0][1] == Kind.REPLY, _number(peer.address))
        return True

    def frames(self, link: PeerLink, frames: list[bytes]) -> None:
        """Frames of a node that has the key."""
        if link.peer is not None:
            t_ns, address = time.monotonic_ns(), _number(link.peer.address)
            for frame in frames:
                if mark := _mark(frame[:_MOST_LOOKED_AT]):
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
        link = self._applications.get(application)
        if link is not None and not link.over and (mark := _mark_of(message)):
            reply = isinstance(message, relay.Replied)
            self._stamps.add(mark, t_ns, Point.TO_APPLICATION, reply, _APPLICATION)
        return True

    def _tick(self) -> None:
        super()._tick()
        self._steps += 1
        if self._steps % _WRITTEN_EVERY == 0:
            self._stamps.flush()


@lru_cache(maxsize=1024)
def _number(address: str) -> int:
    return int(IPv4Address(address))


def _mark(frame: bytes) -> bytes:
    """Of a frame, or what begins with it."""
    if not frame or frame[0] not in _PASSED_ON:
        return b""
    try:
        found = read_message(frame)
    except FrameError:
        return b""
    data = beginning(found.secret, found.data, _LOOKED_AT) if found.secret else found.data
    return marked(first_chunk(data) if found.kind is Kind.DATA else data)


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
