"""OpenWire's codec: what is written is read back, and what is not OpenWire is told so."""

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from records import marker
from records.marker import Marker
from records.messaging import BodyType
from stacks.openwire import bodies, commands, properties, structures, wire
from stacks.openwire.commands import decode, frame
from stacks.openwire.dispatching import Inlet, arrived
from stacks.openwire.producing import Template, message
from stacks.openwire.structures import (
    TOPIC,
    ConnectionId,
    ConnectionInfo,
    ConsumerId,
    ConsumerInfo,
    Destination,
    ExceptionResponse,
    LocalTransactionId,
    MessageAck,
    MessageDispatch,
    MessageId,
    ProducerId,
    RemoveInfo,
    Response,
    Throwable,
    TransactionInfo,
    WireFormatInfo,
)
from stacks.openwire.wire import Reader, WireError

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # halves of pairs included
JAVA_TEXT = ANY_TEXT.filter(
    lambda text: text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass") == text
)
NAMES = st.none() | st.text(max_size=20)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
PRIMITIVES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | LONGS | st.floats(allow_nan=False) | JAVA_TEXT | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PRODUCERS = st.builds(ProducerId, NAMES, LONGS, LONGS)
IDENTITIES = st.builds(MessageId, NAMES, st.none() | PRODUCERS, LONGS, LONGS)
TOPICS = st.builds(Destination, st.sampled_from([100, TOPIC, 102, 103]), NAMES)
CONSUMERS = st.builds(ConsumerId, NAMES, LONGS, LONGS)
CAUSES = st.none() | st.builds(Throwable, NAMES, NAMES)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
CONNECTIONS = st.builds(ConnectionId, NAMES)
TRANSACTIONS = st.builds(LocalTransactionId, LONGS, CONNECTIONS)


@st.composite
def messages(draw: st.DrawFn) -> structures.Message:
    plain = message(draw(st.integers(23, 28)), draw(IDENTITIES), draw(TOPICS), persistent=draw(st.booleans()))
    return plain._replace(
        content=draw(st.none() | st.binary(max_size=50)),
        properties=draw(st.none() | st.binary(max_size=50)),
        timestamp=draw(LONGS),
        cluster=draw(st.none() | st.tuples(st.builds(structures.BrokerId, NAMES))),
        reply_to=draw(st.none() | TOPICS),
        transaction=draw(st.none() | TRANSACTIONS),
        redeliveries=draw(INTS),
    )


def consumer_info(
    consumer: ConsumerId, topic: Destination, prefetch: int, text: str | None, number: int
) -> ConsumerInfo:
    return ConsumerInfo(
        consumer, True, topic, prefetch, selector=text, subscription_name=text, no_local=True, priority=number
    )


def connection_info(identity: ConnectionId, text: str | None, flag: bool) -> ConnectionInfo:
    return ConnectionInfo(identity, text, password=text, client_ip=text, manageable=flag)


COMMANDS: st.SearchStrategy[Any] = st.one_of(
    st.builds(WireFormatInfo, INTS, st.none() | st.binary(max_size=30)),
    st.builds(connection_info, CONNECTIONS, NAMES, st.booleans()),
    st.builds(TransactionInfo, CONNECTIONS, TRANSACTIONS, st.integers(0, 6)),
    st.builds(consumer_info, CONSUMERS, TOPICS, INTS, NAMES, st.integers(-128, 127)),
    st.builds(RemoveInfo, CONSUMERS | PRODUCERS, LONGS),
    st.builds(MessageAck, TOPICS, st.none(), CONSUMERS, st.integers(0, 6), IDENTITIES, IDENTITIES, INTS, CAUSES),
    st.builds(MessageDispatch, CONSUMERS, TOPICS, st.none() | messages(), INTS),
    st.builds(Response, INTS),
    st.builds(ExceptionResponse, INTS, CAUSES),
    messages(),
)


@given(JAVA_TEXT)
@example("\0")
@example("\U0001f4e1 and a lone \ud800")
def test_texts_survive_and_never_hold_a_nul_byte(text: str) -> None:
    data = wire.encode_text(text)
    assert b"\0" not in data
    assert wire.decode_text(data) == text


@pytest.mark.parametrize(
    ("text", "data"),
    [("a\0b", "61c08062"), ("é", "c3a9"), ("€", "e282ac"), ("\U0001f4e1", "eda0bdedb3a1")],
)
def test_texts_are_written_as_java_writes_them(text: str, data: str) -> None:
    assert wire.encode_text(text).hex() == data


@given(PRIMITIVES)
def test_primitives_survive(value: Any) -> None:
    reader = Reader(properties.write(value))
    assert properties.read(reader) == value
    assert reader.left == 0


@given(COMMANDS, INTS, st.booleans())
def test_commands_survive(command: Any, number: int, respond: bool) -> None:
    data = frame(command, number=number, respond=respond)
    assert int.from_bytes(data[:4]) == len(data) - 4
    received = decode(data[4:])
    assert received is not None
    assert received.command == command
    if not isinstance(command, WireFormatInfo):
        assert (received.number, received.respond) == (number, respond)


@given(st.binary(max_size=300))
def test_random_bytes_are_unknown_read_or_refused(data: bytes) -> None:
    with suppress(WireError):
        decode(data)


@given(COMMANDS, st.data())
def test_damaged_commands_are_read_or_refused(command: Any, draw: st.DataObject) -> None:
    data = bytearray(frame(command)[4:])
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    whole = bytes(data[: draw.draw(st.integers(1, len(data)))])
    with suppress(WireError):
        decode(whole)


@given(COMMANDS, st.integers(1, 20))
def test_a_command_that_ends_early_is_refused(command: Any, missing: int) -> None:
    data = frame(command)[4:-missing]
    if len(data) > 5:
        with pytest.raises(WireError):
            decode(data)


@pytest.mark.parametrize("kind", list(BodyType))
@given(body=st.binary(max_size=200))
def test_bodies_survive(kind: BodyType, body: bytes) -> None:
    assert bodies.body(bodies.CODES[kind], bodies.content(kind, bytearray(body))) == body


@pytest.mark.parametrize("kind", [kind for kind in BodyType if kind is not BodyType.TEXT])
@given(body=st.binary(min_size=marker.SIZE, max_size=100))
def test_all_bodies_but_texts_hold_the_first_24_bytes_as_they_are(kind: BodyType, body: bytes) -> None:
    assert body[: marker.SIZE] in bodies.content(kind, body)


@pytest.mark.parametrize("kind", list(BodyType))
@given(content=st.binary(max_size=200))
def test_contents_that_are_no_body_of_ours_are_refused(kind: BodyType, content: bytes) -> None:
    with suppress(WireError):
        assert isinstance(bodies.body(bodies.CODES[kind], content), bytes)


LONG_TEXT = bodies.content(BodyType.TEXT, b"text")


@pytest.mark.parametrize(
    ("kind", "content", "problem"),
    [
        (BodyType.TEXT, wire.big_utf("a\u0100"), "bodies of ours are one byte a character"),
        (BodyType.TEXT, LONG_TEXT + b"!", "1 bytes stand behind the body"),
        (BodyType.MAP, properties.write_map({"0": b"", "2": properties.Long(1)}), "a map without field '1'"),
        (BodyType.MAP, bodies.content(BodyType.MAP, bytes(40)) + b"!!", "stand behind the body"),
        (BodyType.MAP, properties.write_map({"0": "text"}), "bodies of ours have byte arrays and longs"),
        (BodyType.OBJECT, b"\xac\xed\x00\x05sr", "a serialised object that is not a byte"),
        (BodyType.OBJECT, bodies.content(BodyType.OBJECT, b"12") + b"x", "stands behind a serialised byte"),
    ],
)
def test_a_content_that_is_no_body_of_ours_is_refused_with_the_reason(
    kind: BodyType, content: bytes, problem: str
) -> None:
    with pytest.raises(WireError, match=problem):
        bodies.body(bodies.CODES[kind], content)


def test_a_map_is_read_by_its_names() -> None:
    body = bytes(range(45))
    fields = properties.read_map(Reader(bodies.content(BodyType.MAP, body)))
    assert list(fields) == ["0", "1", "2", "rest"]
    turned = properties.write_map(dict(reversed(fields.items())))
    assert bodies.body(bodies.CODES[BodyType.MAP], turned) == body


def test_nesting_without_end_is_refused() -> None:
    deep = bytes((properties.LIST,)) + struct.pack(">i", 1)
    with pytest.raises(WireError, match="nest deeper"):
        properties.read(Reader(deep * 5000))


@given(PRODUCERS, LONGS, st.binary(max_size=80), INTS, st.booleans())
def test_a_template_writes_what_the_tables_write(
    producer: ProducerId, sequence: int, content: bytes, n: int, persistent: bool
) -> None:
    topic = Destination(TOPIC, "t")
    chosen_by = properties.write_map({"n": n})
    whole = message(24, MessageId(None, producer, sequence, 0), topic, persistent=persistent)._replace(
        timestamp=7, content=content, properties=chosen_by
    )
    template = Template(code=24, producer=producer, destination=topic, persistent=persistent)
    written = template.frame(
        number=3, sequence=sequence, timestamp_ms=7, content=content, chosen_by=wire.sequence(chosen_by)
    )
    assert written == frame(whole, number=3, respond=True)


def test_a_marker_stands_in_a_text_one_character_a_byte() -> None:
    body = bytearray(30)
    marker.pack_into(body, Marker(200, 70_000, 1 << 40))
    text = Reader(bodies.content(BodyType.TEXT, body)).big_utf()
    assert text.encode("latin-1") == body


def pulled_apart(command: MessageDispatch, info: ConsumerInfo) -> tuple[Any, Any]:
    """A message as the inlet reads it, and as the tables do."""
    assert command.message is not None
    data = frame(command, number=5)[4:]
    return Inlet(info).read(data), arrived(command, command.message)


@st.composite
def plain_messages(draw: st.DrawFn, topic: Destination) -> structures.Message:
    """As a broker sends on what a producer of ours, or Java's own, has sent."""
    producer = draw(PRODUCERS.filter(lambda one: bool(one.connection)))
    identity = MessageId(None, producer, draw(LONGS), draw(LONGS))
    return message(draw(st.integers(23, 28)), identity, topic, persistent=draw(st.booleans()))._replace(
        timestamp=draw(LONGS),
        arrival=draw(LONGS),
        broker_in=draw(LONGS),
        content=draw(st.none() | st.binary(max_size=40)),
        properties=draw(st.none() | st.binary(max_size=40)),
    )


@given(CONSUMERS, TOPICS, INTS, st.data())
def test_plain_messages_are_read_as_the_tables_read_them(
    consumer: ConsumerId, topic: Destination, redeliveries: int, draw: st.DataObject
) -> None:
    plain = draw.draw(plain_messages(topic))
    info = ConsumerInfo(consumer, False, topic, 10)
    fast, slow = pulled_apart(MessageDispatch(consumer, topic, plain, redeliveries), info)
    assert fast == slow


@given(messages().filter(lambda one: one.identity is not None), CONSUMERS, TOPICS, INTS)
def test_other_messages_are_left_to_the_tables(
    one: structures.Message, consumer: ConsumerId, topic: Destination, redeliveries: int
) -> None:
    info = ConsumerInfo(consumer, False, topic, 10)
    fast, slow = pulled_apart(MessageDispatch(consumer, topic, one, redeliveries), info)
    assert fast is None or fast == slow


@given(PRODUCERS, CONSUMERS, TOPICS, st.data())
def test_damaged_messages_are_read_or_left_to_the_tables(
    producer: ProducerId, consumer: ConsumerId, topic: Destination, draw: st.DataObject
) -> None:
    plain = message(24, MessageId(None, producer, 1, 2), topic, persistent=True)._replace(content=b"content")
    data = bytearray(frame(MessageDispatch(consumer, topic, plain, 0))[4:])
    inlet = Inlet(ConsumerInfo(consumer, False, topic, 10))
    assert inlet.read(bytes(data[: draw.draw(st.integers(0, len(data) - 1))])) is None, "cut off"
    # The connection has looked at the code already.
    data[draw.draw(st.integers(1, len(data) - 1))] = draw.draw(st.integers(0, 255))
    found = inlet.read(bytes(data))
    if found is not None:
        decoded = decode(bytes(data))
        assert decoded is not None
        assert isinstance(decoded.command, MessageDispatch)
        assert found == arrived(decoded.command, decoded.command.message)  # type: ignore[arg-type]


@given(CONSUMERS, TOPICS, st.tuples(IDENTITIES, IDENTITIES), st.integers(0, 6), INTS)
def test_acknowledgements_are_written_as_the_tables_write_them(
    consumer: ConsumerId, topic: Destination, run: tuple[MessageId, MessageId], kind: int, number: int
) -> None:
    inlet = Inlet(ConsumerInfo(consumer, False, topic, 10))
    first, last = map(commands.MESSAGE_ID.write, run)
    written = inlet.acknowledgement(number, kind, first, last, 7)
    assert written == frame(MessageAck(topic, None, consumer, kind, *run, 7), number=number)


@pytest.mark.parametrize("kind", [BodyType.STREAM, BodyType.MAP])
@given(st.data())
def test_damaged_fields_are_read_or_refused(kind: BodyType, draw: st.DataObject) -> None:
    content = bytearray(bodies.content(kind, draw.draw(st.binary(min_size=20, max_size=90))))
    content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    with suppress(WireError):
        bodies.body(bodies.CODES[kind], bytes(content[: draw.draw(st.integers(0, len(content)))]))
