"""Connections of direct tunnels, on asyncio; `direct` decides what goes over them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from stacks.iris.direct import Direct, Way
from stacks.iris.frames import FrameError, Peer, read_peers, tunnel
from stacks.iris.links import GATHERED_BYTES, RECORD_S, Flushed, OnFrames, PeerLink, without_delay
from stacks.iris.session import Session, SessionError

REACH_S = 3.0  # for a connection, and for the handshake
AGAIN_S = 0.1  # after one that came to nothing
HELD_BYTES = 1024 * 1024  # written and not taken by the kernel: the application is granted nothing more meanwhile

Make = Callable[[bool, bytes], Session]


class Ways:
    """All of one node.  flush_soon, now: as links.Owner has them.  make: a session, dialled or not, with its
    introduction.
    """

    def __init__(self, flush_soon: Callable[[Flushed], None], make: Make, now: Callable[[], float]) -> None:
        self.flush_soon, self._make, self.now = flush_soon, make, now
        self._links: set[TunnelLink] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def reach(self, place: Peer, number: int, end: Direct) -> None:
        """Connect to the node that has opened a tunnel; number: its number of it."""
        task = asyncio.get_running_loop().create_task(self._reach(place, number, end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def given(self, link: PeerLink, reached: Callable[[Way], Direct | None]) -> OnFrames:
        """A node has connected for a tunnel; reached: whose that is, None where nobody waits for it any more."""
        transport, session = link.give_away()
        way = TunnelLink(self, session)
        way.connection_made(transport)
        transport.set_protocol(way)
        way.end = reached(way)
        if way.end is None:
            way.cut()
            return _unheard
        return way.end.came

    def made(self, link: TunnelLink) -> None:
        """A connection is there."""
        self._links.add(link)

    def lost(self, link: TunnelLink) -> None:
        """It is not any more."""
        self._links.discard(link)

    def close(self) -> None:
        """Cut all."""
        for task in self._tasks:
            task.cancel()
        for link in self._links:
            link.cut()

    async def _reach(self, place: Peer, number: int, end: Direct) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(REACH_S):
                # A node that has many peers at once which it does not know yet refuses more of them for a while.
                while not await self._reached(place, number, end):
                    await asyncio.sleep(AGAIN_S)
                    if end.forsaken:
                        break
                else:
                    return
        end.lost()

    async def _reached(self, place: Peer, number: int, end: Direct) -> bool:
        link = TunnelLink(self, self._make(True, tunnel(number)), end, place)
        there = False
        try:
            with suppress(OSError):
                await asyncio.get_running_loop().create_connection(lambda: link, place.address, place.port)
                await link.shaken.wait()
                there = link.introduced
        finally:
            if not there:  # nor where time is up just when it is
                link.cut()
        return there


class TunnelLink(asyncio.Protocol):
    """The connection of one tunnel.  end: who has what comes.  place: the node that has to be there, where this one has
    dialled.  shaken: whether it is known what became of the handshake.  introduced: whether it is that node.
    """

    def __init__(self, ways: Ways, session: Session, end: Direct | None = None, place: Peer | None = None) -> None:
        self.end = end
        self.shaken = asyncio.Event()
        self.introduced = place is None
        self._ways, self._session, self._place = ways, session, place
        self._transport: asyncio.Transport | None = None
        self._waits = False
        self._begun_at, self._records = 0.0, -1  # since when a record comes; those that had come by then

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio, for a connection that was accepted by `Ways.given`."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HELD_BYTES)
        without_delay(transport)
        self._ways.made(self)
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        end = self.end
        if end is None:
            return
        end.alive()
        try:
            found = self._session.feed(data)
            if not self.shaken.is_set() and self._place is not None and self._session.established:
                self._introduce(end, self._place)
            if found:
                end.came(found)
        except (SessionError, FrameError):
            self.cut()
        if not self._session.in_a_record or self._records != self._session.records:
            self._begun_at, self._records = self._ways.now(), self._session.records
        elif self._ways.now() - self._begun_at > RECORD_S:  # its length, which anybody can change, may be another one
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        del exc
        self.shaken.set()
        self._ways.lost(self)
        if self.end is not None and self.introduced:
            self.end.lost()

    def pause_writing(self) -> None:
        """Called by asyncio: the other end takes less than is sent."""
        if self.end is not None:
            self.end.full()

    def resume_writing(self) -> None:
        """Called by asyncio."""
        if self.end is not None:
            self.end.room()

    def send(self, *parts: bytes, beside: bytes = b"") -> None:
        """As direct.Way; frames of one turn of the loop leave together."""
        self._session.send(*parts, beside=beside)
        if self._session.queued_bytes > GATHERED_BYTES:
            self.flush()
        elif not self._waits:
            self._waits = True
            self._ways.flush_soon(self)

    def flush(self) -> None:
        """Write what has gathered."""
        self._waits = False
        written = self._session.outgoing()
        if written and self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(written)

    def hold(self) -> None:
        """As direct.Way."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def go_on(self) -> None:
        """As direct.Way."""
        if self._transport is not None and not self._transport.is_closing():
            self._begun_at = self._ways.now()
            self._transport.resume_reading()

    def cut(self) -> None:
        """As direct.Way."""
        if self._transport is not None:
            self._transport.abort()

    def _introduce(self, end: Direct, place: Peer) -> None:
        self.shaken.set()
        found = read_peers(self._session.peer or b"")
        if [one.id for one in found] != [place.id]:
            raise FrameError("another node is there by now")
        self.introduced = True
        end.begin(self)


def _unheard(frames: list[bytes]) -> None:
    del frames
