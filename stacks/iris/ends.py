"""What both kinds of tunnels have at each end: what an application may send, and what it has room for.  Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from stacks.iris import relay
from stacks.iris.relay import CHUNK_LIMIT

GRANT_BYTES = 4 * 1024 * 1024  # what an application may have in its node
REPAY_BYTES = GRANT_BYTES // 16  # what it has sent is granted again when there is so much of it
STALLED_S = 30.0  # who hears nothing of the other end for so long has lost it
GONE = "the other end is gone"

_LARGEST = 2**32 - 1  # of a message, in bytes

Tell = Callable[[int, relay.Message], object]


class Packet(NamedTuple):
    """A chunk.  size: of the whole message with its first chunk, 0 with others."""

    size: int
    data: bytes


class End:
    """One end.

    connection, id: the application's, and its own number of it.  over: whether the application has been told that it
    has ended.  on_over: called then.
    """

    def __init__(
        self, connection: int, id: int, tell: Tell, on_over: Callable[[], None], *, clock: Callable[[], float]
    ) -> None:
        self.connection, self.id, self.over = connection, id, False
        self._tell, self._on_over, self._clock = tell, on_over, clock
        self._heard_at = self._said_at = clock()
        self._granted = self._allowed = 0
        self._owed = 0  # of what the application has sent, what could be granted again
        self._ready: deque[Packet] = deque()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do, for the application or without it."""
        raise NotImplementedError

    def push(self, chunk: relay.TunnelData) -> None:
        """The application sends; relay.RelayError for more than it may."""
        size = len(chunk.data)
        if not size:
            raise relay.RelayError("a chunk of no bytes, which a tunnel has none of")
        if size > CHUNK_LIMIT or size > self._granted:
            most = min(CHUNK_LIMIT, self._granted)
            raise relay.RelayError(f"a chunk of {size} bytes, where {most} are allowed on this tunnel")
        if chunk.size > _LARGEST:
            raise relay.RelayError(f"a message of {chunk.size} bytes, where {_LARGEST} are allowed")
        self._granted -= size
        self._push(Packet(chunk.size, chunk.data))

    def allow(self, room: int) -> None:
        """The application has room for so many bytes more."""
        self._allowed += room
        if self._ready:
            self._give()

    def close(self) -> None:
        """The application closes the tunnel, behind what it has sent."""
        raise NotImplementedError

    def leave(self) -> None:
        """The application has gone."""
        raise NotImplementedError

    def tend(self, now: float) -> None:
        """Do what time brings; to be called about once a second."""
        raise NotImplementedError

    def _push(self, packet: Packet) -> None:
        """Have a chunk go to the other end."""
        raise NotImplementedError

    def _grant(self, size: int) -> None:
        self._granted += size
        self._tell(self.connection, relay.TunnelAllow(self.id, size))

    def _repay(self, least: int) -> None:
        if self._owed >= least and not self.over:
            owed, self._owed = self._owed, 0
            self._grant(owed)

    def _give(self) -> None:
        """Hand over what the application has room for; of a message that has begun the rest as well."""
        ready = self._ready
        while ready and (self._allowed >= len(ready[0].data) or not ready[0].size):
            size, data = ready[0]
            if self._tell(self.connection, relay.TunnelData(self.id, size, data)) is False:
                return  # no room: again when tunnels are tended
            ready.popleft()
            self._allowed -= len(data)
            self._given(len(data))

    def _given(self, size: int) -> None:
        """The application has a chunk of so many bytes more."""

    def _end(self, reason: str) -> None:
        self._tell(self.connection, relay.TunnelClosed(self.id, reason))
        self._forget()

    def _forget(self) -> None:
        self.over = True
        self._on_over()
