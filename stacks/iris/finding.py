"""Finding other nodes by datagrams, on asyncio; `bootstrap` decides which."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from stacks.iris.bootstrap import Bootstrap
from stacks.iris.frames import Peer


class Finder(asyncio.DatagramProtocol):
    """A node's socket for datagrams.  found: called with every node that answers."""

    def __init__(self, bootstrap: Bootstrap, found: Callable[[Peer], None]) -> None:
        self._bootstrap, self._found = bootstrap, found

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        # A cast: the transports of uvloop are no subclasses.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Called by asyncio."""
        heard = self._bootstrap.heard(data, addr[0])
        if heard.answer is not None:
            self._send(heard.answer, addr)
        if heard.peer is not None:
            self._found(heard.peer)

    def error_received(self, exc: Exception) -> None:
        """Called by asyncio: a host that is asked need not be there."""

    def seek(self, now: float, *, settled: bool) -> None:
        """Send what is due."""
        for address, datagram in self._bootstrap.due(now, settled=settled):
            self._send(datagram, (address, self._bootstrap.port))

    def probe(self, peer: Peer) -> None:
        """Ask whether a node is there."""
        self._send(self._bootstrap.request(peer.address), (peer.address, peer.port))

    def close(self) -> None:
        """Give the socket back."""
        self._transport.close()

    def _send(self, datagram: bytes, to: tuple[str, int]) -> None:
        with suppress(OSError):  # no way there, or no room: one of many
            self._transport.sendto(datagram, to)
