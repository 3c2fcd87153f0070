"""Servers that send anything: a named error and an end of the connection, within a bounded number of bytes."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqtt_packets import packets
from mqtt_peers import Peer, Script, server

from stacks.mqtt.decoder import MAX_PACKET_BYTES, Decoder
from stacks.mqtt.packets import Packet, Version, encode
from stacks.mqtt.primitives import PacketError, varint
from stacks.mqtt.session import Terms, connect

LIMIT, MOST_HEADER = 40, 5  # bytes of a packet's content; its first byte and its length
NAMED = ("the server does not speak MQTT: ", "the server ends the connection: ", "a message to ")
versions = st.sampled_from([4, 5])


@st.composite
def damaged(draw: st.DrawFn, version: Version) -> bytes:
    """Packets of which some bytes are others, or missing, or anything at all."""
    stream = bytearray(b"".join(encode(one, version) for one in draw(st.lists(packets(version), max_size=3))))
    for _ in range(draw(st.integers(1, 4))):
        if stream:
            stream[draw(st.integers(0, len(stream) - 1))] = draw(st.integers(0, 255))
    return bytes(stream[: draw(st.integers(0, len(stream)))]) + draw(st.binary(max_size=20))


def read(stream: bytes, version: Version, limit: int = MAX_PACKET_BYTES) -> tuple[list[Packet], str]:
    """What comes of a stream byte by byte, until the error that ends it ('' for none)."""
    decoder, got = Decoder(version, max_packet_bytes=limit), []
    for byte in stream:
        try:
            got += decoder.feed(bytes((byte,)))
        except PacketError as error:
            return got, str(error)
    return got, ""


@given(versions, st.data())
def test_a_packet_or_an_error_comes_within_the_limit(version: Version, data: st.DataObject) -> None:
    whole = LIMIT + MOST_HEADER
    stream = data.draw(st.one_of(damaged(version), st.binary()).map(lambda some: (some + bytes(whole))[:whole]))
    got, error = read(stream, version, LIMIT)
    assert got or error


@settings(max_examples=60)
@given(versions, st.data())
def test_whatever_a_server_sends_ends_with_a_named_reason(version: Version, data: st.DataObject) -> None:
    """One that is not understood is left, though it waits; one that may go on ends the connection itself."""
    stream = data.draw(damaged(version))
    said, error = read(stream, version)

    async def script(peer: Peer) -> None:
        await peer.greet()
        for _ in range(2):
            await peer.packet()
        peer.writer.write(stream)
        if error:
            await until_left(peer)

    lost, answers = ended(script, version)
    assert lost.startswith(NAMED if error else (*NAMED, "the server closed the connection"))
    if not said:  # else what it said before may have ended all that
        assert answers == [lost, lost]
        assert not error or lost == f"the server does not speak MQTT: {error}"


@pytest.mark.parametrize("version", [4, 5])
def test_a_packet_that_is_too_long_is_refused_by_its_length_alone(version: Version) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        for _ in range(2):
            await peer.packet()
        peer.writer.write(b"\x30" + varint(MAX_PACKET_BYTES + 1))
        await until_left(peer)

    lost, answers = ended(script, version)
    assert lost == "the server does not speak MQTT: PUBLISH of 67108865 bytes is beyond the limit of 67108864"
    assert answers == [lost, lost]


async def until_left(peer: Peer) -> None:
    try:
        await peer.left()
    except ConnectionResetError:  # it left while what it was sent had not been read
        return


def ended(script: Script, version: Version) -> tuple[str, list[str]]:
    """Why a client lost its connection, and how a message and a subscription of its ended ('' for well)."""

    async def client() -> tuple[str, list[str]]:
        terms = Terms(version=version, client_id="c", clean=True, keep_alive_s=0, window=1)
        async with server(script, version) as at:
            session = await connect(at, terms)
            subscribing = asyncio.ensure_future(session.subscribe("t", "t", 1, print))
            sent = session.publish(session.head("t", 1), b"x")
            told = await asyncio.gather(sent, subscribing, return_exceptions=True)
            while session.lost is None:
                await asyncio.sleep(0.001)
            return session.lost, [str(one or "") for one in told]

    return asyncio.run(asyncio.wait_for(client(), 60))
