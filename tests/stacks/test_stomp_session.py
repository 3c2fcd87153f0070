"""STOMP sessions against servers that misbehave, over real sockets on loopback."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop
from stomp_peers import CONNECTED, Peer, Script, nothing, server

from stacks.driver import Endpoint, StackError
from stacks.stomp.frame import Frame, encode, head
from stacks.stomp.session import Session, connect


def play(script: Script, client: Callable[[Session], Awaitable[None]], *, fast_loop: bool = False) -> None:
    async def main() -> None:
        async with server(script) as at:
            await client(await connect(at, {}))

    (uvloop.run if fast_loop else asyncio.run)(asyncio.wait_for(main(), 120))


def send(session: Session) -> asyncio.Future[None]:
    return session.request(head("SEND", {"destination": "/topic/t"})[:-1], b"x")


async def fails(answer: Awaitable[None]) -> str:
    with pytest.raises(StackError) as caught:
        await answer
    return str(caught.value)


def test_an_error_frame_fails_every_waiting_and_later_send_with_the_servers_words() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.frame()
        peer.writer.write(encode(Frame("ERROR", {"message": "store is full"}, b"a stack trace")))
        assert await peer.reader.read() is not None

    async def client(session: Session) -> None:
        waiting = [send(session) for _ in range(3)]
        assert [await fails(answer) for answer in waiting] == ["store is full"] * 3
        assert session.lost == "store is full"
        assert await fails(send(session)) == "store is full"

    play(script, client)


def test_an_error_frame_without_a_message_header_gives_the_first_line_of_its_body() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.frame()
        peer.writer.write(encode(Frame("ERROR", {}, b"\nno such thing\n\tat Broker.java")))
        await peer.reader.read()

    async def client(session: Session) -> None:
        assert await fails(send(session)) == "no such thing"

    play(script, client)


def test_a_server_that_closes_fails_what_waits() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.frame()

    async def client(session: Session) -> None:
        assert await fails(send(session)) == "the server closed the connection"
        assert session.lost == "the server closed the connection"

    play(script, client)


def test_a_server_that_resets_the_connection_fails_what_waits_with_the_systems_words() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.frame()
        peer.writer.transport.abort()

    async def client(session: Session) -> None:
        # More than the server reads, so that its end is a reset.
        answers = [session.request(b"SEND\ndestination:/topic/t\n", b"x" * 1_000_000) for _ in range(20)]
        assert {await fails(answer) for answer in answers} & {session.lost}
        assert session.lost is not None

    play(script, client)


@pytest.mark.parametrize("fast_loop", [False, True])
def test_a_server_that_speaks_something_else_is_left(fast_loop: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.frame()
        peer.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n\0")
        await peer.reader.read()

    async def client(session: Session) -> None:
        expected = "the server does not speak STOMP: 'HTTP/1.1 400 Bad Request' is not a STOMP command"
        assert await fails(send(session)) == expected
        assert session.lost == expected

    play(script, client, fast_loop=fast_loop)


@pytest.mark.parametrize("fast_loop", [False, True])
def test_a_handler_that_fails_ends_the_connection_with_its_reason(fast_loop: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.take("SUBSCRIBE")
        peer.message(1)
        assert await peer.reader.read() == b""

    def handler(frame: Frame) -> None:
        raise ArithmeticError("out of numbers")

    async def client(session: Session) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await session.subscribe({"destination": "/topic/t"}, handler)
        await session._ended
        assert session.lost == "connection lost: out of numbers"

    play(script, client, fast_loop=fast_loop)


def test_answers_may_come_in_any_order() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        sends = [await peer.frame() for _ in range(3)]
        for frame in reversed(sends):
            peer.receipt(frame)
            await asyncio.sleep(0.01)
        await peer.take("DISCONNECT")

    async def client(session: Session) -> None:
        first, second, third = (send(session) for _ in range(3))
        await third
        assert not first.done()
        await asyncio.gather(first, second)
        await session.close(limit_s=5)
        assert session.lost is None

    play(script, client)


def test_a_message_for_no_subscription_ends_the_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        peer.message(1)
        await peer.reader.read()

    async def client(session: Session) -> None:
        await session._ended
        assert session.lost == "a message for subscription '0', which does not exist"

    play(script, client)


def test_a_silent_server_is_left_when_the_limit_of_close_has_passed() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        assert (await peer.frame()).command == "DISCONNECT"
        assert await peer.reader.read() == b""

    async def client(session: Session) -> None:
        await session.close(limit_s=0.1)
        assert session.lost is None
        assert await fails(send(session)) == "the connection is closed"

    play(script, client)


def test_an_older_version_is_refused() -> None:
    async def script(peer: Peer) -> None:
        await peer.frame()
        peer.writer.write(encode(Frame("CONNECTED", {"version": "1.0"})))
        await peer.reader.read()

    async def main() -> None:
        async with server(script) as at:
            assert await fails(connect(at, {})) == "the server speaks STOMP 1.0, not 1.2"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("last_words", "reason"),
    [
        (encode(Frame("ERROR", {"message": "client already connected"})), "client already connected"),
        (b"", "the server closed the connection"),
        (encode(Frame("SEND", {})), "the server does not speak STOMP: it sent SEND"),
    ],
)
def test_a_server_that_refuses_the_connection_is_quoted(last_words: bytes, reason: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.frame()
        peer.writer.write(last_words)

    async def main() -> None:
        async with server(script) as at:
            assert await fails(connect(at, {})) == reason

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_connect_that_is_given_up_leaves_no_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.frame()
        assert await peer.reader.read() == b""

    async def main() -> None:
        async with server(script) as at:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connect(at, {}), 0.1)

    asyncio.run(main())


def test_nobody_listening_is_named_with_address_and_port() -> None:
    async def main() -> None:
        async with server(nothing) as at:
            free = Endpoint(host="127.0.0.1", port=at.port)
            (await asyncio.open_connection(at.host, at.port))[1].close()
        assert (await fails(connect(free, {}))).startswith(f"cannot connect to 127.0.0.1 port {free.port}: ")

    asyncio.run(main())


def test_with_a_keep_alive_an_idle_client_sends_heart_beats_and_gives_up_a_silent_server() -> None:
    seen: list[object] = []

    async def script(peer: Peer) -> None:
        hello = await peer.frame()
        seen.append(hello.headers["heart-beat"])
        peer.writer.write(CONNECTED)
        seen.append(await peer.reader.readexactly(2))
        await peer.reader.read()

    async def main() -> None:
        async with server(script) as at:
            session = await connect(at, {}, keep_alive_s=0.3)
            while session.lost is None:
                await asyncio.sleep(0.01)
            assert session.lost == "the server has been silent for 0.9 s"

    asyncio.run(asyncio.wait_for(main(), 120))
    assert seen == ["300,300", b"\n\n"]


def test_a_server_that_says_something_is_not_given_up() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        for _ in range(100):
            peer.writer.write(b"\n")
            await asyncio.sleep(0.01)
        await peer.take("SEND")
        await peer.reader.read()

    async def main() -> None:
        async with server(script) as at:
            session = await connect(at, {}, keep_alive_s=0.2)  # silent for 0.6 s, it would be given up
            await asyncio.sleep(0.9)
            await send(session)
            assert session.lost is None
            session.abort()

    asyncio.run(asyncio.wait_for(main(), 120))
