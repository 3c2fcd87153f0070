"""MQTT sessions against servers that misbehave, over real sockets on loopback."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
import uvloop
from mqtt_peers import Peer, Script, server

from stacks.driver import FullError, StackError
from stacks.mqtt.packets import Answer, Connect, Disconnect, Publish, QoS, Suback, Version
from stacks.mqtt.properties import Kind, Property
from stacks.mqtt.session import Kept, Session, Terms, connect

TERMS = Terms(version=5, client_id="c", clean=True, keep_alive_s=0, window=2)
BUSY = ((Property.REASON, "try later"),)


def play(
    script: Script,
    client: Callable[[Session], Awaitable[None]],
    terms: Terms = TERMS,
    kept: Kept | None = None,
    *,
    fast_loop: bool = False,
) -> None:
    async def main() -> None:
        async with server(script, terms.version) as at:
            await client(await connect(at, terms, kept))

    (uvloop.run if fast_loop else asyncio.run)(asyncio.wait_for(main(), 120))


def refusal(script: Script, terms: Terms = TERMS) -> str:
    async def main() -> str:
        async with server(script, terms.version) as at:
            return await fails(connect(at, terms))

    return asyncio.run(asyncio.wait_for(main(), 120))


async def fails(answer: Awaitable[object]) -> str:
    with pytest.raises(StackError) as caught:
        await answer
    return str(caught.value)


def send(session: Session, body: bytes = b"x", *, qos: QoS = 1) -> asyncio.Future[None]:
    return session.publish(session.head("t", qos), body)


@pytest.mark.parametrize("version", [4, 5])
def test_the_client_says_who_it_is_and_what_it_asks_for(version: Version) -> None:
    given = ((Property.RECEIVE_MAXIMUM, 7),) if version == 5 else ()

    async def script(peer: Peer) -> None:
        assert await peer.greet() == Connect("me", clean=False, keep_alive_s=30, properties=given)
        assert await peer.packet() == Disconnect()
        assert await peer.left()

    async def client(session: Session) -> None:
        await session.close(limit_s=60)
        assert session.lost is None
        assert await fails(send(session)) == "the connection is closed"

    play(
        script, client, Terms(version=version, client_id="me", clean=False, keep_alive_s=30, window=1, properties=given)
    )


@pytest.mark.parametrize(
    ("version", "code", "words"),
    [
        (4, 2, "the client id is not allowed"),
        (4, 9, "code 9"),
        (5, 0x97, "quota exceeded (0x97): try later"),
        (5, 0xFF, "an unknown failure (0xff): try later"),
    ],
)
def test_a_refusal_is_told_in_words(version: Version, code: int, words: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet(*(BUSY if version == 5 else ()), code=code)
        assert await peer.left()

    assert refusal(script, replace(TERMS, version=version)) == words


def test_a_server_that_leaves_instead_of_answering_is_told() -> None:
    async def script(peer: Peer) -> None:
        await peer.packet()

    assert refusal(script) == "the server closed the connection"


def test_no_more_messages_are_under_way_than_the_window_and_each_is_answered_for_itself() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        first, second = await peer.message(), await peer.message()
        assert {first.number, second.number} == {1, 2}
        peer.say(Answer(Kind.PUBACK, second.number))
        third = await peer.message()
        assert third.body == b"3"
        assert third.number not in (first.number,)
        peer.say(Answer(Kind.PUBACK, first.number, 0x97))
        peer.say(Answer(Kind.PUBACK, third.number))
        await peer.packet()

    async def client(session: Session) -> None:
        one, two, three = (send(session, body) for body in (b"1", b"2", b"3"))
        await two
        assert not one.done()
        with pytest.raises(FullError, match="quota exceeded"):
            await one
        await three
        await session.close(limit_s=60)

    play(script, client)


def test_the_servers_receive_maximum_makes_the_window_smaller() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet((Property.RECEIVE_MAXIMUM, 1))
        for body in (b"1", b"2"):
            message = await peer.message()
            assert message.body == body
            peer.say(Answer(Kind.PUBACK, message.number))
        assert await peer.packet() == Disconnect()

    async def client(session: Session) -> None:
        await asyncio.gather(send(session, b"1"), send(session, b"2"))
        await session.close(limit_s=60)

    play(script, client)


def segments(session: Session) -> int:
    """TCP segments with data that it has sent: tcpi_data_segs_out of linux/tcp.h."""
    info: bytes = session._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    (count,) = struct.unpack_from("I", info, 156)
    return int(count)


@pytest.mark.parametrize("fast_loop", [False, True])
def test_what_is_sent_in_one_turn_of_the_event_loop_leaves_in_one_write(fast_loop: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        for number in range(50):
            assert await peer.message() == Publish("t", b"%d" % number)
        assert await peer.packet() == Disconnect()

    async def client(session: Session) -> None:
        before = segments(session)
        for number in range(50):
            await send(session, b"%d" % number, qos=0)
        await asyncio.sleep(0.01)
        assert segments(session) == before + 1
        await session.close(limit_s=60)

    play(script, client, fast_loop=fast_loop)


def test_a_message_of_qos_2_is_answered_when_the_server_has_completed_it() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        number = (await peer.message()).number
        peer.say(Answer(Kind.PUBREC, number))
        assert (await peer.answer(Kind.PUBREL)).number == number
        peer.say(Answer(Kind.PUBCOMP, number))
        number = (await peer.message()).number
        peer.say(Answer(Kind.PUBREC, number, 0x87))
        await peer.packet()

    async def client(session: Session) -> None:
        await send(session, qos=2)
        assert await fails(send(session, qos=2)) == "not authorized (0x87)"
        await session.close(limit_s=60)

    play(script, client)


def test_each_message_is_handed_over_and_answered_and_one_of_qos_2_once() -> None:
    got: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.subscription(2)
        peer.say(Publish("t", b"0"))
        peer.say(Publish("t", b"1", qos=1, number=5))
        assert (await peer.answer(Kind.PUBACK)).number == 5
        for dup in (False, True):
            peer.say(Publish("t", b"2", qos=2, number=6, dup=dup))
            assert (await peer.answer(Kind.PUBREC)).number == 6
        peer.say(Answer(Kind.PUBREL, 6))
        assert (await peer.answer(Kind.PUBCOMP)).number == 6
        peer.say(Publish("t", b"3", qos=2, number=6))
        assert (await peer.answer(Kind.PUBREC)).number == 6
        await peer.packet()

    async def client(session: Session) -> None:
        await session.subscribe("t", "t", 2, lambda message: got.append(message.body))
        while len(got) < 4:
            await asyncio.sleep(0.01)
        await session.close(limit_s=60)

    play(script, client)
    assert got == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize(("present", "bodies"), [(True, []), (False, [b"again"])])
def test_what_was_handed_over_before_the_connection_was_cut_is_known_while_the_server_knows_it(
    present: bool, bodies: list[bytes]
) -> None:
    got: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet(present=present)
        await peer.subscription(2)
        peer.say(Publish("t", b"again", qos=2, number=6, dup=True))
        await peer.answer(Kind.PUBREC)
        await peer.packet()

    async def client(session: Session) -> None:
        await session.subscribe("t", "t", 2, lambda message: got.append(message.body))
        await session.close(limit_s=60)

    play(script, client, kept=Kept(unreleased={6}))
    assert got == bodies


def test_a_subscription_that_is_refused_or_granted_with_less_is_an_error() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.subscription(0x9E, BUSY)
        await peer.subscription(1)
        await peer.packet()

    async def client(session: Session) -> None:
        words = "the server refuses the subscription: shared subscriptions not supported (0x9e): try later"
        assert await fails(session.subscribe("$share/g/t", "t", 1, print)) == words
        words = "subscription to 't': the server grants QoS 1, not 2"
        assert await fails(session.subscribe("t", "t", 2, print)) == words
        await session.close(limit_s=60)

    play(script, client)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Disconnect(0x8E), "the server ends the connection: session taken over (0x8e)"),
        (Publish("other", b""), "a message to 'other', of which there is no subscription"),
        (Answer(Kind.PUBACK, 9), "the server does not speak MQTT: PUBACK for packet identifier 9"),
        (Answer(Kind.PUBCOMP, 1), "the server does not speak MQTT: PUBCOMP for packet identifier 1"),
        (Answer(Kind.PUBREC, 1), "the server does not speak MQTT: PUBREC for packet identifier 1"),
        (Suback(9, (0,)), "the server does not speak MQTT: it sent Suback"),
        (Connect("x", clean=True, keep_alive_s=0), "the server does not speak MQTT: it sent Connect"),
    ],
)
@pytest.mark.parametrize("fast_loop", [False, True])
def test_a_server_that_breaks_the_protocol_is_left_and_what_waits_fails(
    said: Publish, words: str, fast_loop: bool
) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.message()
        peer.say(said)
        await peer.reader.read()

    async def client(session: Session) -> None:
        under_way, waiting = send(session), [send(session) for _ in range(3)]
        assert (await fails(under_way)).startswith(words)
        for answer in waiting:
            assert (await fails(answer)).startswith(words)
        assert session.lost
        assert session.lost.startswith(words)

    play(script, client, fast_loop=fast_loop)


def test_bytes_that_are_no_mqtt_end_the_connection_with_a_named_error() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        peer.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.reader.read()

    async def client(session: Session) -> None:
        assert await fails(send(session)) == "the server does not speak MQTT: PUBACK has flags 8, not 0"

    play(script, client)


@pytest.mark.parametrize("fast_loop", [False, True])
def test_a_sender_of_qos_0_waits_while_the_server_does_not_read(fast_loop: bool) -> None:
    read, sent = asyncio.Event(), 0

    async def script(peer: Peer) -> None:
        await peer.greet()
        await read.wait()
        for number in range(sent):
            assert (await peer.message()).body[:8] == number.to_bytes(8)
        assert await peer.packet() == Disconnect()

    async def client(session: Session) -> None:
        nonlocal sent
        while True:
            answer = send(session, sent.to_bytes(8) + bytes(100_000), qos=0)
            sent += 1
            await asyncio.sleep(0)
            if not answer.done():
                break
        read.set()
        await answer
        await session.close(limit_s=60)

    play(script, client, fast_loop=fast_loop)


def test_close_waits_for_answers_and_not_for_ever() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.message()
        assert await peer.packet() == Disconnect()
        assert await peer.left()

    async def client(session: Session) -> None:
        answer = send(session)
        await session.close(limit_s=0.1)
        assert session.lost is None
        assert await fails(answer) == "the connection is closed"

    play(script, client)


@pytest.mark.parametrize(("kept", "present"), [(True, True), (True, False), (False, False)])
def test_messages_of_a_kept_session_wait_for_who_takes_them_and_stay_in_order(kept: bool, present: bool) -> None:
    got: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet(present=present)
        for number in (1, 2):
            peer.say(Publish("t", b"%d" % number, qos=1, number=number))
        if kept:
            assert [(await peer.answer(Kind.PUBACK)).number for _ in range(2)] == [1, 2]
            await peer.subscription(1)
            await peer.packet()
        else:
            await peer.left()

    async def client(session: Session) -> None:
        if kept:
            while len(session._held_back or ()) < 2:
                await asyncio.sleep(0.01)
            await session.subscribe("t", "t", 1, lambda message: got.append(message.body))
            await session.close(limit_s=60)
        else:
            await session._ended
            assert session.lost == "a message to 't', of which there is no subscription"

    play(script, client, replace(TERMS, clean=not kept))
    assert got == [b"1", b"2"] * kept
