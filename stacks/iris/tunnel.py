"""An application's end of a tunnel: whole messages in chunks, as many as there is room for at the other end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from stacks.channel import fail
from stacks.driver import EndedError, StackError
from stacks.iris import relay
from stacks.iris.relay import CHUNK_LIMIT

ROOM_BYTES = 64 * 1024 * 1024  # what the node may have on the way to an application
REPAY_BYTES = ROOM_BYTES // 16  # what has come is allowed again when there is so much of it


class Tunnel:
    """Ordered messages between this application and another.

    on_message: has every message that comes.  on_end: called when it has ended.  over: why, None while it lives.
    on_demand: whoever has the messages says by `repay` when one is out of the way, and no more of them than there is
    room for come before that.
    """

    def __init__(self, say: Callable[[relay.Message], None], number: int) -> None:
        self.on_message: Callable[[bytes], None] = _unheard
        self.on_end: Callable[[], None] = _unseen
        self.over: str | None = None
        self.on_demand = False
        self._say, self._number = say, number
        self._allowed = self._owed = 0
        self._waiting: deque[tuple[int, bytes, asyncio.Future[None] | None]] = deque()
        self._parts: list[bytes] = []
        self._missing = 0
        self._held = self._closing = self._closed = False

    def begin(self) -> None:
        """Let the node send."""
        self._say(relay.TunnelAllow(self._number, ROOM_BYTES))

    def send(self, data: bytes) -> asyncio.Future[None]:
        """Send a message, which must not be empty; the future ends when the node has all of it, or with StackError."""
        if not data:
            raise StackError("a tunnel has no empty messages")
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.over is not None or self._closing:
            fail(taken, self.over or "the tunnel is closed", EndedError)
            return taken
        for at in range(0, len(data), CHUNK_LIMIT):
            last = at + CHUNK_LIMIT >= len(data)
            self._waiting.append((len(data) if at == 0 else 0, data[at : at + CHUNK_LIMIT], taken if last else None))
        self._pump()
        return taken

    def close(self) -> None:
        """End it, behind what was sent, for which the application has to stay until the node has it."""
        if self.over is None and not self._closing:
            self._closing = True
            self._pump()

    def end(self, reason: str) -> None:
        """It has ended, whichever way."""
        self.over = reason
        for _, _, taken in self._waiting:
            if taken is not None:
                fail(taken, reason, EndedError)
        self._waiting.clear()
        self.on_end()

    def heard(self, message: relay.TunnelAllow | relay.TunnelData | relay.TunnelClosed) -> None:
        """The node says something of it."""
        if isinstance(message, relay.TunnelAllow):
            self._allowed += message.bytes
            self._pump()
        elif isinstance(message, relay.TunnelData):
            self._take(message)
        else:
            self.end(message.reason or "the tunnel is closed")

    def _pump(self) -> None:
        while self._waiting and len(self._waiting[0][1]) <= self._allowed:
            size, chunk, taken = self._waiting.popleft()
            self._allowed -= len(chunk)
            self._say(relay.TunnelData(self._number, size, chunk))
            if taken is not None and not taken.done():
                taken.set_result(None)
        if self._closing and not self._waiting and not self._closed:
            self._closed = True
            self._say(relay.TunnelClose(self._number))

    def _take(self, chunk: relay.TunnelData) -> None:
        if chunk.size:
            self._parts.clear()
            self._missing = chunk.size
            # One that fills the room by itself could never become whole if its parts were not repaid.
            self._held = self.on_demand and chunk.size <= ROOM_BYTES // 2
        self._parts.append(chunk.data)
        self._missing -= len(chunk.data)
        if self._missing <= 0:
            message = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self.on_message(message)
        if not self._held:
            self._repay(len(chunk.data))

    def repay(self, size: int) -> None:
        """A message of `size` bytes is out of the way, where `on_demand`."""
        if size <= ROOM_BYTES // 2:
            self._repay(size)

    def _repay(self, size: int) -> None:
        self._owed += size
        if self._owed >= REPAY_BYTES and self.over is None:
            owed, self._owed = self._owed, 0
            self._say(relay.TunnelAllow(self._number, owed))


def _unheard(message: bytes) -> None:
    del message


def _unseen() -> None:
    pass
