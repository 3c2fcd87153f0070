"""ZeroMQ's clients over loopback: each pattern, what a full peer costs, and garbage at a port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest
from free_ports import LOOPBACK, free_ports

from records.messaging import Ack, Delivery
from stacks.absent import NoStack
from stacks.driver import Here, Peer, StackError, Subscription, between_clients
from stacks.knobs import KnobsError, parse
from stacks.null.driver import Null
from stacks.reference.driver import Reference
from stacks.zeromq.driver import ZeroMQ, ZeroMQConnection
from stacks.zeromq.knobs import ZeroMQKnobs

PLAIN = Subscription()


class Talk:
    """So many producers and consumers of one channel."""

    def __init__(self, producers: int, consumers: int, **knobs: float) -> None:
        self.stack = ZeroMQ(ZeroMQKnobs.model_validate(knobs))
        roles: list[tuple[Literal["producer", "consumer"], int]] = [
            *(("producer", number) for number in range(producers)),
            *(("consumer", number) for number in range(consumers)),
        ]
        peers = tuple(
            Peer(client_id=f"{role}-{number}", role=role, channel="c", address=LOOPBACK, port=port)
            for (role, number), port in zip(roles, free_ports(len(roles)), strict=True)
        )
        self.here = Here(node="here", address=LOOPBACK, peers=peers)
        self.connections: list[ZeroMQConnection] = []

    async def client(self, name: str) -> ZeroMQConnection:
        connection = await self.stack.connect(self.here, (), name)
        self.connections.append(connection)
        return connection

    def run(self, talk: Callable[[], Awaitable[None]]) -> None:
        async def limited() -> None:
            try:
                async with asyncio.timeout(30):
                    await talk()
            finally:
                for one in self.connections:
                    await one.close()

        asyncio.run(limited())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


BODIES = [b"message %d" % number for number in range(500)]


def test_every_subscriber_has_what_every_publisher_sends_from_the_first_message_on() -> None:
    talk, got = Talk(2, 3), [[] for _ in range(3)]  # type: ignore[var-annotated]

    async def all_of_it() -> None:
        for number, mine in enumerate(got):
            take = lambda body, _, mine=mine: mine.append(body)  # noqa: E731
            await (await talk.client(f"consumer-{number}")).subscribe("c", take, subscription=PLAIN, ack=Ack.NONE)
        for number in range(2):
            publisher = await (await talk.client(f"producer-{number}")).publisher("c", delivery=Delivery.NONPERSISTENT)
            for body in BODIES:
                await publisher.send(bytearray(b"%d " % number + body))
        await until(lambda: all(len(mine) == 2 * len(BODIES) for mine in got))

    talk.run(all_of_it)
    for mine in got:
        assert [one[2:] for one in mine if one.startswith(b"0 ")] == BODIES
        assert [one[2:] for one in mine if one.startswith(b"1 ")] == BODIES


def test_a_queues_receivers_share_what_is_sent_and_a_sender_waits_while_none_has_room() -> None:
    talk, got = Talk(1, 2, send_high_water=1, receive_high_water=1), [[], []]  # type: ignore[var-annotated]

    async def all_of_it() -> None:
        for number, mine in enumerate(got):
            take = lambda body, _, mine=mine: mine.append(body)  # noqa: E731
            await (await talk.client(f"consumer-{number}")).receive("c", take, subscription=PLAIN, ack=Ack.NONE)
        sender = await (await talk.client("producer-0")).sender("c", delivery=Delivery.NONPERSISTENT)
        large = [body.ljust(100_000) for body in BODIES]
        answers = [sender.send(body) for body in large]
        assert not all(one.done() for one in answers)  # type: ignore[attr-defined]
        await asyncio.gather(*answers)
        await until(lambda: sum(map(len, got)) == len(BODIES))

    talk.run(all_of_it)
    assert sorted(body.rstrip() for mine in got for body in mine) == sorted(BODIES)
    assert all(got)


def test_a_request_is_answered_by_one_of_the_servers_and_its_reply_goes_to_its_caller() -> None:
    talk, served = Talk(2, 2), [0, 0]

    async def all_of_it() -> None:
        for number in range(2):

            def serve(body: bytes, reply: Callable[[bytes], None], number: int = number) -> None:
                served[number] += 1
                asyncio.get_running_loop().call_later(0.01, reply, body[::-1])

            await (await talk.client(f"consumer-{number}")).serve("c", serve)
        callers = [await (await talk.client(f"producer-{number}")).caller("c") for number in range(2)]
        asked = [[caller.call(b"%d %b" % (number, body)) for body in BODIES] for number, caller in enumerate(callers)]
        for number, mine in enumerate(asked):
            assert await asyncio.gather(*mine) == [(b"%d %b" % (number, body))[::-1] for body in BODIES]

    talk.run(all_of_it)
    assert served == [len(BODIES)] * 2


def test_a_reply_that_its_caller_has_no_room_for_waits_and_is_not_dropped() -> None:
    talk, replies = Talk(2, 1, send_high_water=1, receive_high_water=1), []  # type: ignore[var-annotated]

    async def all_of_it() -> None:
        due: list[tuple[bytes, Callable[[bytes], None]]] = []
        await (await talk.client("consumer-0")).serve("c", lambda body, reply: due.append((body, reply)))
        callers = [await (await talk.client(f"producer-{number}")).caller("c") for number in range(2)]
        asked = [caller.call(b"%d %b" % (number, body)) for number, caller in enumerate(callers) for body in BODIES]
        await until(lambda: len(due) == len(asked))
        for body, reply in due:  # at once: meanwhile nobody reads
            reply(body.ljust(100_000))
        replies.extend(await asyncio.gather(*asked))

    talk.run(all_of_it)
    assert [one.rstrip() for one in replies] == [b"%d %b" % (number, body) for number in range(2) for body in BODIES]


def test_a_request_that_is_never_answered_ends_with_its_client() -> None:
    talk = Talk(1, 1)

    async def all_of_it() -> None:
        await (await talk.client("consumer-0")).serve("c", lambda *_: None)
        connection = await talk.client("producer-0")
        asked = (await connection.caller("c")).call(b"well?")
        connection.abort()
        with pytest.raises(StackError, match="it was cut"):
            await asked
        assert connection.lost == "it was cut"

    talk.run(all_of_it)


@pytest.mark.parametrize("pattern", ["topic", "queue", "service"])
def test_who_waits_for_peers_that_never_come_is_told_when_the_client_ends(pattern: str) -> None:
    talk = Talk(1, 1)

    async def all_of_it() -> None:
        connection = await talk.client("producer-0")
        nondurable = Delivery.NONPERSISTENT
        waits = {
            "topic": lambda: connection.publisher("c", delivery=nondurable),
            "queue": lambda: connection.sender("c", delivery=nondurable),
            "service": lambda: connection.caller("c"),
        }
        waiting = asyncio.create_task(waits[pattern]())  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        connection.abort()
        with pytest.raises(StackError, match="it was cut"):
            await waiting

    talk.run(all_of_it)


def test_a_client_says_the_port_that_all_of_its_connections_have() -> None:
    talk = Talk(1, 1)

    async def all_of_it() -> None:
        consumer = await talk.client("consumer-0")
        await consumer.receive("c", lambda *_: None, subscription=PLAIN, ack=Ack.NONE)
        producer = await talk.client("producer-0")
        await producer.sender("c", delivery=Delivery.NONPERSISTENT)
        (here,), (there,) = producer.sockets, consumer.sockets
        with open("/proc/self/net/tcp") as file:
            lines = [line.split()[1:3] for line in file.readlines()[1:]]
        ports = {tuple(int(end.rpartition(":")[2], 16) for end in line) for line in lines}
        assert {(here.port, there.port), (there.port, here.port)} <= ports

    talk.run(all_of_it)


def test_garbage_at_a_port_does_not_end_the_talk() -> None:
    """libzmq shares messages out to a stranger too until its handshake fails, so that some may be lost."""
    talk, got = Talk(1, 1), []  # type: ignore[var-annotated]

    async def all_of_it() -> None:
        receiver = await talk.client("consumer-0")
        await receiver.receive("c", lambda body, _: got.append(body), subscription=PLAIN, ack=Ack.NONE)
        sender = await (await talk.client("producer-0")).sender("c", delivery=Delivery.NONPERSISTENT)
        port = talk.here.peers[0].port
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + b"\0" * 60):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(garbage)
            await sender.send(garbage)
            writer.close()
            del reader
        while b"after it" not in got:
            await sender.send(b"after it")
            await asyncio.sleep(0.005)

    talk.run(all_of_it)


def test_a_port_that_is_taken_and_a_client_that_nobody_knows_are_told() -> None:
    talk = Talk(1, 0)

    async def all_of_it() -> None:
        with socket.create_server((LOOPBACK, talk.here.peers[0].port)):
            producer = await talk.client("producer-0")
            with pytest.raises(StackError, match=r"tcp://127\.0\.0\.1:\d+: Address already in use"):
                await producer.publisher("c", delivery=Delivery.NONPERSISTENT)
        with pytest.raises(StackError, match="client 'other' is none of the conversation's 1"):
            await talk.client("other")
        with pytest.raises(StackError, match="keeps messages in memory only"):
            await (await talk.client("producer-0")).sender("c", delivery=Delivery.PERSISTENT)

    talk.run(all_of_it)


@pytest.mark.root
def test_a_client_vanishes_without_a_word() -> None:
    """Its peer's connection stays, as nothing told it."""
    talk = Talk(1, 1)

    def there() -> int:
        with open("/proc/self/net/tcp") as file:
            lines = [line.split() for line in file.readlines()[1:]]
        port = talk.here.peers[0].port
        return sum(int(line[1].rpartition(":")[2], 16) == port and line[3] == "01" for line in lines)

    async def all_of_it() -> None:
        receiver = await talk.client("consumer-0")
        await receiver.receive("c", lambda *_: None, subscription=PLAIN, ack=Ack.NONE)
        await (await talk.client("producer-0")).sender("c", delivery=Delivery.NONPERSISTENT)
        await asyncio.sleep(0.5)  # until nothing is under way: an answer to what comes later would be a word
        assert there() == 1
        receiver.vanish()
        await asyncio.sleep(0.2)
        assert there() == 1
        assert receiver.lost == "it was cut without a word"

    talk.run(all_of_it)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"send_high_water": 0}, "knobs.zeromq.send_high_water: .*has to be 1 or more"),
        ({"heartbeat_timeout_s": 3}, "heartbeat_timeout_s 3 without heartbeats: give heartbeat_s"),
        ({"heartbeat_s": 0.0004}, "heartbeat_s 0.0004: libzmq counts milliseconds, so it is 0 or 0.001 at least"),
        ({"hwm": 3}, "knobs.zeromq.hwm: is none of send_high_water"),
    ],
)
def test_a_wrong_knob_is_told(knobs: dict[str, float], message: str) -> None:
    with pytest.raises(KnobsError, match=message):
        parse("zeromq", ZeroMQKnobs, knobs)


def test_it_runs_in_its_clients_which_speak_to_each_other() -> None:
    assert ZeroMQ().in_client, "what its clients use of processors is not the load generator's"
    assert [between_clients(stack) for stack in (ZeroMQ(), Null(), NoStack(), Reference())] == [
        True,
        False,
        False,
        False,
    ]
