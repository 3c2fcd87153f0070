"""What the requests of one connection wait for, whatever is spoken on it."""

from __future__ import annotations

import asyncio

from stacks.channel import Channel, fail


class Replies:
    """Open requests, by their correlation."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0
        channel.on_end(self._fail_all)

    def expect(self) -> tuple[str, asyncio.Future[bytes]]:
        """A request's correlation and the future of its reply, which fails with the connection."""
        self._number += 1
        correlation = str(self._number)
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if (over := self._channel.over) is not None:
            fail(reply, over)
        else:
            self._waiting[correlation] = reply
        return correlation, reply

    def take(self, correlation: str, body: bytes) -> None:
        """A reply has come; one that nobody waits for is passed over."""
        reply = self._waiting.pop(correlation, None)
        if reply is not None and not reply.done():
            reply.set_result(body)

    def _fail_all(self, reason: str) -> None:
        for reply in self._waiting.values():
            fail(reply, reason)
        self._waiting.clear()
