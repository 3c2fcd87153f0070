"""The reference broker and its driver, over a real socket."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from here import HERE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_frames import frames
from reference_servers import ROOT, server_command, server_here, server_process
from taking import Taking

from records.messaging import Ack, Delivery
from stacks.driver import Endpoint, Selector, StackError, Subscription
from stacks.reference.broker import Broker
from stacks.reference.driver import Reference, ReferenceConnection, ReferencePublisher
from stacks.reference.faults import Faults
from stacks.reference.frames import Acknowledge, Connect, Message, Publish, encode
from stacks.reference.server import CRASH_STATUS

PLAIN = Subscription()


class Inbox:
    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.redelivered: list[bool] = []

    def __call__(self, body: bytes, redelivered: bool) -> None:
        self.bodies.append(body)
        self.redelivered.append(redelivered)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.005)


async def subscriber(
    at: Endpoint, client: str, subscription: Subscription = PLAIN, ack: Ack = Ack.AUTO
) -> tuple[ReferenceConnection, Inbox]:
    inbox = Inbox()
    connection = await Reference().connect(HERE, [at], client)
    await connection.subscribe("topic", inbox, subscription=subscription, ack=ack)
    return connection, inbox


async def sender(at: Endpoint, client: str = "sender") -> ReferencePublisher:
    connection = await Reference().connect(HERE, [at], client)
    return await connection.publisher("topic", delivery=Delivery.NONPERSISTENT)


@pytest.mark.parametrize("ack", list(Ack))
def test_every_subscriber_gets_every_message_in_order(ack: Ack) -> None:
    async def story() -> None:
        async with server_here() as at:
            inboxes = [(await subscriber(at, f"c{number}", ack=ack))[1] for number in range(3)]
            publisher = await sender(at)
            bodies = [f"{number}".encode() for number in range(200)]
            for body in bodies:
                await publisher.send(body)
            await until(lambda: all(len(inbox.bodies) == 200 for inbox in inboxes))
            assert all(inbox.bodies == bodies for inbox in inboxes)
            assert not any(any(inbox.redelivered) for inbox in inboxes)

    asyncio.run(story())


def test_a_body_may_be_reused_as_soon_as_send_has_returned() -> None:
    async def story() -> None:
        async with server_here() as at:
            _, inbox = await subscriber(at, "c")
            publisher = await sender(at)
            body = bytearray(b"first")
            first = publisher.send(body)
            body[:] = b"other"
            second = publisher.send(body)
            await asyncio.gather(first, second)
            await until(lambda: len(inbox.bodies) == 2)
            assert inbox.bodies == [b"first", b"other"]

    asyncio.run(story())


def test_a_selector_lets_only_its_range_through() -> None:
    async def story() -> None:
        async with server_here() as at:
            _, some = await subscriber(at, "some", Subscription(selector=Selector(low=3, high=5)))
            _, every = await subscriber(at, "every")
            publisher = await sender(at)
            for number in range(8):
                await publisher.send(b"%d" % number, number)
            await publisher.send(b"none")
            await until(lambda: len(every.bodies) == 9)
            assert some.bodies == [b"3", b"4"]

    asyncio.run(story())


def test_a_durable_subscription_gets_what_it_missed_and_a_plain_one_does_not() -> None:
    async def story() -> None:
        async with server_here() as at:
            durable = Subscription(name="kept")
            for client, subscription in (("d", durable), ("p", PLAIN)):
                connection, _ = await subscriber(at, client, subscription)
                await connection.close()
            publisher = await sender(at)
            await publisher.send(b"missed")
            _, kept = await subscriber(at, "d", durable)
            _, plain = await subscriber(at, "p")
            await publisher.send(b"seen")
            await until(lambda: bool(plain.bodies) and len(kept.bodies) == 2)
            assert kept.bodies == [b"missed", b"seen"]
            assert kept.redelivered == [False, False]
            assert plain.bodies == [b"seen"]

    asyncio.run(story())


def test_what_a_durable_subscriber_never_acknowledged_comes_again_and_is_marked() -> None:
    async def story() -> None:
        async with server_here() as at:
            durable = Subscription(name="kept")
            connection, first = await subscriber(at, "d", durable, Ack.DUPS_OK)
            publisher = await sender(at)
            await publisher.send(b"once")
            await until(lambda: first.bodies == [b"once"])
            connection._channel._transport.abort()
            await until(lambda: connection.lost is not None)
            _, again = await subscriber(at, "d", durable)
            await until(lambda: bool(again.bodies))
            assert (again.bodies, again.redelivered) == ([b"once"], [True])

    asyncio.run(story())


def test_what_was_acknowledged_does_not_come_again() -> None:
    async def story() -> None:
        async with server_here() as at:
            durable = Subscription(name="kept")
            publisher = await sender(at)
            for ack in Ack:
                connection, inbox = await subscriber(at, ack.value, durable, ack)
                await publisher.send(b"once")
                await until(lambda inbox=inbox: inbox.bodies == [b"once"])
                await connection.close()
                again, second = await subscriber(at, ack.value, durable, ack)
                await publisher.send(b"new")
                await until(lambda second=second: bool(second.bodies))
                assert second.bodies == [b"new"]
                await again.close()

    asyncio.run(story())


def test_refusals_have_the_brokers_words() -> None:
    async def story() -> None:
        async with server_here() as at:
            connection = await Reference().connect(HERE, [at], "twice")
            with pytest.raises(StackError, match="'twice' is connected already"):
                await Reference().connect(HERE, [at], "twice")
            with pytest.raises(StackError, match="in memory only"):
                await connection.publisher("topic", delivery=Delivery.PERSISTENT)
            await connection.close()
            await (await Reference().connect(HERE, [at], "twice")).close()

    asyncio.run(story())


def test_no_server_is_a_clear_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        at = Endpoint(host="127.0.0.1", port=taken.getsockname()[1])
        with pytest.raises(StackError, match=f"cannot connect to 127.0.0.1 port {at.port}: Connection refused"):
            asyncio.run(Reference().connect(HERE, [at], "x"))


def test_a_taken_port_is_one_clear_line_and_status_1() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = subprocess.run(server_command(port=port), capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.splitlines() == [f"cannot listen on 127.0.0.1:{port}: Address already in use"]


def test_a_crash_leaves_the_send_unanswered_and_every_connection_lost() -> None:
    async def story() -> None:
        async with server_process("crash=3") as (at, process):
            connection, inbox = await subscriber(at, "c")
            publisher = await sender(at)
            await publisher.send(b"1")
            await publisher.send(b"2")
            with pytest.raises(StackError):
                await publisher.send(b"3")
            await until(lambda: connection.lost is not None)
            assert inbox.bodies == [b"1", b"2"]
            with pytest.raises(StackError, match=r"closed the connection|reset"):
                publisher.send(b"4")
            await asyncio.wait_for(connection.close(), 60)
            assert await asyncio.wait_for(process.wait(), 60) == CRASH_STATUS

    asyncio.run(story())


def test_a_stall_holds_everything_back_once_and_loses_nothing() -> None:
    async def story() -> None:
        async with server_here(Faults(stall_after=2, stall_s=0.3)) as at:
            _, inbox = await subscriber(at, "c")
            publisher = await sender(at)
            for number in range(4):
                await publisher.send(b"%d" % number)
            assert inbox.bodies == [b"0"]
            await until(lambda: len(inbox.bodies) == 4)
            assert inbox.bodies == [b"0", b"1", b"2", b"3"]

    asyncio.run(story())


def test_others_have_what_waited_in_a_stall_for_a_receiver_that_leaves() -> None:
    later: list[Callable[[], None]] = []
    broker = Broker(
        faults=Faults(stall_after=1, stall_s=1.0), later=lambda _, action: later.append(action), crash=lambda: None
    )
    first, second = Taking(), Taking()
    routes = [
        broker.subscribe(client_id=name, number=1, destination="queue/q", durable="", selector=None, outlet=outlet)
        for name, outlet in (("a", first), ("b", second))
    ]
    for number in range(4):
        broker.publish("queue/q", None, b"%d" % number)
    broker.detach(routes[0])
    for action in later:
        action()
    assert (first.bodies, sorted(second.bodies)) == ([], [b"0", b"1", b"2", b"3"])


async def attack(at: Endpoint, data: bytes, *, ends: bool) -> None:
    """Send these bytes and wait until the server hangs up.  ends: we hang up first, half way."""
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(data)
        if ends:
            writer.write_eof()
        async with asyncio.timeout(120):
            await reader.read()
    except ConnectionError:
        pass
    finally:
        writer.close()


HELLO = encode(Connect("attacker"))
PUBLISH = encode(Publish(1, "topic/t", None, b"x"))


@pytest.mark.parametrize(
    "data",
    [
        PUBLISH,
        encode(Connect("")),
        HELLO + HELLO,
        HELLO + encode(Message(0, 1, False, b"")),
        HELLO + encode(Acknowledge(5, 1, False)),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_client_that_breaks_the_protocol_is_disconnected(data: bytes) -> None:
    async def story() -> None:
        async with server_here() as at:
            await attack(at, data, ends=False)

    asyncio.run(story())


nonsense = st.binary(min_size=1, max_size=200) | st.lists(frames, max_size=6).map(
    lambda sent: HELLO + b"".join(map(encode, sent))
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(attacks=st.lists(nonsense, min_size=1, max_size=4))
def test_the_server_lives_whatever_clients_send(attacks: list[bytes]) -> None:
    async def story() -> None:
        async with server_here() as at:
            _, inbox = await subscriber(at, "good")
            for data in attacks:
                await attack(at, data, ends=True)
            await (await sender(at)).send(b"still here")
            await until(lambda: inbox.bodies[-1:] == [b"still here"])

    asyncio.run(story())


def test_a_server_starts_without_what_takes_long_to_import() -> None:
    words = "import sys, stacks.reference.__main__; print(*{'numpy', 'pydantic'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
