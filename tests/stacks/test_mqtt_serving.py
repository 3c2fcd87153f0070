"""A service over MQTT, against a server that passes on requests which cannot be answered."""

import asyncio
from collections.abc import Callable

import pytest
from mqtt_peers import Peer, server

from stacks.mqtt.client import connect
from stacks.mqtt.packets import Publish
from stacks.mqtt.properties import Properties, Property
from stacks.mqtt.session import Kept, Terms

TERMS = Terms(version=5, client_id="c", clean=True, keep_alive_s=0, window=2)
CORRELATION = (Property.CORRELATION_DATA, b"1")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((CORRELATION,), "a request that does not say where its reply goes"),
        (((Property.RESPONSE_TOPIC, "r"),), "a request that does not say where its reply goes"),
        *(
            (
                ((Property.RESPONSE_TOPIC, topic), CORRELATION),
                f"a request whose reply can go nowhere: topic {topic!r}: ",
            )
            for topic in ("r/#", "+", "")
        ),
    ],
)
def test_a_request_whose_reply_can_go_nowhere_is_not_handed_over_and_ends_the_connection(
    given: Properties, reason: str
) -> None:
    handled: list[bytes] = []

    def serve(body: bytes, reply: Callable[[bytes], None]) -> None:
        handled.append(body)
        reply(body)

    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.subscription(1)
        peer.say(Publish("s", b"?", 1, 7, properties=given))
        assert await peer.left()

    async def main() -> None:
        async with server(script) as at:
            service = await connect(at, TERMS, 1, Kept())
            await service.serve("s", serve)
            while service.lost is None:
                await asyncio.sleep(0.001)
            assert service.lost.startswith(reason)

    asyncio.run(asyncio.wait_for(main(), 120))
    assert handled == []
