"""An MQTT server that plays a script, over a real socket on loopback."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from scripted_server import scripted

from stacks.driver import Endpoint
from stacks.mqtt.decoder import Decoder
from stacks.mqtt.packets import Answer, Connack, Connect, Packet, Publish, Suback, Subscribe, Version, encode
from stacks.mqtt.properties import Kind, Properties


class Peer:
    """The server's end of one connection."""

    def __init__(self, version: Version, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer, self.version = reader, writer, version
        self._decoder = Decoder(version)
        self._packets: list[Packet] = []

    async def packet(self) -> Packet:
        """The client's next packet."""
        while not self._packets:
            data = await self.reader.read(65536)
            assert data, "the client left"
            self._packets += self._decoder.feed(data)
        return self._packets.pop(0)

    async def greet(self, *given: tuple, present: bool = False, code: int = 0) -> Connect:  # type: ignore[type-arg]
        """Take the client, or refuse it; its CONNECT."""
        hello = await self.packet()
        assert isinstance(hello, Connect)
        self.say(Connack(present, code, given))
        return hello

    async def message(self) -> Publish:
        """The client's next packet, which is a message."""
        packet = await self.packet()
        assert isinstance(packet, Publish)
        return packet

    async def answer(self, kind: Kind) -> Answer:
        """The client's next packet, which is this answer."""
        packet = await self.packet()
        assert isinstance(packet, Answer)
        assert packet.kind is kind
        return packet

    async def subscription(self, code: int, given: Properties = ()) -> Subscribe:
        """The client's subscription, which gets this answer."""
        packet = await self.packet()
        assert isinstance(packet, Subscribe)
        self.say(Suback(packet.number, (code,), given))
        return packet

    def say(self, packet: Packet) -> None:
        self.writer.write(encode(packet, self.version))

    async def left(self) -> bool:
        """Whether the client says no more before it leaves."""
        return await self.reader.read() == b""


Script = Callable[[Peer], Awaitable[None]]


def server(script: Script, version: Version = 5) -> AbstractAsyncContextManager[Endpoint]:
    """A server that runs the script with its one client."""
    return scripted(lambda reader, writer: Peer(version, reader, writer), script)
