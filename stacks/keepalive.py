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


def keep_alive(channel: Channel, keep_alive_s: float, beat: Callable[[], None]) -> None:
    """Have `beat` send something whenever nothing else was sent, at least every `keep_alive_s` seconds.

    The channel is lost when its peer says nothing for three times as long.  0 = neither.
    """
    if not keep_alive_s:
        return
    loop = asyncio.get_running_loop()
    reads, writes, silent = channel.reads, channel.writes, 0

    def look() -> None:
        nonlocal reads, writes, silent, due
        silent = silent + 1 if channel.reads == reads else 0
        if silent >= _LOOKS * _GIVE_UP:
            channel.lose(f"the server has been silent for {_GIVE_UP * keep_alive_s:g} s")
            return
        if channel.writes == writes:
            beat()
        reads, writes = channel.reads, channel.writes
        due = loop.call_later(keep_alive_s / _LOOKS, look)

    due = loop.call_later(keep_alive_s / _LOOKS, look)
    channel.on_end(lambda _: due.cancel())
