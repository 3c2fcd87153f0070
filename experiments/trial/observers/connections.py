"""What the kernels at both ends of a trial's TCP connections know of them: before go, and at the window's start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Literal

from emulation.kernel.namespace import in_namespace
from emulation.kernel.sockdiag import SockDiag, TcpState, tcp_states
from records.manifest import ConnectionEnd
from topologies.network import Network

_POLL_S = 0.05


class Connections:
    """The connections between a network's stations and its servers, or services on other stations.  Made by `watched`.

    It has one socket in each node's namespace, opened beforehand: asking takes a few system calls and no process.
    """

    def __init__(
        self, network: Network, asked: Mapping[str, SockDiag], services: Collection[tuple[str, int]] = ()
    ) -> None:
        self._asked = asked
        self._stations = {node.address: node.name for node in network.stations}
        self._servers = {node.address for node in network.servers}
        self._services = frozenset(services)
        self._names = {node.address: node.name for node in network.nodes}
        self._passes_on = network.plan.forwards

    def read(self) -> tuple[bytes, ...]:
        """Every node's answer; `ends` makes sense of it when there is time.  KernelError when a kernel has none."""
        return tuple(diag.ask() for diag in self._asked.values())

    def ends(self, answers: Iterable[bytes]) -> tuple[ConnectionEnd, ...]:
        """Both ends of every connection over the network to a service: clients' ends first, by station and port."""
        order = {name: number for number, name in enumerate(self._stations.values())}
        found = [_record(state, *place) for state, place in self._mine(answers)]
        return tuple(sorted(found, key=lambda one: (one.end, order[one.station], one.port)))

    def under_way(self, stations: Container[str] | None = None, *, silent: Collection[str] = ()) -> int:
        """Bytes on these connections, or on those of some stations, that are not acknowledged yet.

        silent: nodes that nothing gets through to, so that what is under way to them, or from them, is left out.  0
        where one of them passes on what others send: who is behind it is not told.
        """
        if any(map(self._passes_on, silent)):
            return 0
        total = 0
        for state, (_, station, _) in self._mine(self.read()):
            ends = {self._names.get(state.local[0]), self._names.get(state.remote[0]), station}
            if (stations is None or station in stations) and ends.isdisjoint(silent):
                total += state.unacked_bytes
        return total

    async def quiet(self, *, limit_s: float) -> bool:
        """Wait until nothing is under way on any connection; False when something still is after `limit_s` seconds.

        Twice in a row: an acknowledgement that answers a copy may be on its way at the first time.
        """
        deadline, still = time.monotonic() + limit_s, 0
        while still < 2 and time.monotonic() < deadline:
            still = 0 if await asyncio.to_thread(self.under_way) else still + 1
            await asyncio.sleep(_POLL_S)
        return still >= 2

    def _mine(
        self, answers: Iterable[bytes]
    ) -> Iterator[tuple[TcpState, tuple[Literal["client", "server"], str, int]]]:
        """Each state with its end, the client's station and the client's port.

        Behind an address translator a server sees the router's address: the station is whose client has that port
        there, if it is one alone: a translator keeps ports where it can (RFC 4787, section 4.2.1).
        """
        states = [state for answer in answers for state in tcp_states(answer) if state.local[0] != state.remote[0]]
        clients: dict[tuple[tuple[str, int], int], set[str]] = {}
        for state in states:
            (here, port), (there, other) = state.local, state.remote
            if here in self._stations and self._serves(there, other):
                clients.setdefault((state.remote, port), set()).add(self._stations[here])
                yield state, ("client", self._stations[here], port)
        for state in states:
            (here, port), (there, other) = state.local, state.remote
            if not self._serves(here, port) or (here in self._stations and self._serves(there, other)):
                continue
            known = {self._stations[there]} if there in self._stations else clients.get((state.local, other), set())
            if len(known) == 1:
                yield state, ("server", next(iter(known)), other)

    def _serves(self, address: str, port: int) -> bool:
        return address in self._servers or (address, port) in self._services


def _record(state: TcpState, end: Literal["client", "server"], station: str, port: int) -> ConnectionEnd:
    return ConnectionEnd(
        end=end,
        station=station,
        port=port,
        rtt_s=state.rtt_s,
        min_rtt_s=state.min_rtt_s,
        rto_s=state.rto_s,
        cwnd=state.cwnd,
        ssthresh=state.ssthresh,
        congestion_control=state.congestion_control,
    )


@contextmanager
def watched(network: Network, services: Collection[tuple[str, int]]) -> Iterator[Connections]:
    """Have a network's connections ready to be asked for.  services: address and port of each."""
    with ExitStack() as opened:
        asked = {}
        for node in network.nodes:
            asked[node.name] = in_namespace(node.pid, SockDiag)
            opened.callback(asked[node.name].close)
        yield Connections(network, asked, services)
