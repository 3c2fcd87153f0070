"""paho-mqtt as the oracle of our codec: what either writes the other reads, by properties and over real sockets."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqtt_packets import properties_of, topics
from mqtt_peers import Peer, server
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties as PahoProperties
from paho_client import Paho, paho_client

from stacks.driver import Endpoint
from stacks.mqtt import properties
from stacks.mqtt.packets import Answer, Connect, Disconnect, Publish, Suback, Subscribe, Version
from stacks.mqtt.primitives import Reader
from stacks.mqtt.properties import FIELDS, Kind, Properties, Property, Value

NAMES = {number: name.replace(" ", "") for name, number in PahoProperties(PacketTypes.PUBLISH).names.items()}
MANY = {Property.USER, Property.SUBSCRIPTION_IDENTIFIER}  # paho keeps a list of these
NOT_SENT = {Property.TOPIC_ALIAS, Property.SUBSCRIPTION_IDENTIFIER}  # neither is agreed on here
WITH_PROPERTIES = [kind for kind in Kind if any(kind in field.kinds for field in FIELDS.values())]
# paho refuses U+FEFF, which section 1.5.4 of MQTT 5 has kept, and sizes that fit into four bytes but not into a length.
PAHO_LIMIT = 268_435_455
messages = st.lists(st.tuples(topics, st.binary(max_size=300), st.integers(0, 2)), min_size=1, max_size=8)


def paho_reads(name: Property, value: Value) -> bool:
    texts = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]
    within = name is not Property.MAXIMUM_PACKET_SIZE or (isinstance(value, int) and value <= PAHO_LIMIT)
    return within and not any("\ufeff" in text for text in texts)


def as_paho(kind: Kind, ours: Properties) -> PahoProperties:
    theirs = PahoProperties(int(kind))
    for name, value in ours:
        setattr(theirs, NAMES[name], value)
    return theirs


def as_ours(theirs: PahoProperties) -> Properties:
    """In the order of their numbers, in which paho writes them."""
    found: list[tuple[Property, Value]] = []
    for name in Property:
        value = getattr(theirs, NAMES[name], None)
        if value is not None:
            found += [(name, one) for one in (value if name in MANY else [value])]
    return tuple(found)


@given(st.sampled_from(WITH_PROPERTIES), st.data())
def test_properties_are_read_by_paho_as_ours_wrote_them_and_by_ours_as_paho_wrote_them(
    kind: Kind, data: st.DataObject
) -> None:
    drawn = data.draw(properties_of(kind))
    ours = tuple(sorted((one for one in drawn if paho_reads(*one)), key=lambda one: one[0]))
    read, size = PahoProperties(int(kind)).unpack(properties.encode(kind, ours))
    assert as_ours(read) == ours
    written = as_paho(kind, ours).pack()
    assert properties.decode(kind, Reader(written, 0, len(written))) == ours
    assert written == properties.encode(kind, ours)
    assert size == len(written)


async def taken(peer: Peer, message: Publish) -> None:
    """Answer a message of paho's."""
    if message.qos == 1:
        peer.say(Answer(Kind.PUBACK, message.number))
    elif message.qos == 2:
        peer.say(Answer(Kind.PUBREC, message.number))
        assert (await peer.answer(Kind.PUBREL)).number == message.number
        peer.say(Answer(Kind.PUBCOMP, message.number))


async def handed_over(peer: Peer, qos: int, number: int) -> None:
    """Have paho's answers to a message."""
    if qos == 1:
        assert (await peer.answer(Kind.PUBACK)).number == number
    elif qos == 2:
        assert (await peer.answer(Kind.PUBREC)).number == number
        peer.say(Answer(Kind.PUBREL, number))
        assert (await peer.answer(Kind.PUBCOMP)).number == number


@settings(max_examples=10)
@pytest.mark.parametrize("version", [4, 5])
@given(sent=messages, data=st.data())
def test_paho_and_a_server_of_our_codec_understand_each_other(
    version: Version, sent: list[tuple[str, bytes, int]], data: st.DataObject
) -> None:
    """The server takes what paho sends and sends it back; with MQTT 5 properties go along."""
    given_each = [
        tuple(one for one in data.draw(properties_of(Kind.PUBLISH)) if paho_reads(*one) and one[0] not in NOT_SENT)
        if version == 5
        else ()
        for _ in sent
    ]
    heard: list[Publish] = []

    async def script(peer: Peer) -> None:
        hello = await peer.greet()
        assert hello == Connect("oracle", clean=True, keep_alive_s=60)
        subscription = await peer.packet()
        assert isinstance(subscription, Subscribe)
        assert [name for name, _ in subscription.filters] == [topic for topic, _, _ in sent]
        peer.say(Suback(subscription.number, tuple(options & 3 for _, options in subscription.filters)))
        for number, _ in enumerate(sent, 1):
            message = await peer.message()
            heard.append(message)
            await taken(peer, message)
            peer.say(message._replace(number=number if message.qos else 0))
            await handed_over(peer, message.qos, number)
        assert await peer.packet() == Disconnect()

    def talk(at: Endpoint) -> Paho:
        with paho_client(at, "oracle", version) as oracle:
            oracle.subscribe(*((topic, qos) for topic, _, qos in sent))
            for number, ((topic, body, qos), mine) in enumerate(zip(sent, given_each, strict=True), 1):
                oracle.publish(topic, body, qos, as_paho(Kind.PUBLISH, mine) if version == 5 else None)
                oracle.until(number)
        return oracle

    async def main() -> Paho:
        async with server(script, version) as at:
            return await asyncio.to_thread(talk, at)

    oracle = asyncio.run(asyncio.wait_for(main(), 120))
    assert [(one.topic, one.body, one.qos) for one in heard] == sent
    assert [set(one.properties) for one in heard] == [set(mine) for mine in given_each]
    assert oracle.got == sent
