"""Greedy TCP flows at the same time, and what each delivered."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from accuracy.bench import together
from emulation.kernel.namespace import in_namespace
from topologies.network import Node

PORT = 7100
_CHUNK = bytes(1 << 16)


@dataclass(slots=True)
class Flow:
    """A greedy flow.  seen: moments (s) and the bytes that had arrived by then."""

    source: Node
    target: Node
    port: int
    seen: list[tuple[float, int]] = field(default_factory=list)

    def goodput(self, since: float) -> float:
        """Bit/s that arrived from a moment on, from one reading to the last one."""
        times, got = np.array(self.seen).T
        first = int(np.searchsorted(times, since))
        return float((got[-1] - got[first]) * 8 / (times[-1] - times[first])) if len(times) > first + 1 else 0.0


def run(flows: Sequence[Flow], *, warm_s: float, seconds: float) -> list[float]:
    """What each of the flows delivers at the same time (bit/s of payload), after warming up."""
    stop = threading.Event()

    def send(end: socket.socket) -> None:
        end.settimeout(0.2)
        while not stop.is_set():
            try:
                end.send(_CHUNK)
            except TimeoutError:
                continue

    def receive(flow: Flow, end: socket.socket) -> None:
        end.settimeout(0.2)
        total = 0
        while not stop.is_set():
            try:
                total += len(end.recv(1 << 17))
            except TimeoutError:
                continue
            flow.seen.append((time.monotonic(), total))

    with ExitStack() as stack:
        ends = [_connected(flow, stack) for flow in flows]
        jobs: list[Callable[[], None]] = [lambda end=sender: send(end) for sender, _ in ends]
        jobs += [lambda flow=flow, end=end: receive(flow, end) for flow, (_, end) in zip(flows, ends, strict=True)]
        since = time.monotonic() + warm_s
        timer = threading.Timer(warm_s + seconds, stop.set)
        timer.start()
        together(jobs)
    return [flow.goodput(since) for flow in flows]


def _connected(flow: Flow, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    source, target = flow.source, flow.target
    with in_namespace(target.pid, lambda: socket.create_server((target.address, flow.port))) as listener:
        sender = in_namespace(source.pid, lambda: socket.create_connection((target.address, flow.port), timeout=10))
        stack.enter_context(sender)
        receiver = stack.enter_context(listener.accept()[0])
    return sender, receiver
