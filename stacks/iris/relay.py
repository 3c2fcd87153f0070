"""The relay protocol v1.0-draft2, between an application and the node on its host: messages and their bytes.  Pure.

A message is an operation's code and its fields: a byte for a truth value, an unsigned number as seven bits a byte, the
least first, text and bytes behind their length.  `codec` makes of the tables below what writes and reads them.
"""

from __future__ import annotations

from typing import NamedTuple, Union

from stacks.iris import codec
from stacks.iris.codec import DATA, LATE, NUMBER, TEXT, TRUTH, Table, readers, writers

VERSION = "v1.0-draft2"
CLIENT_MAGIC, RELAY_MAGIC = "iris-client-magic", "iris-relay-magic"
PORT = 55_555
CHUNK_LIMIT = 64 * 1024

RelayError = codec.RelayError


class Init(NamedTuple):
    """The application's first message.  cluster: the one that it is a member of, '' for none."""

    version: str
    cluster: str


class Welcome(NamedTuple):
    """The node's answer to Init."""

    version: str


class Denied(NamedTuple):
    """The node's answer to an Init that it does not take."""

    reason: str


class Close(NamedTuple):
    """The application leaves."""


class Closed(NamedTuple):
    """The node has nothing more to say."""

    reason: str


class Broadcast(NamedTuple):
    cluster: str
    data: bytes


class Broadcasted(NamedTuple):
    """A broadcast to the application's cluster."""

    data: bytes


class Request(NamedTuple):
    """id: the application's own number of it."""

    id: int
    cluster: str
    data: bytes
    timeout_ms: int


class Requested(NamedTuple):
    """A request that the application has to answer.  id: the node's number of it."""

    id: int
    data: bytes
    timeout_ms: int


class Reply(NamedTuple):
    """What the application answers a Requested.  data: the reply, or what went wrong."""

    id: int
    success: bool
    data: bytes


class Replied(NamedTuple):
    """How a Request ended.  success, data: as in Reply; of no meaning when it has timed out."""

    id: int
    timed_out: bool
    success: bool = False
    data: bytes = b""


class Subscribe(NamedTuple):
    topic: str


class Unsubscribe(NamedTuple):
    topic: str


class Publish(NamedTuple):
    topic: str
    data: bytes


class Published(NamedTuple):
    """An event of a topic that the application has subscribed to."""

    topic: str
    data: bytes


class TunnelOpen(NamedTuple):
    """id: the application's own number of the tunnel."""

    id: int
    cluster: str
    timeout_ms: int


class TunnelOffered(NamedTuple):
    """Somebody has opened a tunnel to this application.  build: what a TunnelAccept refers to."""

    build: int
    chunk_limit: int


class TunnelAccept(NamedTuple):
    """id: the application's own number of the tunnel."""

    build: int
    id: int


class TunnelOpened(NamedTuple):
    """How a TunnelOpen ended.  chunk_limit: of no meaning when it has timed out."""

    id: int
    timed_out: bool
    chunk_limit: int = 0


class TunnelAllow(NamedTuple):
    """So many bytes more may be sent over a tunnel; both ways."""

    id: int
    bytes: int


class TunnelData(NamedTuple):
    """A chunk of a message; both ways.  size: of the whole message with its first chunk, 0 with others."""

    id: int
    size: int
    data: bytes


class TunnelClose(NamedTuple):
    id: int


class TunnelClosed(NamedTuple):
    """reason: '' where the other end closed it."""

    id: int
    reason: str


Message = Union[  # noqa: UP007  (a chain of 23 names joined by | is slower to read)
    Init, Welcome, Denied, Close, Closed, Broadcast, Broadcasted, Request, Requested, Reply, Replied, Subscribe,
    Unsubscribe, Publish, Published, TunnelOpen, TunnelOffered, TunnelAccept, TunnelOpened, TunnelAllow, TunnelData,
    TunnelClose, TunnelClosed,
]  # fmt: skip

FROM_CLIENT: Table = {
    0x00: (Init, (CLIENT_MAGIC, TEXT, TEXT)),
    0x02: (Close, ()),
    0x03: (Broadcast, (TEXT, DATA)),
    0x04: (Request, (NUMBER, TEXT, DATA, NUMBER)),
    0x05: (Reply, (NUMBER, TRUTH, DATA)),
    0x06: (Subscribe, (TEXT,)),
    0x07: (Unsubscribe, (TEXT,)),
    0x08: (Publish, (TEXT, DATA)),
    0x09: (TunnelOpen, (NUMBER, TEXT, NUMBER)),
    0x0A: (TunnelAccept, (NUMBER, NUMBER)),
    0x0B: (TunnelAllow, (NUMBER, NUMBER)),
    0x0C: (TunnelData, (NUMBER, NUMBER, DATA)),
    0x0D: (TunnelClose, (NUMBER,)),
}
FROM_NODE: Table = {
    0x00: (Welcome, (RELAY_MAGIC, TEXT)),
    0x01: (Denied, (RELAY_MAGIC, TEXT)),
    0x02: (Closed, (TEXT,)),
    0x03: (Broadcasted, (DATA,)),
    0x04: (Requested, (NUMBER, DATA, NUMBER)),
    0x05: (Replied, (NUMBER, LATE, TRUTH, DATA)),
    0x08: (Published, (TEXT, DATA)),
    0x09: (TunnelOffered, (NUMBER, NUMBER)),
    0x0A: (TunnelOpened, (NUMBER, LATE, NUMBER)),
    0x0B: (TunnelAllow, (NUMBER, NUMBER)),
    0x0C: (TunnelData, (NUMBER, NUMBER, DATA)),
    0x0D: (TunnelClosed, (NUMBER, TEXT)),
}
_WRITERS = writers(FROM_CLIENT, FROM_NODE)
_READERS = {id(table): readers(table) for table in (FROM_CLIENT, FROM_NODE)}


def encode(message: Message) -> bytes:
    """A message as it travels."""
    return b"".join(_WRITERS[type(message)](message))


def parts(message: Message) -> list[bytes]:
    """What `encode` joins."""
    return _WRITERS[type(message)](message)


class Reader(codec.Reader):
    """Takes messages out of a stream, however it is cut.  table: FROM_CLIENT in a node, FROM_NODE in an application.

    views: whether data of many bytes may be a view of what has come.
    """

    def __init__(self, table: Table, *, views: bool = False) -> None:
        super().__init__(_READERS[id(table)], views=views)
