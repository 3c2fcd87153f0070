"""An OpenWire connection against a scripted server: what it does when the server misbehaves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from here import HERE
from hypothesis import given, settings
from hypothesis import strategies as st

from records.messaging import Ack, Delivery
from stacks.activemq.knobs import OpenWireKnobs
from stacks.activemq.openwire import ActiveMQOpenWire
from stacks.driver import Endpoint, FullError, StackError, Subscription
from stacks.openwire import commands, properties, structures
from stacks.openwire.commands import decode, frame
from stacks.openwire.structures import (
    ConnectionFailure,
    ExceptionResponse,
    KeepAliveInfo,
    Response,
    Throwable,
    WireFormatInfo,
)
from stacks.openwire.wire import Reader

OURS = frame(WireFormatInfo(structures.VERSION, None))
FULL = Throwable("javax.jms.ResourceAllocationException", "Usage Manager Memory Limit reached")


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def command(self) -> commands.Received:
        """The client's next command."""
        size = int.from_bytes(await self.reader.readexactly(4))
        received = decode(await self.reader.readexactly(size))
        assert received is not None
        return received

    async def greet(self) -> None:
        """Agree, and take the connection and its session."""
        assert isinstance((await self.command()).command, WireFormatInfo)
        self.writer.write(OURS)
        await self.answer()
        await self.command()

    async def answer(self) -> None:
        """Answer the next command."""
        self.writer.write(frame(Response((await self.command()).number)))


@asynccontextmanager
async def server(script: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[Endpoint]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Peer(reader, writer))
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield Endpoint(host=host, port=port)


async def connect_and_subscribe(at: Endpoint) -> None:
    connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
    await connection.subscribe("t", lambda *_: None, subscription=Subscription(), ack=Ack.AUTO)


def drive(script: Callable[[Peer], Awaitable[None]], client: Callable[[Endpoint], Awaitable[None]]) -> None:
    async def main() -> None:
        async with server(script) as at:
            await client(at)

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_server_of_an_older_version_is_refused() -> None:
    async def script(peer: Peer) -> None:
        peer.writer.write(frame(WireFormatInfo(9, None)))
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        with pytest.raises(StackError, match="speaks OpenWire version 9; 12 is needed"):
            await ActiveMQOpenWire().connect(HERE, [at], "c")

    drive(script, client)


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=4, max_size=200), st.booleans())
def test_a_server_that_sends_anything_is_refused_or_left(data: bytes, greeted: bool) -> None:
    async def script(peer: Peer) -> None:
        if greeted:
            await peer.greet()
        peer.writer.write(data)
        peer.writer.write_eof()
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        mistakes: list[dict[str, Any]] = []  # of ours: asyncio ends the connection for them as well
        asyncio.get_running_loop().set_exception_handler(lambda _, context: mistakes.append(context))
        with pytest.raises(StackError):
            await connect_and_subscribe(at)
        assert mistakes == []

    drive(script, client)


def test_a_frame_beyond_the_limit_ends_the_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        peer.writer.write(b"\x7f\xff\xff\xff")
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
        with pytest.raises(StackError, match="a frame of 2147483647 bytes"):
            await connection.publisher("t", delivery=Delivery.PERSISTENT)
        assert "does not speak OpenWire" in str(connection.lost)
        await connection.close()

    drive(script, client)


def test_an_error_of_a_command_that_asked_for_no_answer_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A reply to a caller that has gone: ActiveMQ says so to the service, and Java's client goes on."""

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.answer()
        gone = Throwable("javax.jms.InvalidDestinationException", "Cannot publish to a deleted Destination")
        peer.writer.write(frame(ConnectionFailure(gone, None)))
        await peer.answer()
        await peer.answer()
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
        publisher = await connection.publisher("t", delivery=Delivery.PERSISTENT)
        await publisher.send(b"x")
        assert connection.lost is None
        await connection.close()

    drive(script, client)
    assert [one.message for one in caplog.records] == ["the server reports: Cannot publish to a deleted Destination"]


def test_a_full_destination_is_told_from_other_errors_and_the_connection_lives_on() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.answer()
        for cause in (FULL, Throwable("java.io.IOException", "no"), None):
            peer.writer.write(frame(ExceptionResponse((await peer.command()).number, cause)))
        await peer.answer()
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
        publisher = await connection.publisher("t", delivery=Delivery.PERSISTENT)
        with pytest.raises(FullError, match="Usage Manager"):
            await publisher.send(b"x")
        for words in ("no", "an error without a word"):
            with pytest.raises(StackError, match=words) as caught:
                await publisher.send(b"x")
            assert not isinstance(caught.value, FullError)
        await publisher.send(b"x")
        assert connection.lost is None
        connection.abort()

    drive(script, client)


def test_a_transacted_send_ends_with_its_commit_and_one_that_is_refused_is_rolled_back() -> None:
    seen: list[Any] = []
    before_commit: list[bool] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.answer()
        for refused in (True, False):
            seen.append((await peer.command()).command)
            received = await peer.command()
            seen.append(received.command)
            answer = ExceptionResponse(received.number, FULL) if refused else Response(received.number)
            peer.writer.write(frame(answer))
            received = await peer.command()
            seen.append(received.command)
            before_commit.append(ended.is_set())
            if not refused:
                peer.writer.write(frame(Response(received.number)))
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire(OpenWireKnobs(transacted=True)).connect(HERE, [at], "c")
        publisher = await connection.publisher("t", delivery=Delivery.NONPERSISTENT)
        with pytest.raises(FullError):
            await publisher.send(b"x")
        ended.clear()
        await publisher.send(b"y")
        ended.set()
        connection.abort()

    ended = asyncio.Event()
    drive(script, client)
    begin, message, end, *committed = seen
    assert [one.kind for one in (begin, end)] == [structures.BEGIN, structures.ROLL_BACK]
    assert begin.transaction == message.transaction == end.transaction
    begin, message, end = committed
    assert [one.kind for one in (begin, end)] == [structures.BEGIN, structures.COMMIT]
    assert begin.transaction == message.transaction == end.transaction == begin.transaction._replace(value=2)
    assert before_commit[-1] is False


def test_a_keep_alive_that_wants_an_answer_gets_one() -> None:
    answered: list[commands.Received] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        peer.writer.write(frame(KeepAliveInfo(), respond=True))
        answered.append(await peer.command())

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
        while not answered:
            await asyncio.sleep(0.001)
        connection.abort()

    drive(script, client)
    assert isinstance(answered[0].command, KeepAliveInfo)
    assert not answered[0].respond


def test_with_a_keep_alive_an_idle_client_sends_signs_of_life_and_gives_up_a_silent_server() -> None:
    seen: list[Any] = []

    async def script(peer: Peer) -> None:
        seen.append((await peer.command()).command)
        peer.writer.write(OURS)
        await peer.answer()
        await peer.command()
        seen.extend([(await peer.command()).command for _ in range(2)])
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire(OpenWireKnobs(keep_alive_s=0.3)).connect(HERE, [at], "c")
        while connection.lost is None:
            await asyncio.sleep(0.01)
        assert connection.lost == "the server has been silent for 0.9 s"

    drive(script, client)
    wishes, *beats = seen
    asked = properties.read_map(Reader(wishes.properties))
    assert (asked["MaxInactivityDuration"], asked["MaxInactivityDurationInitalDelay"]) == (300, 300)
    assert [type(one) for one in beats] == [KeepAliveInfo] * 2


def test_a_body_may_be_reused_after_send_has_returned() -> None:
    contents: list[bytes | None] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.answer()
        for _ in range(2):
            received = await peer.command()
            assert isinstance(received.command, structures.Message)
            contents.append(received.command.content)
            peer.writer.write(frame(Response(received.number)))
        await peer.reader.read()

    async def client(at: Endpoint) -> None:
        connection = await ActiveMQOpenWire().connect(HERE, [at], "c")
        publisher = await connection.publisher("t", delivery=Delivery.NONPERSISTENT)
        body = bytearray(b"\0first")
        first = publisher.send(body)
        body[:] = b"\0other"
        await asyncio.gather(first, publisher.send(body))
        connection.abort()

    drive(script, client)
    assert contents == [b"\0first", b"\0other"]
