"""What is asked of connections before go, and at the window's start; over this machine's loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from emulation.kernel.sockdiag import SockDiag, TcpState
from experiments.trial.observers import connections as module
from experiments.trial.observers.connections import Connections
from topologies.kinds.chain import Chain
from topologies.kinds.star import Star
from topologies.network import Network, Node
from topologies.plan import TopologyPlan

STATIONS, SERVER, ELSEWHERE = {"sta1": "127.7.0.2", "sta2": "127.7.0.3"}, "127.7.0.1", "127.7.0.9"


def node(name: str, address: str) -> Node:
    return Node(name=name, role="server" if name == "server" else "station", pid=0, address=address, interfaces=())


@pytest.fixture
def connections() -> Iterator[Connections]:
    """Of two stations and a server which all live here."""
    nodes = (node("server", SERVER), *(node(name, address) for name, address in STATIONS.items()))
    plan = Star().plan(stations=2, network="nistnet-80211")
    diag = SockDiag()
    yield Connections(Network(plan=plan, nodes=nodes, segments={}), {"here": diag})
    diag.close()


def test_clients_that_speak_to_each_other_are_known_by_where_they_listen() -> None:
    nodes = tuple(node(name, address) for name, address in STATIONS.items())
    diag = SockDiag()
    with socket.create_server((STATIONS["sta2"], 0)) as listener:
        client, server = connected(listener, STATIONS["sta1"])
        network = Network(plan=TopologyPlan(hosts=(), segments=()), nodes=nodes, segments={})
        with client, server:
            found = Connections(network, {"here": diag}, [listener.getsockname()])
            assert [(one.end, one.station) for one in found.ends(found.read())] == [
                ("client", "sta1"), ("server", "sta1"),
            ]  # fmt: skip
            fill(client)
            assert found.under_way() > 0
    diag.close()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((SERVER, 0)) as found:
        yield found


def connected(listener: socket.socket, source: str) -> tuple[socket.socket, socket.socket]:
    client = socket.create_connection(listener.getsockname(), source_address=(source, 0))
    server, _ = listener.accept()
    return client, server


def fill(client: socket.socket) -> None:
    """Send until neither end has room."""
    client.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            client.send(bytes(1 << 16))


def test_both_ends_are_known_by_the_client_s_station_and_port(
    connections: Connections, listener: socket.socket
) -> None:
    pairs = [connected(listener, address) for address in (*STATIONS.values(), ELSEWHERE)]
    try:
        found = connections.ends(connections.read())
        ports = [client.getsockname()[1] for client, _ in pairs]
        assert [(one.end, one.station, one.port) for one in found] == [
            ("client", "sta1", ports[0]),
            ("client", "sta2", ports[1]),
            ("server", "sta1", ports[0]),
            ("server", "sta2", ports[1]),
        ]
    finally:
        for one in (end for pair in pairs for end in pair):
            one.close()


def test_what_is_under_way_is_told_of_stations_and_not_of_who_is_silent(
    connections: Connections, listener: socket.socket
) -> None:
    client, server = connected(listener, STATIONS["sta1"])
    with client, server:
        fill(client)
        assert connections.under_way(["sta1"]) > 0
        assert connections.under_way(["sta2"]) == 0
        assert connections.under_way(["sta1"], silent=["sta2"]) > 0
        assert connections.under_way(["sta1"], silent=["sta1"]) == connections.under_way(silent=["server"]) == 0


def test_behind_a_silent_router_nobody_knows_what_is_under_way(listener: socket.socket) -> None:
    nodes = (node("server", SERVER), *(node(name, address) for name, address in STATIONS.items()))
    plan = Chain(routers=1, link="wireline-10m").plan(stations=2, network="nistnet-80211")
    diag = SockDiag()
    client, server = connected(listener, STATIONS["sta1"])
    with client, server:
        fill(client)
        router = Node(name="r1", role="router", pid=0, address="127.7.0.8", interfaces=())
        found = Connections(Network(plan=plan, nodes=(*nodes, router), segments={}), {"here": diag})
        assert found.under_way() > 0
        assert found.under_way(silent=["r1"]) == 0
    diag.close()


def test_it_is_quiet_when_all_is_acknowledged_and_not_before(connections: Connections, listener: socket.socket) -> None:
    client, server = connected(listener, STATIONS["sta1"])
    with client, server:
        assert asyncio.run(connections.quiet(limit_s=20))
        fill(client)
        assert connections.under_way() > 0
        assert not asyncio.run(connections.quiet(limit_s=0.2))

        async def read_all() -> bool:
            waiting = asyncio.ensure_future(connections.quiet(limit_s=20))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            server.setblocking(False)
            while not waiting.done():
                with suppress(BlockingIOError):
                    server.recv(1 << 20)
                await asyncio.sleep(0.001)
            return waiting.result()

        assert asyncio.run(read_all())


def test_what_is_under_way_between_others_is_not_waited_for(connections: Connections, listener: socket.socket) -> None:
    client, server = connected(listener, ELSEWHERE)
    with client, server:
        fill(client)
        assert asyncio.run(connections.quiet(limit_s=20))


def test_behind_a_translator_a_server_has_bytes_under_way_to_the_station_whose_client_has_that_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = (node("server", SERVER), *(node(name, address) for name, address in STATIONS.items()))
    router, service = "127.7.0.8", (SERVER, 61613)

    def state(local: tuple[str, int], remote: tuple[str, int], unacked: int) -> TcpState:
        return TcpState(local=local, remote=remote, rtt_s=None, min_rtt_s=None, rto_s=1, cwnd=10, ssthresh=None,
                        congestion_control="cubic", unacked_bytes=unacked)  # fmt: skip

    states = [
        state(service, (router, 40001), 5000),
        state((STATIONS["sta1"], 40001), service, 0),
        state((STATIONS["sta2"], 40002), service, 0),
        state(service, (router, 40003), 70),  # of nobody who is known
        *(state((address, 40004), service, 0) for address in STATIONS.values()),
        state(service, (router, 40004), 700),  # of either
    ]
    monkeypatch.setattr(module, "tcp_states", lambda _: states)
    diag = SockDiag()
    plan = Star().plan(stations=2, network="nistnet-80211")
    found = Connections(Network(plan=plan, nodes=nodes, segments={}), {"here": diag}, [service])
    assert [(one.end, one.station) for one in found.ends([b""])] == [
        ("client", "sta1"), ("client", "sta1"), ("client", "sta2"), ("client", "sta2"), ("server", "sta1"),
    ]  # fmt: skip
    assert (found.under_way(), found.under_way(["sta1"]), found.under_way(["sta2"])) == (5000, 5000, 0)
    assert found.under_way(silent=["sta1"]) == 0
    diag.close()
