"""STOMP sessions against servers that misbehave, over real sockets on loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

from stacks.activemq import LAZY_MESSAGES, ActiveMQ, Connection
from stacks.driver import Ack, Delivery, Endpoint, StackError, Subscription
from stacks.stomp.decoder import Decoder
from stacks.stomp.frame import Frame, encode, head
from stacks.stomp.session import Session, connect

CONNECTED = encode(Frame("CONNECTED", {"version": "1.2"}))


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._decoder = Decoder()
        self._frames: list[Frame] = []

    async def frame(self) -> Frame:
        """The client's next frame."""
        while not self._frames:
            data = await self.reader.read(65536)
            assert data, "the client left"
            self._frames += self._decoder.feed(data)
        return self._frames.pop(0)

    async def greet(self) -> None:
        assert (await self.frame()).command == "CONNECT"
        self.writer.write(CONNECTED)

    async def take(self, command: str) -> Frame:
        """The client's next frame, which asks for a receipt and gets it."""
        frame = await self.frame()
        assert frame.command == command
        self.receipt(frame)
        return frame

    def receipt(self, frame: Frame) -> None:
        self.writer.write(encode(Frame("RECEIPT", {"receipt-id": frame.headers["receipt"]})))

    def message(self, number: int, **more: str) -> None:
        headers = {"subscription": "0", "ack": f"a:{number}", "destination": "/topic/t", **more}
        self.writer.write(encode(Frame("MESSAGE", headers, b"%d" % number)))


Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def server(script: Script) -> AsyncIterator[Endpoint]:
    """A server that runs the script with its one client; the script's failure is the test's."""
    played: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Peer(reader, writer))
            played.set_result(None)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            played.set_exception(error)
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield Endpoint(host="127.0.0.1", port=listening.sockets[0].getsockname()[1])
        async with asyncio.timeout(10):
            await played


def play(script: Script, client: Callable[[Session], Awaitable[None]], *, fast_loop: bool = False) -> None:
    async def main() -> None:
        async with server(script) as at:
            await client(await connect(at, {}))

    (uvloop.run if fast_loop else asyncio.run)(asyncio.wait_for(main(), 30))


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

    asyncio.run(asyncio.wait_for(main(), 30))


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
        async with server(_nothing) as at:
            free = Endpoint(host="127.0.0.1", port=at.port)
            (await asyncio.open_connection(at.host, at.port))[1].close()
        assert (await fails(connect(free, {}))).startswith(f"cannot connect to 127.0.0.1 port {free.port}: ")

    asyncio.run(main())


async def _nothing(peer: Peer) -> None:
    """Leave at once."""


def drive(script: Script, client: Callable[[Connection], Awaitable[None]]) -> None:
    async def main() -> None:
        async with server(script) as at:
            await client(await ActiveMQ().connect(at, "c"))

    asyncio.run(asyncio.wait_for(main(), 30))


def test_auto_acknowledges_each_message_after_its_handler() -> None:
    handled: list[bytes] = []
    acknowledged: list[tuple[str, int]] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        assert (await peer.take("SUBSCRIBE")).headers["ack"] == "client-individual"
        for number in range(5):
            peer.message(number)
        for _ in range(5):
            frame = await peer.frame()
            acknowledged.append((frame.command, int(frame.headers["id"].removeprefix("a:"))))
        await peer.take("DISCONNECT")

    async def client(connection: Connection) -> None:
        await connection.subscribe("t", lambda body, _: handled.append(body), subscription=Subscription(), ack=Ack.AUTO)
        while len(acknowledged) < 5:
            await asyncio.sleep(0.001)
        await connection.close()

    drive(script, client)
    assert acknowledged == [("ACK", number) for number in range(5)]
    assert handled == [b"%d" % number for number in range(5)]


def test_the_redelivered_mark_is_handed_on() -> None:
    handled: list[tuple[bytes, bool]] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.take("SUBSCRIBE")
        peer.message(1)
        peer.message(2, redelivered="true")
        peer.message(3, redelivered="false")
        for _ in range(3):
            await peer.frame()
        await peer.take("DISCONNECT")

    async def client(connection: Connection) -> None:
        await connection.subscribe(
            "t", lambda *message: handled.append(message), subscription=Subscription(), ack=Ack.AUTO
        )
        while len(handled) < 3:
            await asyncio.sleep(0.001)
        await connection.close()

    drive(script, client)
    assert handled == [(b"1", False), (b"2", True), (b"3", False)]


def test_dups_ok_acknowledges_the_last_of_many_then_what_is_left_after_a_while_and_at_the_close() -> None:
    acknowledged: list[str] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        assert (await peer.take("SUBSCRIBE")).headers["ack"] == "client"
        for number in range(LAZY_MESSAGES + 3):
            peer.message(number)
        acknowledged.append((await peer.frame()).headers["id"])
        acknowledged.append((await peer.frame()).headers["id"])
        peer.message(1000)
        acknowledged.append((await peer.frame()).headers["id"])
        await peer.take("DISCONNECT")

    async def client(connection: Connection) -> None:
        closing = asyncio.Event()

        def handler(body: bytes, _: bool) -> None:
            if body == b"1000":
                closing.set()

        await connection.subscribe("t", handler, subscription=Subscription(), ack=Ack.DUPS_OK)
        await closing.wait()
        await connection.close()

    drive(script, client)
    assert acknowledged == [f"a:{LAZY_MESSAGES - 1}", f"a:{LAZY_MESSAGES + 2}", "a:1000"]


def test_a_message_after_close_is_neither_handled_nor_acknowledged() -> None:
    handled: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.take("SUBSCRIBE")
        leaving = await peer.frame()
        peer.message(1)
        peer.receipt(leaving)
        assert await peer.reader.read() == b""

    async def client(connection: Connection) -> None:
        await connection.subscribe("t", lambda body, _: handled.append(body), subscription=Subscription(), ack=Ack.AUTO)
        await connection.close()

    drive(script, client)
    assert handled == []


def test_a_body_may_be_reused_after_send_has_returned() -> None:
    bodies: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        bodies.extend([(await peer.take("SEND")).body for _ in range(2)])
        await peer.take("DISCONNECT")

    async def client(connection: Connection) -> None:
        publisher = await connection.publisher("t", delivery=Delivery.NONPERSISTENT)
        body = bytearray(b"\0first")
        first = publisher.send(body)
        body[:] = b"\0other"
        await asyncio.gather(first, publisher.send(body))
        await connection.close()

    drive(script, client)
    assert bodies == [b"\0first", b"\0other"]


@pytest.mark.parametrize("topic", ["", "a.>", "a*", "a,b", "a b", "a?x=1", ".a", "a\n", "/queue"])
def test_a_topic_that_activemq_would_read_as_something_else_is_refused(topic: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.take("DISCONNECT")

    async def client(connection: Connection) -> None:
        with pytest.raises(StackError, match="a name is words of letters"):
            await connection.publisher(topic, delivery=Delivery.PERSISTENT)
        await connection.close()

    drive(script, client)
