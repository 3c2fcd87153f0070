"""MQTT's keep-alive: either side hears of the other, and a server that says nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mqtt_peers import Peer, Script, server

from stacks.mqtt.packets import Disconnect, Ping, Publish
from stacks.mqtt.properties import Kind, Property
from stacks.mqtt.session import Session, Terms, connect

TERMS = Terms(version=5, client_id="c", clean=True, keep_alive_s=1000, window=2)


def play(script: Script, client: Callable[[Session], Awaitable[None]], terms: Terms = TERMS) -> None:
    async def main() -> None:
        async with server(script, terms.version) as at:
            await client(await connect(at, terms))

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_server_is_asked_for_a_sign_of_life_and_left_without_one() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet((Property.SERVER_KEEP_ALIVE_S, 1))
        assert await peer.packet() == Ping(Kind.PINGREQ)
        peer.say(Ping(Kind.PINGRESP))
        assert await peer.packet() == Ping(Kind.PINGREQ)
        assert await peer.left()

    async def client(session: Session) -> None:
        while session.lost is None:
            await asyncio.sleep(0.01)
        assert session.lost == "the server has not answered a ping for 1 s"

    play(script, client)


def test_while_the_answer_to_a_ping_is_behind_messages_the_server_hears_of_the_client_all_the_same() -> None:
    """A backlog of QoS 0, which nothing answers: a server leaves whoever is silent for 1.5 times as long."""
    pings: list[float] = []

    async def script(peer: Peer) -> None:
        await peer.greet((Property.SERVER_KEEP_ALIVE_S, 1))

        async def flow() -> None:
            while len(pings) < 4:
                peer.say(Publish("t", b"x"))
                await asyncio.sleep(0.1)

        flowing = asyncio.ensure_future(flow())
        while len(pings) < 4:
            assert await peer.packet() == Ping(Kind.PINGREQ)
            pings.append(asyncio.get_running_loop().time())
        await flowing
        peer.say(Ping(Kind.PINGRESP))
        assert await peer.packet() == Disconnect()

    async def client(session: Session) -> None:
        while len(pings) < 4:
            await asyncio.sleep(0.01)
        assert session.lost is None
        await session.close(limit_s=60)

    play(script, client, replace(TERMS, clean=False))  # so that messages wait for a subscription
