"""A STOMP server that plays a script, over a real socket on loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

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


@asynccontextmanager
async def server(script: Script) -> AsyncIterator[Endpoint]:
    """A server that runs the script with its one client; the script's failure is the test's."""
    played: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Peer(reader, writer))
            played.set_result(None)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            played.set_exception(error)
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield Endpoint(host="127.0.0.1", port=listening.sockets[0].getsockname()[1])
        async with asyncio.timeout(60):
            await played


async def nothing(peer: Peer) -> None:
    """A script: leave at once."""
