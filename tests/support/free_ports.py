"""Ports on loopback that nobody has."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Ports of nobody; the kernel does not give them out again at once."""
    probes = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in probes]
    for one in probes:
        one.close()
    return ports
