"""The MQTT codec, by its round trip, by arbitrary bytes, by the standard's own examples, and by malformed streams."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqtt_packets import packets

from stacks.mqtt import properties
from stacks.mqtt.decoder import Decoder
from stacks.mqtt.packets import Answer, Connack, Connect, Disconnect, Packet, Publish, Subscribe, Version, encode
from stacks.mqtt.primitives import PacketError, varint
from stacks.mqtt.properties import Kind, Property

versions = st.sampled_from([4, 5])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(edges)]


def outcome(chunks: list[bytes], version: Version, **limits: int) -> tuple[list[Packet], str]:
    """All packets of a stream, and the error that ended it ('' for none)."""
    decoder, got = Decoder(version, **limits), []
    try:
        for chunk in chunks:
            for packet in decoder.feed(chunk):
                got.append(packet)  # noqa: PERF402 - the packets before an error count too
    except PacketError as error:
        return got, str(error)
    return got, ""


@given(versions, st.data(), st.lists(st.integers(0, 10_000), max_size=10))
def test_packets_survive_encoding_and_any_cutting_of_the_stream(
    version: Version, data: st.DataObject, places: list[int]
) -> None:
    sent = data.draw(st.lists(packets(version), max_size=5))
    stream = b"".join(encode(packet, version) for packet in sent)
    assert outcome(cut(stream, places), version) == (sent, "")


@given(versions, st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=20))
def test_arbitrary_bytes_mean_the_same_however_they_are_cut(version: Version, data: bytes, places: list[int]) -> None:
    assert outcome(cut(data, places), version) == outcome([data], version)


@given(versions, st.data())
def test_a_damaged_stream_means_the_same_however_it_is_cut(version: Version, data: st.DataObject) -> None:
    sent = data.draw(st.lists(packets(version), min_size=1, max_size=3))
    stream = bytearray(b"".join(encode(packet, version) for packet in sent))
    for _ in range(data.draw(st.integers(1, 4))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    bytewise = outcome([bytes([byte]) for byte in stream], version, max_packet_bytes=200)
    assert outcome([bytes(stream)], version, max_packet_bytes=200) == bytewise


@given(versions, st.data())
def test_what_has_been_read_is_written_as_it_came(version: Version, data: st.DataObject) -> None:
    packet = data.draw(packets(version))
    [read], error = outcome([encode(packet, version)], version)
    assert error == ""
    assert encode(read, version) == encode(packet, version)


@given(st.integers(0, 268_435_455))
def test_a_length_has_as_few_bytes_as_it_can(number: int) -> None:
    written = varint(number)
    assert len(written) == max(1, -(-number.bit_length() // 7))
    assert sum((byte & 0x7F) << 7 * place for place, byte in enumerate(written)) == number


@pytest.mark.parametrize(
    ("packet", "version", "written"),
    [
        (Connect("a", clean=True, keep_alive_s=60), 4, "100d00044d5154540402003c000161"),
        (Connect("a", clean=False, keep_alive_s=0, properties=((Property.RECEIVE_MAXIMUM, 20),)), 5,
         "101100044d515454050000000321001400016 1".replace(" ", "")),
        (Connack(present=True, code=0), 4, "20020100"),
        (Publish("a/b", b"hi"), 4, "30070003612f626869"),
        (Publish("a/b", b"hi", qos=1, number=10), 4, "32090003612f62000a6869"),
        (Publish("a/b", b"hi", qos=2, number=10, dup=True), 5, "3c0a0003612f62000a006869"),
        (Subscribe(10, (("a/b", 1), ("c/d", 2))), 4, "820e000a0003612f62010003632f6402"),
        (Answer(Kind.PUBREL, 10), 5, "6202000a"),
        (Answer(Kind.PUBACK, 10, 0x10), 5, "4003000a10"),
        (Disconnect(), 5, "e000"),
    ],
)  # fmt: skip
def test_bytes_are_the_standards(packet: Packet, version: Version, written: str) -> None:
    assert encode(packet, version).hex() == written


@pytest.mark.parametrize(
    ("version", "stream", "words"),
    [
        (4, "00", ""),
        (4, "0000", "a packet is of type 0, which does not exist"),
        (4, "3000", "PUBLISH ends 2 bytes too early"),
        (4, "30040005612f", "PUBLISH ends 3 bytes too early"),
        (4, "360500016100 01".replace(" ", ""), "PUBLISH has QoS 3"),
        (4, "3803000161", "PUBLISH has QoS 0 and DUP"),
        (4, "32050001610000", "PUBLISH has packet identifier 0"),
        (4, "30030001ff", "PUBLISH has a string that is not UTF-8: b'\\xff'"),
        (4, "3003000100", "PUBLISH has U+0000 in a string: '\\x00'"),
        (4, "300300012b", "PUBLISH has topic '+': a message's has no + or #"),
        (4, "30ffffffff7f", "PUBLISH has a length of more than four bytes"),
        (4, "308000", "PUBLISH has a length of more bytes than it needs"),
        (4, "30ac02", "PUBLISH of 300 bytes is beyond the limit of 200"),
        (4, "4003000a10", "PUBACK has 1 bytes too many"),
        (4, "4102000a", "PUBACK has flags 1, not 0"),
        (4, "40020000", "PUBACK has packet identifier 0"),
        (4, "6002000a", "PUBREL has flags 0, not 2"),
        (4, "90020001", "SUBACK has no code"),
        (4, "8202000a", "SUBSCRIBE ends 2 bytes too early"),
        (4, "20020200", "CONNACK has flags 2 in its content"),
        (4, "f000", "AUTH is not spoken here"),
        (4, "a2020001", "UNSUBSCRIBE is not spoken here"),
        (4, "100c00044d51545405020000000161", "CONNECT is for protocol b'\\x00\\x04MQTT', version 5"),
        (4, "100c00044d51545804020000000161", "CONNECT is of b'\\x00\\x04MQTX'"),
        (4, "100d00044d515454048200000001610000", "CONNECT has flags 0x82"),
        (5, "300600016102 0101".replace(" ", ""), ""),
        (5, "3006000161020c07", "PUBLISH has property 12, which does not exist"),
        (5, "3007000161032100 14".replace(" ", ""), "PUBLISH has property RECEIVE_MAXIMUM, which it cannot have"),
        (5, "30080001610401000101", "PUBLISH has property PAYLOAD_FORMAT twice"),
        (5, "30060001610501 00".replace(" ", ""), "PUBLISH ends 3 bytes too early"),
        (5, "30060001610201 02".replace(" ", ""), "PUBLISH has property PAYLOAD_FORMAT 2, which is not allowed"),
        (5, "2006000003210000", "CONNACK has property RECEIVE_MAXIMUM 0, which is not allowed"),
    ],
)
def test_what_is_not_mqtt_is_named(version: Version, stream: str, words: str) -> None:
    _, error = outcome([bytes.fromhex(stream)], version, max_packet_bytes=200)
    assert error.startswith(words)
    assert bool(error) == bool(words)


def test_good_packets_before_a_bad_one_are_given_out() -> None:
    good = Publish("a", b"1")
    assert outcome([encode(good, 4) + b"\0\0"], 4) == ([good], "a packet is of type 0, which does not exist")


@pytest.mark.parametrize(
    ("packet", "version", "words"),
    [
        (Publish("a/+", b""), 4, "topic 'a/+': a message goes to one topic"),
        (Publish("", b""), 5, "topic ''"),
        (Publish("a\0", b""), 5, "holds U+0000"),
        (Publish("a" * 70_000, b""), 5, "70000 bytes are more than the 65535 that fit"),
        (Publish("a", b"", properties=((Property.TOPIC_ALIAS, 1),)), 4, "MQTT 3.1.1 has no properties"),
        (Disconnect(properties=((Property.TOPIC_ALIAS, 1),)), 5, "cannot have property TOPIC_ALIAS"),
        (Disconnect(4), 4, "MQTT 3.1.1 has no code"),
        (Publish("a", b"", properties=((Property.TOPIC_ALIAS, 70_000),)), 5, "TOPIC_ALIAS: 70000 is not two bytes"),
        (Publish("a", b"", properties=((Property.CONTENT_TYPE, 1),)), 5, "CONTENT_TYPE: 1 is not text"),
        (Publish("a", b"", properties=((Property.TOPIC_ALIAS, 0),)), 5, "TOPIC_ALIAS: 0 is not allowed"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(packet: Packet, version: Version, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("+", r"\+").replace(".", r"\.")):
        encode(packet, version)


def test_a_property_is_found_by_its_name() -> None:
    given = ((Property.USER, ("a", "b")), (Property.USER, ("c", "d")))
    assert properties.find(given, Property.USER) == ("a", "b")
    assert properties.find(given, Property.REASON) is None
