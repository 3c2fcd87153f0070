"""MQTT's control packets as values, and their bytes, in version 3.1.1 (`version` 4) and 5."""

from __future__ import annotations

from typing import Literal, NamedTuple

from stacks.mqtt import primitives, properties
from stacks.mqtt.primitives import varint
from stacks.mqtt.properties import Kind, Properties

Version = Literal[4, 5]
QoS = Literal[0, 1, 2]
NAME = b"\0\4MQTT"


class Connect(NamedTuple):
    """A client introduces itself, without a will, user name or password.

    clean: forget what there was of its session.  keep_alive_s: 0 = the server waits for ever.
    """

    client_id: str
    clean: bool
    keep_alive_s: int
    properties: Properties = ()


class Connack(NamedTuple):
    """The server's answer.  code: 0 = accepted.  present: whether the server has a session of this client."""

    present: bool
    code: int
    properties: Properties = ()


class Publish(NamedTuple):
    """A message.  number: its packet identifier, 0 with QoS 0.  dup: whether it may have been sent before."""

    topic: str
    body: bytes
    qos: int = 0
    number: int = 0
    dup: bool = False
    retain: bool = False
    properties: Properties = ()


class Answer(NamedTuple):
    """PUBACK, PUBREC, PUBREL or PUBCOMP.  code: 0x80 and above are failures (version 5 only)."""

    kind: Kind
    number: int
    code: int = 0
    properties: Properties = ()


class Subscribe(NamedTuple):
    """filters: each with its options, of which the lowest two bits are the highest QoS that is wanted."""

    number: int
    filters: tuple[tuple[str, int], ...]
    properties: Properties = ()


class Suback(NamedTuple):
    """codes: for each filter the QoS granted, or a failure of 0x80 and above."""

    number: int
    codes: tuple[int, ...]
    properties: Properties = ()


class Ping(NamedTuple):
    """PINGREQ or PINGRESP."""

    kind: Kind


class Disconnect(NamedTuple):
    """An end that is meant.  code: 0 without a failure (another only in version 5)."""

    code: int = 0
    properties: Properties = ()


Packet = Connect | Connack | Publish | Answer | Subscribe | Suback | Ping | Disconnect

# The lowest four bits of the first byte (section 2.1.3), but for PUBLISH.
FLAGS = {kind: 2 if kind in (Kind.PUBREL, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE) else 0 for kind in Kind}
ANSWERS = (Kind.PUBACK, Kind.PUBREC, Kind.PUBREL, Kind.PUBCOMP)
_MOST_SIZES = 256  # of bodies, whose beginnings a topic remembers


class Head:
    """What all messages to a topic have in common; ValueError for a topic that none can go to.

    version: of the connection that they leave by.
    """

    __slots__ = ("_begins", "_first", "_topic", "behind", "qos", "version")

    def __init__(self, topic: str, qos: int, version: Version, *, retain: bool = False) -> None:
        if not topic or "+" in topic or "#" in topic:
            raise ValueError(f"topic {topic!r}: a message goes to one topic, whose name is not empty and has no + or #")
        self.qos, self.version = qos, version
        self._first, self._topic = Kind.PUBLISH << 4 | qos << 1 | retain, primitives.text(topic)
        self.behind = b"\0" if version == 5 else b""  # a packet's properties, when it has none
        self._begins: dict[int, bytes] = {}

    def begin(self, body_bytes: int) -> bytes:
        """A packet from its first byte to its topic, before a body of so many bytes and no properties."""
        if (begin := self._begins.get(body_bytes)) is None:
            begin = self.written(2 * (self.qos > 0) + len(self.behind) + body_bytes)
            if len(self._begins) < _MOST_SIZES:
                self._begins[body_bytes] = begin
        return begin

    def written(self, more_bytes: int, *, dup: bool = False) -> bytes:
        """A packet from its first byte to its topic, before so many bytes more; ValueError when it is too long."""
        return bytes((self._first | dup << 3,)) + varint(len(self._topic) + more_bytes) + self._topic


def encode(packet: Packet, version: Version) -> bytes:
    """A packet's bytes; ValueError for what this version cannot carry."""
    if isinstance(packet, Publish):
        head = Head(packet.topic, packet.qos, version, retain=packet.retain)
        return publish(head, packet.body, packet.number, packet.properties, dup=packet.dup)
    kind, content = _content(packet, version)
    return bytes((kind << 4 | FLAGS[kind],)) + varint(len(content)) + content


def publish(
    head: Head, body: bytes | bytearray, number: int = 0, given: Properties = (), *, dup: bool = False
) -> bytes:
    """A PUBLISH packet's bytes.  number: its packet identifier, of which QoS 0 has none."""
    identifier = number.to_bytes(2) if head.qos else b""
    if not given and not dup:
        return b"".join((head.begin(len(body)), identifier, head.behind, body))
    if given and head.version == 4:
        raise ValueError("PUBLISH: MQTT 3.1.1 has no properties")
    more = properties.encode(Kind.PUBLISH, given) if given else head.behind
    return b"".join((head.written(len(identifier) + len(more) + len(body), dup=dup), identifier, more, body))


def _content(  # noqa: PLR0911 - one for each kind
    packet: Connect | Connack | Answer | Subscribe | Suback | Ping | Disconnect, version: Version
) -> tuple[Kind, bytes]:
    match packet:
        case Connect():
            clean = packet.clean << 1
            head = NAME + bytes((version, clean)) + packet.keep_alive_s.to_bytes(2)
            return Kind.CONNECT, head + _properties(Kind.CONNECT, packet, version) + primitives.text(packet.client_id)
        case Connack():
            head = bytes((packet.present, packet.code))
            return Kind.CONNACK, head + _properties(Kind.CONNACK, packet, version)
        case Answer():
            return packet.kind, packet.number.to_bytes(2) + _ending(packet.kind, packet, version)
        case Subscribe():
            filters = b"".join(primitives.text(name) + bytes((options,)) for name, options in packet.filters)
            return Kind.SUBSCRIBE, packet.number.to_bytes(2) + _properties(Kind.SUBSCRIBE, packet, version) + filters
        case Suback():
            given = _properties(Kind.SUBACK, packet, version)
            return Kind.SUBACK, packet.number.to_bytes(2) + given + bytes(packet.codes)
        case Disconnect():
            return Kind.DISCONNECT, _ending(Kind.DISCONNECT, packet, version)
        case Ping():
            return packet.kind, b""


def _properties(
    kind: Kind, packet: Connect | Connack | Answer | Subscribe | Suback | Disconnect, version: Version
) -> bytes:
    if version == 5:
        return properties.encode(kind, packet.properties)
    if packet.properties:
        raise ValueError(f"{kind.name}: MQTT 3.1.1 has no properties")
    return b""


def _ending(kind: Kind, packet: Answer | Disconnect, version: Version) -> bytes:
    """What says how something ended: left out where all is well."""
    if version == 4 and packet.code:
        raise ValueError(f"{kind.name}: MQTT 3.1.1 has no code")
    given = _properties(kind, packet, version)
    if packet.properties:
        return bytes((packet.code,)) + given
    return bytes((packet.code,)) if packet.code else b""
