"""What nodes send each other inside their sessions: our own wire format, big-endian.  Pure."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from stacks.channel import LanguageError
from stacks.iris.ids import SPACE


class FrameError(LanguageError):
    """The bytes are not a frame of a node."""


class Op(IntEnum):
    """What a frame is: the first byte of it."""

    BEAT = 0  # whether the sender has the receiver in its table
    STATE = 1  # nodes that the sender has in its table
    REPAIR = 2  # asks for a STATE
    JOIN = 3  # a node looks for its place; on its way to the node closest to that
    SUBSCRIBE = 4  # the sender is a child of the receiver in a group's tree
    UNSUBSCRIBE = 5  # the sender is no neighbour of the receiver in a group's tree any more
    REPORT = 6  # capacities, by group
    BALANCE = 7  # a message for one member of a group
    FLOOD = 8  # a message for every member of a group
    DIRECT = 9  # a message for a node
    TUNNEL = 10  # instead of a node's introduction: the connection is a tunnel's


class Kind(IntEnum):
    """What a message means to who gets it."""

    REQUEST = 0
    REPLY = 1
    FAULT = 2
    BROADCAST = 3
    PUBLISH = 4
    TUNNEL = 5  # for one member: who wants a tunnel
    ACCEPT = 6
    DATA = 7
    ACK = 8
    CLOSE = 9


class Message(NamedTuple):
    """What applications send.

    key: a group's identifier, or a node's.  origin: the node that it is from.  number: the origin's own, of a reply
    that of the request's origin.  limit_ms: for how long an answer is waited for.  hops: between nodes, so far.
    in_tree: whether it goes along a group's tree already.  secret: what its data is sealed with (`payload`), nothing
    where it is not.
    """

    op: Op
    kind: Kind
    key: int
    origin: int
    number: int
    data: bytes
    limit_ms: int = 0
    hops: int = 0
    in_tree: bool = False
    secret: bytes = b""


class Peer(NamedTuple):
    """A node and where it listens."""

    id: int
    address: str
    port: int


_LASTING = struct.Struct("!BBQQQI")  # op, kind, key, origin, number, limit
_HEADER = struct.Struct(_LASTING.format + "BB")  # and hops, flags; behind it the secret, if it has one
_IN_TREE, _SEALED = 1, 2
_PEER = struct.Struct("!Q4sH")
_REMEMBERED = 4096  # nodes, packed and unpacked
_GROUP = struct.Struct("!BQI")  # op, group, capacity
_REPORT = struct.Struct("!QI")
_TUNNEL = struct.Struct("!BQ")  # op, number
MOST_HOPS = 40  # four times what routing among 10^12 nodes takes: a circle ends
HEADER_BYTES, SECRET_BYTES = _HEADER.size, 16 + 8  # a key, and a number that no other message has under it
_SEALED_BYTES = HEADER_BYTES + SECRET_BYTES
MOST_CAPACITY = 2**32 - 1

_new = tuple.__new__
_OPS, _KINDS = {one.value: one for one in Op}, {one.value: one for one in Kind}


def header(message: Message, *, in_tree: bool) -> bytes:
    """What goes before a message's data.  in_tree: as the message has it, or as it goes on from here."""
    op, kind, key, origin, number, _, limit_ms, hops, _, secret = message
    if secret:
        return _HEADER.pack(op, kind, key, origin, number, limit_ms, hops, in_tree | _SEALED) + secret
    return _HEADER.pack(op, kind, key, origin, number, limit_ms, hops, in_tree)


def lasting(message: Message) -> bytes:
    """What a header has from a message's beginning to its end."""
    op, kind, key, origin, number, _, limit_ms, *_ = message
    return _LASTING.pack(op, kind, key, origin, number, limit_ms)


def message(frame: bytes, *, further: int = 0) -> Message:
    """A frame of Op.BALANCE, FLOOD or DIRECT; FrameError where it is none.  further: hops that it has not counted."""
    try:
        op, kind, key, origin, number, limit_ms, hops, flags = _HEADER.unpack_from(frame)
        in_tree, hops = flags & _IN_TREE != 0, hops + further
        # Both without the function in Python that a class of named fields is called by.
        if flags & _SEALED:
            if len(frame) < _SEALED_BYTES:
                raise FrameError(f"a message that is sealed has {len(frame)} bytes, which are not even its key")
            secret, view = frame[HEADER_BYTES:_SEALED_BYTES], memoryview(frame)[_SEALED_BYTES:]
            return _new(Message, (_OPS[op], _KINDS[kind], key, origin, number, view, limit_ms, hops, in_tree, secret))
        data = frame[HEADER_BYTES:]
        return _new(Message, (_OPS[op], _KINDS[kind], key, origin, number, data, limit_ms, hops, in_tree, b""))
    except (struct.error, KeyError) as error:
        raise FrameError(f"a message of {len(frame)} bytes cannot be read: {error!r}") from error


def peers(op: Op, them: Iterable[Peer]) -> bytes:
    """A frame with nodes: Op.STATE."""
    return bytes((op,)) + b"".join(map(_packed, them))


def read_peers(frame: bytes) -> tuple[Peer, ...]:
    """The nodes of such a frame, and of a session's hello."""
    if (len(frame) - 1) % _PEER.size:
        raise FrameError(f"a list of nodes has {len(frame) - 1} bytes, and each takes {_PEER.size}")
    return tuple(_unpacked(frame[at : at + _PEER.size]) for at in range(1, len(frame), _PEER.size))


def join(newcomer: Peer, hops: int = 0) -> bytes:
    """Op.JOIN.  newcomer: who looks for its place.  hops: between nodes, so far."""
    return bytes((Op.JOIN, hops)) + _packed(newcomer)


def read_join(frame: bytes) -> tuple[Peer, int]:
    """Who looks for its place, and the hops so far, this one included."""
    if len(frame) != 2 + _PEER.size:
        raise FrameError(f"a node that joins takes {2 + _PEER.size} bytes, and not {len(frame)}")
    return _unpacked(frame[2:]), frame[1] + 1


# Nodes tell each other of the same ones again and again.
@lru_cache(maxsize=_REMEMBERED)
def _packed(peer: Peer) -> bytes:
    return _PEER.pack(peer.id, socket.inet_aton(peer.address), peer.port)


@lru_cache(maxsize=_REMEMBERED)
def _unpacked(packed: bytes) -> Peer:
    identifier, address, port = _PEER.unpack(packed)
    if identifier >= SPACE:
        raise FrameError(f"{identifier:#x} is no identifier of a node")
    return Peer(identifier, socket.inet_ntoa(address), port)


def beat(active: bool) -> bytes:
    """Op.BEAT."""
    return bytes((Op.BEAT, active))


def subscribe(group: int, capacity: int) -> bytes:
    """Op.SUBSCRIBE.  capacity: of the sender and all below it."""
    return _GROUP.pack(Op.SUBSCRIBE, group, capacity)


def unsubscribe(group: int) -> bytes:
    """Op.UNSUBSCRIBE."""
    return _GROUP.pack(Op.UNSUBSCRIBE, group, 0)


def read_group(frame: bytes) -> tuple[int, int]:
    """The group and the capacity of either."""
    try:
        _, group, capacity = _GROUP.unpack(frame)
    except struct.error as error:
        raise FrameError(f"a subscription has {len(frame)} bytes: {error}") from error
    return group, capacity


def report(capacities: Iterable[tuple[int, int]]) -> bytes:
    """Op.REPORT.  capacities: by group, what the sender can do in it, and all beyond it as the receiver sees it."""
    return bytes((Op.REPORT,)) + b"".join(_REPORT.pack(*one) for one in capacities)


def read_report(frame: bytes) -> Iterator[tuple[int, int]]:
    """Groups and capacities of a report."""
    try:
        return _REPORT.iter_unpack(memoryview(frame)[1:])
    except struct.error as error:
        raise FrameError(f"a report has {len(frame)} bytes: {error}") from error


def tunnel(number: int) -> bytes:
    """How a node introduces itself that has taken a tunnel of the other.  number: the other's of it."""
    return _TUNNEL.pack(Op.TUNNEL, number)


def read_tunnel(introduction: bytes) -> int | None:
    """The number of the tunnel that a connection is for; None where it is for the overlay."""
    if introduction[:1] != bytes((Op.TUNNEL,)):
        return None
    try:
        return int(_TUNNEL.unpack(introduction)[1])
    except struct.error as error:
        raise FrameError(f"an introduction for a tunnel has {len(introduction)} bytes: {error}") from error
