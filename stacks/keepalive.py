"""Signs of life on an idle connection, where a protocol has each side send some of its own accord."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stacks.channel import Channel

# Of the time in which the peer expects something: so one that idles is heard of after two of them, and a late timer
# does not end a connection.  ActiveMQ's own client looks as often.
_LOOKS = 3
# As long as ActiveMQ may take to give us up: it has to find nothing new at two checks in a row.
_GIVE_UP = 3


class _Looks:
    """Looks at a channel's counts, and again after a part of the keep-alive."""

    def __init__(self, channel: Channel, keep_alive_s: float, beat: Callable[[], None]) -> None:
        self._channel, self._keep_alive_s, self._beat = channel, keep_alive_s, beat
        self._silent = 0
        self._go_on()
        channel.on_end(lambda _: self._due.cancel())

    def _go_on(self) -> None:
        self._reads, self._writes = self._channel.reads, self._channel.writes
        self._due = asyncio.get_running_loop().call_later(self._keep_alive_s / _LOOKS, self._look)

    def _look(self) -> None:
        self._silent = self._silent + 1 if self._channel.reads == self._reads else 0
        if self._silent >= _LOOKS * _GIVE_UP:
            self._channel.lose(f"the server has been silent for {_GIVE_UP * self._keep_alive_s:g} s")
            return
        if self._channel.writes == self._writes:
            self._beat()
        self._go_on()


def keep_alive(channel: Channel, keep_alive_s: float, beat: Callable[[], None]) -> None:
    """Have `beat` send something whenever nothing else was sent, at least every `keep_alive_s` seconds.

    The channel is lost when its peer says nothing for three times as long.  0 = neither.
    """
    if keep_alive_s:
        _Looks(channel, keep_alive_s, beat)
