"""Tunnels by a TCP connection of their own, between the two nodes.  Pure.

The connection keeps what is sent in order and loses nothing while it lives.  Who has no room stops reading, so that TCP
holds the other end up.  Who leaves has its connection cut; who closes says so, and the other end, which has all by
then, cuts it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Protocol

from stacks.iris.ends import GONE, GRANT_BYTES, REPAY_BYTES, STALLED_S, End, Packet, Tell
from stacks.iris.frames import SECRET_BYTES, FrameError
from stacks.iris.noise import TAG
from stacks.iris.payload import BULK_BYTES, Sealer, unsealed
from stacks.iris.relay import CHUNK_LIMIT

_CHUNK = struct.Struct("!BI")  # _DATA or _SEALED; as Packet.size
_DATA, _CLOSE, _HERE, _SEALED = range(4)  # the first byte of a frame
_SEALED_BYTES = _CHUNK.size + SECRET_BYTES  # before the data
_CLOSED, _HERE_I_AM = bytes((_CLOSE,)), bytes((_HERE,))


class Way(Protocol):
    """The connection of a tunnel."""

    def send(self, *parts: bytes, beside: bytes = b"") -> None:
        """Have a frame go to the other end, as Session.send."""

    def hold(self) -> None:
        """Read nothing more for now."""

    def go_on(self) -> None:
        """Read again."""

    def cut(self) -> None:
        """End the connection, without what may be under way; `Direct.lost` follows."""


class Direct(End):
    """One end.  Its connection may come later: `begin`, or not at all: `lost`."""

    def __init__(
        self,
        connection: int,
        id: int,
        tell: Tell,
        on_over: Callable[[], None],
        *,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(connection, id, tell, on_over, clock=clock)
        self._sealer = Sealer()
        self._way: Way | None = None
        self._full = self._held = self._closed = False
        self._sought = False  # whether it is known what became of the connection
        self._all = False  # whether the other end has said that there is nothing more

    @property
    def done(self) -> bool:
        """Whether nothing comes any more, neither of the application nor of a connection."""
        return self.over and self._sought and self._way is None

    @property
    def forsaken(self) -> bool:
        """Whether its application has gone, without a word that the other end should have."""
        return self.over and not self._closed

    def begin(self, way: Way) -> None:
        """The connection is there: let the application send."""
        self._sought = True
        if self.over and not self._closed:
            way.cut()
            return
        self._way = way
        self._heard_at = self._said_at = self._clock()
        way.send(_HERE_I_AM)  # who was called knows us by the first record
        if self._closed:
            way.send(_CLOSED)
        else:
            self._grant(GRANT_BYTES)

    def alive(self) -> None:
        """Bytes have come, be they only a part of a frame: over a slow link a large one takes long."""
        self._heard_at = self._clock()

    def came(self, frames: list[bytes]) -> None:
        """Frames of the other end; FrameError where they are none."""
        self.alive()
        for frame in frames:
            what = frame[0] if frame else -1
            if what == _DATA:
                if not _CHUNK.size < len(frame) <= _CHUNK.size + CHUNK_LIMIT:
                    raise FrameError(f"a tunnel's chunk has {len(frame)} bytes with its header")
                self._ready.append(Packet(_CHUNK.unpack_from(frame)[1], frame[_CHUNK.size :]))
            elif what == _SEALED:
                self._ready.append(_opened(frame))
            elif what == _CLOSE:
                self._all = True
            elif what != _HERE:
                raise FrameError(f"{what} is no operation of a direct tunnel")
        if self.over:  # its application has heard the end already
            self._ready.clear()
        if self._all and self._way is not None:
            self._way.cut()
        self._give()

    def full(self) -> None:
        """The connection takes nothing more for now."""
        self._full = True

    def room(self) -> None:
        """The connection takes more."""
        self._full = False
        self._repay(1)

    def lost(self) -> None:
        """The connection has ended, or there is none to be had."""
        self._way, self._sought = None, True
        if self.over:
            self._on_over()
        elif not self._all:
            self._end(GONE)

    def close(self) -> None:
        """The application closes the tunnel, behind what it has sent."""
        self._closed = True
        self._ready.clear()
        if self._way is not None:
            self._way.send(_CLOSED)
            if self._held:  # what comes is read still, so that the end of it is
                self._held, self._heard_at = False, self._clock()
                self._way.go_on()
        self._end("")

    def leave(self) -> None:
        """The application has gone."""
        if self._way is not None:
            self._way.cut()
        self._forget()

    def tend(self, now: float) -> None:
        """Say that this end is there, every STALLED_S / 3; give up where nothing is heard of the other."""
        self._give()
        if self._way is None or self._all:
            return
        if self._held:  # who does not listen cannot tell
            self._heard_at = now
        if self._heard_at < now - STALLED_S:
            self._way.cut()
            if not self.over:
                self._end(f"no word of the other end for {STALLED_S:g} s")
        elif now - self._said_at > STALLED_S / 3:
            self._said_at = now
            self._way.send(_HERE_I_AM)

    def _push(self, packet: Packet) -> None:
        if self._way is None or self._all:
            return  # the application will hear why
        size, data = packet
        if len(data) < BULK_BYTES:
            self._way.send(_CHUNK.pack(_DATA, size), data)
        else:
            head = _CHUNK.pack(_SEALED, size)
            secret, sealed = self._sealer.seal(data, head)
            self._way.send(head, secret, beside=sealed)
        self._owed += len(data)
        if not self._full:
            self._repay(REPAY_BYTES)

    def _give(self) -> None:
        super()._give()
        if self.over:
            return
        if self._all:
            if not self._ready:
                self._end("")
        elif self._way is not None and self._held != bool(self._ready):
            self._held = not self._held
            if self._held:
                self._way.hold()
            else:
                self._heard_at = self._clock()
                self._way.go_on()


def _opened(frame: bytes) -> Packet:
    if not _SEALED_BYTES + TAG < len(frame) <= _SEALED_BYTES + CHUNK_LIMIT + TAG:
        raise FrameError(f"a tunnel's sealed chunk has {len(frame)} bytes with its header")
    head, secret = frame[: _CHUNK.size], frame[_CHUNK.size : _SEALED_BYTES]
    return Packet(_CHUNK.unpack(head)[1], unsealed(secret, memoryview(frame)[_SEALED_BYTES:], head))
