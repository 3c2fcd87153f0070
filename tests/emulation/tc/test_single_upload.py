"""One upload fills the queue of its link as one download does; and what is copied for that is counted once.

A packet that waits in the uplink's queue, and is charged to the socket that sent it, holds TCP back (see
emulation.kernel.filters): on this link an upload then kept a third of the queue waiting.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from emulated_links import link, path

from emulation.kernel.namespace import in_namespace, run_tool
from emulation.proof.probe import MIN_FRAME
from emulation.tc.shaper import AppliedLink
from records.directions import DIRECTIONS, Direction
from topologies.network import Network, Node
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

QUEUE_PACKETS, PORT = 300, 7100
FILLED_BYTES = 0.9 * QUEUE_PACKETS * 1514
SECONDS, PERIOD_S = 5.0, 0.01


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def bulk(source: Node, target: Node, made: AppliedLink, queue: str) -> int:
    """The most bytes that wait in a queue while one connection sends as much as TCP lets it; no more are waited for."""
    with in_namespace(target.pid, lambda: socket.create_server((target.address, PORT))) as server:
        sender = in_namespace(source.pid, partial(socket.create_connection, (target.address, PORT), 10))
        receiver, _ = server.accept()
    done = threading.Event()
    with sender, receiver:
        threads = [
            threading.Thread(target=_send, args=(sender, done)),
            threading.Thread(target=_receive, args=(receiver,)),
        ]
        for thread in threads:
            thread.start()
        most, ends = 0, time.monotonic() + SECONDS
        while most <= FILLED_BYTES and time.monotonic() < ends:
            most = max(most, *(one.backlog_bytes for one in made.queue_counts() if one.name == queue))
            time.sleep(PERIOD_S)
        done.set()
        sender.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
    return most


def _send(sender: socket.socket, done: threading.Event) -> None:
    try:
        while not done.is_set():
            sender.sendall(bytes(1 << 16))
    except OSError:
        assert done.is_set(), "the connection broke"


def _receive(receiver: socket.socket) -> None:
    while receiver.recv(1 << 16):
        pass


def test_one_upload_fills_its_queue_as_one_download_does(network: Network) -> None:
    station, server = network.node("sta1"), network.servers[0]
    ends: dict[Direction, tuple[Node, Node]] = {"uplink": (station, server), "downlink": (server, station)}
    most = {}
    for direction, (source, target) in ends.items():
        with link(network, rate=1e7, queue_packets=QUEUE_PACKETS) as made:
            most[direction] = bulk(source, target, made, f"{direction}-0")
    assert min(most.values()) > FILLED_BYTES, most


@pytest.mark.parametrize("medium", ["shared", "duplex"])
def test_a_packet_that_is_copied_crosses_and_is_counted_once(network: Network, medium: str) -> None:
    with link(network, rate=1e7, medium=medium) as made:
        for direction in DIRECTIONS:
            with path(network, direction) as probe:
                probe.wait(0.3, in_order=False)
                assert probe.send([MIN_FRAME] * 200, spacing_s=0.001).number.tolist() == list(range(200))
        counts = {one.name: one for one in made.queue_counts()}
        seen = {one.direction: one.seen for one in made.loss_counts()}
        devices = run_tool(["ip", "-o", "link"], pid=network.ports.pid)
    queues = {"air": 400} if medium == "shared" else {"uplink-0": 200, "downlink-0": 200}
    queues |= {} if medium == "shared" else {"uplink-1": 0, "downlink-1": 0}
    assert {name: one.packets for name, one in counts.items()} == queues, "the sink is none of the link's queues"
    assert all(one.dropped == 0 for one in counts.values())
    assert seen == {"uplink": 200, "downlink": 200}
    assert ": sink: " in devices
    assert ": sink: " not in run_tool(["ip", "-o", "link"], pid=network.ports.pid)
