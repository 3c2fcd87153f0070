"""The ActiveMQ driver against a scripted server: what it says on the wire."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from here import HERE
from stomp_peers import Peer, Script, server

from records.messaging import Ack, Delivery
from stacks.activemq.driver import ActiveMQ, Connection
from stacks.driver import StackError, Subscription
from stacks.lazy import LAZY_MESSAGES, LazyAcknowledgement
from stacks.stomp.frame import Frame, encode


def drive(script: Script, client: Callable[[Connection], Awaitable[None]]) -> None:
    async def main() -> None:
        async with server(script) as at:
            await client(await ActiveMQ().connect(HERE, [at], "c"))

    asyncio.run(asyncio.wait_for(main(), 120))


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


def test_lazy_acknowledgement_does_not_wait_for_more_than_the_provider_sends() -> None:
    async def told(prefetch: int) -> list[int]:
        said: list[int] = []
        lazy = LazyAcknowledgement[int](said.append, prefetch=prefetch)
        for number in range(1, 9):
            lazy.handled(number)
        lazy.flush()
        return said

    assert asyncio.run(told(6)) == [3, 6, 8]
    assert asyncio.run(told(1)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert asyncio.run(told(1000)) == [8]


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


@pytest.mark.parametrize("how", [Ack.AUTO, Ack.DUPS_OK, "serve"])
def test_a_message_that_cannot_be_acknowledged_is_not_handed_over_and_ends_the_connection(how: Ack | str) -> None:
    handled: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.take("SUBSCRIBE")
        headers = {"subscription": "0", "reply-to": "/temp-queue/r", "correlation-id": "1"}
        peer.writer.write(encode(Frame("MESSAGE", headers, b"x")))
        assert await peer.reader.read() == b""

    async def client(connection: Connection) -> None:
        if isinstance(how, Ack):
            await connection.subscribe("t", lambda body, _: handled.append(body), subscription=Subscription(), ack=how)
        else:
            await connection.serve("t", lambda body, _: handled.append(body))
        await connection._channel._ended
        assert connection.lost == "the server does not speak STOMP: a message without an ack header"

    drive(script, client)
    assert handled == []
