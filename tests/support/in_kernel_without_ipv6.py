"""What test_without_ipv6.py does in a kernel that was booted with ipv6.disable=1; prints what came of it as JSON."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path

import playbook_modules

from emulation.kernel import ipv6
from emulation.proof.probe import MIN_FRAME, probe_path
from topologies.star import star


def has_ipv6() -> bool:
    """Whether this kernel makes sockets of IPv6."""
    try:
        socket.socket(socket.AF_INET6).close()
    except OSError as error:
        return error.errno != errno.EAFNOSUPPORT
    return True


def crossed() -> int:
    """Packets that reach the server, of three that a station sends."""
    with star(stations=1, congestion_control="reno") as network:
        (server,), (station,) = network.servers, network.stations
        with probe_path(from_pid=station.pid, to_pid=server.pid, to_address=server.address) as path:
            path.wait(0.5)
            return len(path.send([MIN_FRAME] * 3).number)


def holder() -> str:
    """Who the deploying module says has a port that this process listens on."""
    module = playbook_modules.load("service_process")
    with socket.create_server(("127.0.0.1", 0)) as server:
        told: str = module.holder(server.getsockname()[1])
    return told


if __name__ == "__main__":
    ipv6.turn_off()
    print(
        json.dumps(
            {
                "settings": Path("/proc/sys/net/ipv6").exists(),
                "sockets": has_ipv6(),
                "crossed": crossed(),
                "holder": holder().startswith(f"process {os.getpid()}:"),
            }
        )
    )
