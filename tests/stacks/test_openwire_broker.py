"""The OpenWire driver against a real broker: JMS's promises, and what Java's own client makes of our messages."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from activemq_brokers import Broker, quiet, until
from activemq_clients import Clients, Got, numbered, wanted
from here import HERE

from records.messaging import Ack, BodyType, Delivery
from stacks.activemq.driver import ActiveMQ
from stacks.activemq.knobs import OpenWireKnobs
from stacks.activemq.openwire import ActiveMQOpenWire, Connection
from stacks.driver import Selector, StackError, Subscription
from stacks.openwire import bodies

pytestmark = [pytest.mark.root, pytest.mark.broker]

STACK = ActiveMQOpenWire()
CLIENTS = Clients(STACK)
subscriber, publish, connect_again = CLIENTS.subscriber, CLIENTS.publish, CLIENTS.connect_again
BODY = bytes(range(256)) + b"and 5"
PEER = Path(__file__).parents[1] / "support" / "JmsPeer.java"


@pytest.mark.parametrize("kind", list(BodyType))
def test_bodies_of_every_type_arrive_as_they_were_sent(broker: Broker, kind: BodyType) -> None:
    sent = [b"", b"\0", BODY, b"z" * 300_000]

    async def talk() -> list[bytes]:
        topic = f"bodies-{kind}"
        reader = await subscriber(broker.openwire, topic, topic)
        await publish(broker.openwire, topic, sent, delivery=Delivery.NONPERSISTENT, body_type=kind)
        await until(lambda: len(reader.got) == len(sent))
        await reader.connection.close()
        return reader.bodies()

    assert broker.run(talk) == sent


@pytest.mark.parametrize("delivery", list(Delivery))
def test_messages_that_are_committed_one_by_one_arrive_once_and_in_order(broker: Broker, delivery: Delivery) -> None:
    transacted = Clients(ActiveMQOpenWire(OpenWireKnobs(transacted=True)))
    sent = [b"%d" % number for number in range(30)]

    async def talk() -> list[bytes]:
        topic = f"transacted-{delivery}"
        reader = await subscriber(broker.openwire, topic, topic)
        await transacted.publish(broker.openwire, topic, sent, delivery=delivery)
        await quiet(reader.got, least=len(sent))
        await reader.connection.close()
        return reader.bodies()

    assert broker.run(talk) == sent


def test_a_body_is_made_inside_its_send_and_read_before_its_handler(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what a JMS client pays for serialisation is inside the measurement."""
    events: list[str] = []

    def told(word: str, real: Callable[..., bytes]) -> Callable[..., bytes]:
        def call(*words: Any) -> bytes:
            events.append(word)
            return real(*words)

        return call

    monkeypatch.setattr(bodies, "content", told("made", bodies.content))
    monkeypatch.setattr(bodies, "body", told("read", bodies.body))

    async def talk() -> None:
        reader = await STACK.connect(HERE, [broker.openwire], "reader of made")
        await reader.subscribe("made", lambda *_: events.append("handled"), subscription=Subscription(), ack=Ack.AUTO)
        writer = await STACK.connect(HERE, [broker.openwire], "writer of made")
        publisher = await writer.typed_publisher("made", delivery=Delivery.NONPERSISTENT, body_type=BodyType.OBJECT)
        for count in (1, 2):
            events.append("send")
            await publisher.send(BODY, None)
            await until(lambda count=count: events.count("handled") == count)
        await writer.close()
        await reader.close()

    broker.run(talk)
    assert events == ["send", "made", "read", "handled"] * 2


async def java(broker: Broker, *words: str) -> asyncio.subprocess.Process:
    where = f"tcp://{broker.openwire.host}:{broker.openwire.port}"
    return await asyncio.create_subprocess_exec(
        "java", "-Xmx128m", "-cp", "/usr/share/activemq/lib/*", str(PEER), words[0], where, *words[1:],
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip


def test_javas_own_client_reads_our_bodies_and_properties(broker: Broker) -> None:
    async def talk() -> list[list[str]]:
        peer = await java(broker, "receive", "to-java", str(len(BodyType)))
        assert peer.stdout is not None
        assert await peer.stdout.readline() == b"ready\n"
        for kind in BodyType:
            await publish(broker.openwire, "to-java", [BODY], body_type=kind, props=[-7])
        read = (await peer.stdout.read()).decode().splitlines()
        await peer.wait()
        return [line.split() for line in read]

    assert broker.run(talk) == [[kind.value, "-7", "2", BODY.hex()] for kind in BodyType]


def test_we_read_bodies_and_choose_by_properties_of_javas_own_client(broker: Broker) -> None:
    async def talk() -> list[bytes]:
        chosen = Selector(low=5, high=6)
        reader = await subscriber(broker.openwire, "from-java", "from-java", selector=chosen)
        peer = await java(broker, "send", "from-java", BODY.hex())
        await until(lambda: len(reader.got) == 5)
        await peer.wait()
        await reader.connection.close()
        return reader.bodies()

    assert broker.run(talk) == [BODY] * 5


def test_stomp_and_openwire_reach_each_other(broker: Broker) -> None:
    async def talk() -> tuple[list[bytes], list[bytes]]:
        over_stomp: list[bytes] = []
        stomp = await ActiveMQ().connect(HERE, [broker.at], "over-stomp")
        await stomp.subscribe(
            "both", lambda body, _: over_stomp.append(body), subscription=Subscription(), ack=Ack.AUTO
        )
        reader = await subscriber(broker.openwire, "both", "both")
        await publish(broker.openwire, "both", [BODY])
        publisher = await stomp.publisher("both", delivery=Delivery.NONPERSISTENT)
        await publisher.send(BODY[::-1])
        await until(lambda: len(reader.got) == len(over_stomp) == 2)
        await reader.connection.close()
        await stomp.close()
        return reader.bodies(), over_stomp

    assert broker.run(talk) == ([BODY, BODY[::-1]],) * 2


def test_auto_has_the_broker_send_again_only_what_was_not_handled(broker: Broker) -> None:
    async def talk() -> tuple[list[bytes], list[bytes]]:
        at, topic = broker.openwire, "auto"
        first = await subscriber(at, "auto", topic, durable=True)
        await publish(at, topic, numbered(4))
        await until(lambda: len(first.got) == 4)
        await settled(first.connection)
        first.connection.abort()
        await publish(at, topic, numbered(10)[4:])
        second = await subscriber(at, "auto", topic, durable=True)
        await quiet(second.got, least=6)
        await second.connection.close()
        return first.bodies(), second.bodies()

    assert broker.run(talk) == (numbered(10)[:4], numbered(10)[4:])


async def settled(connection: Connection) -> None:
    """An answered request shows that the broker has read the acknowledgements sent before."""
    await connection.publisher("other", delivery=Delivery.NONPERSISTENT)


def test_dups_ok_has_the_broker_send_again_what_half_the_prefetch_has_not_covered(broker: Broker) -> None:
    async def talk() -> tuple[Got, Got]:
        at, topic = broker.openwire, "half-the-prefetch"
        first = await subscriber(at, topic, topic, durable=True, ack=Ack.DUPS_OK, prefetch=10)
        await publish(at, topic, numbered(13))
        await until(lambda: len(first.got) == 13)
        await settled(first.connection)
        first.connection.abort()
        second = await subscriber(at, topic, topic, durable=True, ack=Ack.DUPS_OK)
        await quiet(second.got, least=3)
        await second.connection.close()
        third = await subscriber(at, topic, topic, durable=True)
        await quiet(third.got)
        await third.connection.close()
        return second.got, third.got

    again, after_a_close = broker.run(talk)
    assert [body for body, _ in again] == numbered(13)[10:]
    assert after_a_close == []


def test_client_acknowledges_what_it_has_had_when_it_says_so(broker: Broker) -> None:
    async def talk() -> tuple[list[bytes], Got]:
        at, topic = broker.openwire, "client"
        first = await subscriber(at, topic, topic, durable=True, ack=Ack.CLIENT, prefetch=4, acknowledge_at=[5])
        await publish(at, topic, numbered(12))
        await until(lambda: len(first.got) == 12)  # more than the prefetch, of which most is not acknowledged
        await first.connection.close()
        second = await subscriber(at, topic, topic, durable=True)
        await quiet(second.got, least=7)
        await second.connection.close()
        return first.bodies(), second.got

    assert broker.run(talk) == (numbered(12), [(body, True) for body in numbered(12)[5:]])


@pytest.mark.parametrize("prefetch", [0, 1, 100])
@pytest.mark.parametrize("ack", [Ack.AUTO, Ack.DUPS_OK, Ack.CLIENT])
def test_messages_are_received_one_by_one(broker: Broker, prefetch: int, ack: Ack) -> None:
    async def talk() -> list[bytes]:
        topic = f"sync-{prefetch}-{ack}"
        connection = await STACK.connect(HERE, [broker.openwire], topic)
        receiver = await connection.receiver(topic, subscription=wanted(durable=True, prefetch=prefetch), ack=ack)
        await publish(broker.openwire, topic, numbered(7))
        got = []
        for _ in range(7):
            got.append((await receiver.receive())[0])
            if ack is Ack.CLIENT:
                connection.acknowledge()
        await connection.close()
        back = await subscriber(broker.openwire, topic, topic, durable=True)
        await quiet(back.got)
        await back.connection.close()
        return got + back.bodies()

    assert broker.run(talk) == numbered(7)


def test_receiving_ends_with_the_connection(broker: Broker) -> None:
    async def talk() -> None:
        connection = await STACK.connect(HERE, [broker.openwire], "cut")
        receiver = await connection.receiver("cut", subscription=Subscription(), ack=Ack.AUTO)
        waiting = asyncio.ensure_future(receiver.receive())
        await asyncio.sleep(0)
        connection.abort()
        with pytest.raises(StackError):
            await waiting

    broker.run(talk)


def test_a_topic_that_is_a_pattern_is_refused_and_the_connection_lives_on(broker: Broker) -> None:
    async def talk() -> None:
        connection = await connect_again(broker.openwire, "lives-on")
        with pytest.raises(StackError, match="a name is words of letters"):
            await connection.publisher("a.>", delivery=Delivery.PERSISTENT)
        assert connection.lost is None
        await connection.close()

    broker.run(talk)
