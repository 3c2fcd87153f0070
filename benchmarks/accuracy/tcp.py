"""Two greedy TCP flows at once, up and down, and what each delivered."""

from __future__ import annotations

import socket
import threading
import time

from accuracy.bench import together
from emulation.namespace import in_namespace
from topologies.network import Network, Node

_PORT = 7010
_CHUNK = bytes(1 << 16)


def two_flows(network: Network, *, seconds: float) -> tuple[float, float]:
    """Bit/s of payload that an uplink and a downlink flow between a station and the server delivered."""
    station, server = network.stations[0], network.servers[0]
    received = [0, 0]
    ends = [_connected(station, server, _PORT), _connected(server, station, _PORT + 1)]
    stop = threading.Event()

    def send(end: socket.socket) -> None:
        end.settimeout(0.2)
        while not stop.is_set():
            try:
                end.send(_CHUNK)
            except TimeoutError:
                continue

    def receive(place: int, end: socket.socket) -> None:
        end.settimeout(0.2)
        warm = time.monotonic() + 1
        while not stop.is_set():
            try:
                got = len(end.recv(1 << 16))
            except TimeoutError:
                continue
            if time.monotonic() > warm:
                received[place] += got

    jobs = [lambda end=sender: send(end) for sender, _ in ends]
    jobs += [lambda place=place, end=receiver: receive(place, end) for place, (_, receiver) in enumerate(ends)]
    timer = threading.Timer(seconds + 1, stop.set)
    timer.start()
    together(jobs)
    for pair in ends:
        for end in pair:
            end.close()
    return received[0] * 8 / seconds, received[1] * 8 / seconds


def _connected(source: Node, target: Node, port: int) -> tuple[socket.socket, socket.socket]:
    listener = in_namespace(target.pid, lambda: socket.create_server((target.address, port)))
    with listener:
        sender = in_namespace(source.pid, lambda: socket.create_connection((target.address, port), timeout=10))
        receiver, _ = listener.accept()
    return sender, receiver
