"""A STOMP server that plays a script, over a real socket on loopback."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from scripted_server import scripted

from stacks.driver import Endpoint
from stacks.stomp.decoder import Decoder
from stacks.stomp.frame import Frame, encode

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


def server(script: Script) -> AbstractAsyncContextManager[Endpoint]:
    """A server that runs the script with its one client."""
    return scripted(Peer, script)


async def nothing(peer: Peer) -> None:
    """A script: leave at once."""
