"""How long the others keep their connections to a node that has vanished (half-open: RFC 9293, section 3.5.1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

from emulation.kernel.namespace import in_namespace
from emulation.kernel.sockdiag import SockDiag, TcpState, tcp_states
from records.manifest import HalfOpen
from topologies.network import Network

_POLL_S = 0.05  # between two looks: a connection's end is seen so late at most, and by what a look takes

_Established = Mapping[str, Sequence[TcpState]]
End = tuple[str, int, int]  # whose end, its port, the port of the node that vanished


@dataclass(slots=True)
class _Vanished:
    """left: of every end the moment when it had been given up, None while it stands.  until_ns: None while watched.

    taken: of ends whose own node was killed meanwhile the moment when it was.
    """

    node: str
    since_ns: int
    left: dict[End, int | None] = field(default_factory=dict)
    taken: dict[End, int] = field(default_factory=dict)
    until_ns: int | None = None

    def standing(self) -> Iterator[End]:
        """Those that have to be looked for."""
        return (end for end, left_ns in self.left.items() if left_ns is None and end not in self.taken)


class HalfOpenWatch:
    """Looks at the ends of others, from the moment when a node vanishes until it is back.  Made by `watching`.

    An end is given up when its socket is no longer established: then somebody has closed it, or its kernel has ended
    it, though FIN and RST may find no way to the peer.
    """

    def __init__(self, addresses: Mapping[str, str], asked: Mapping[str, SockDiag]) -> None:
        self._addresses, self._asked = addresses, asked
        self._one_at_a_time = asyncio.Lock()
        self._found: list[_Vanished] = []
        self._task: asyncio.Task[None] | None = None

    async def begin(self, node: str, since_ns: int) -> None:
        """A node has vanished (CLOCK_MONOTONIC ns): watch what others have established to it."""
        vanished = _Vanished(node, since_ns)
        vanished.left = dict.fromkeys(_to(self._addresses[node], node, await self._established(self._asked)))
        self._found.append(vanished)
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch())

    def end(self, node: str) -> None:
        """It can be reached again: what has lasted so long is half-open no more."""
        for one in self._watched():
            if one.node == node:
                one.until_ns = time.monotonic_ns()

    def killed(self, node: str) -> None:
        """Its own connections end by plan now: how long it would have kept them is not known."""
        now = time.monotonic_ns()
        for one in self._watched():
            one.taken |= {end: now for end in one.standing() if end[0] == node}

    def found(self) -> tuple[HalfOpen, ...]:
        """Every connection that was half-open, until now; raises what ended the watch too early."""
        if self._task is not None and self._task.done():
            self._task.result()
        now = time.monotonic_ns()
        return tuple(
            HalfOpen(
                node=one.node,
                since_ns=one.since_ns,
                peer=peer,
                peer_port=peer_port,
                port=port,
                left_ns=left_ns,
                until_ns=left_ns or one.taken.get((peer, peer_port, port)) or one.until_ns or now,
            )
            for one in self._found
            for (peer, peer_port, port), left_ns in one.left.items()
        )

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _watched(self) -> Iterator[_Vanished]:
        return (one for one in self._found if one.until_ns is None)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            peers = {end[0] for one in self._watched() for end in one.standing()}
            if not peers:
                continue
            found = await self._established(peers)
            now = time.monotonic_ns()
            for one in self._watched():  # those that are not back meanwhile
                there = _to(self._addresses[one.node], one.node, found)
                gone = [end for end in one.standing() if end[0] in found and end not in there]
                one.left.update(dict.fromkeys(gone, now))

    async def _established(self, peers: Iterable[str]) -> _Established:
        """What the kernels of these nodes have established."""
        asked = {peer: self._asked[peer] for peer in peers}
        async with self._one_at_a_time:
            return await asyncio.to_thread(lambda: {peer: tcp_states(one.ask()) for peer, one in asked.items()})


def _to(address: str, node: str, found: _Established) -> set[End]:
    return {
        (peer, state.local[1], state.remote[1])
        for peer, states in found.items()
        if peer != node
        for state in states
        if state.remote[0] == address
    }


@asynccontextmanager
async def watching(network: Network, *, wanted: bool) -> AsyncIterator[HalfOpenWatch]:
    """Have a watch ready on every node of a network.  wanted: whether any node is to vanish."""
    with ExitStack() as opened:
        asked = {}
        for node in network.nodes if wanted else ():
            asked[node.name] = in_namespace(node.pid, SockDiag)
            opened.callback(asked[node.name].close)
        watch = HalfOpenWatch({node.name: node.address for node in network.nodes}, asked)
        try:
            yield watch
        finally:
            await watch.stop()
