"""What recording costs by how much of each packet is kept: processor time and disk.

    python benchmarks/capture_cost.py [--mbytes N] [--rounds N]

Sends TCP over a bare star while both ports of the access point are recorded, with the snap lengths in turn.  The
processor time is that of sender, receiver and recorders together, so what the kernel copies is in it.
"""

from __future__ import annotations

import argparse
import resource
import socket
import tempfile
import threading
import time
from pathlib import Path

from analysis.statistics import estimate
from emulation.kernel.namespace import in_namespace
from emulation.link.capture import SETTLE_S, Tap, captured
from experiments.trial.capturing import FAST_SNAP_BYTES, WHOLE
from topologies.network import Network
from topologies.star import star

SNAPS = (0, 96, FAST_SNAP_BYTES, WHOLE)  # 0: nothing is recorded
PORT, BLOCK = 7401, 1 << 16


def _cpu_s() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(kind).ru_utime + resource.getrusage(kind).ru_stime for kind in kinds)


def _transfer(network: Network, size: int) -> None:
    """Send `size` bytes from the station to the server."""
    server, station = network.servers[0], network.stations[0]
    listener = in_namespace(server.pid, lambda: socket.create_server((server.address, PORT)))
    sender = in_namespace(station.pid, lambda: socket.create_connection((server.address, PORT)))
    receiver, _ = listener.accept()

    def send() -> None:
        block = bytes(BLOCK)
        for _ in range(size // BLOCK):
            sender.sendall(block)
        sender.close()

    thread = threading.Thread(target=send)
    thread.start()
    while receiver.recv(BLOCK):
        pass
    thread.join()
    receiver.close()
    listener.close()


def once(network: Network, snap: int, size: int) -> tuple[float, int, int, int]:
    """CPU-seconds, bytes on disk, packets, packets not recorded."""
    before = _cpu_s()
    taps = [Tap(pid=network.ports.pid, port=port) for port in ("wired", "port-sta1")] if snap else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with captured(taps, folder, logs=folder, snap_bytes=snap) as captures:
            _transfer(network, size)
            time.sleep(SETTLE_S if snap else 0)
        disk = sum(one.path.stat().st_size for one in captures)
        packets = sum(one.packets or 0 for one in captures)
    return _cpu_s() - before, disk, packets, sum(one.dropped or 0 for one in captures)


def main() -> None:
    """Measure, snap lengths in turn, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mbytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    size = arguments.mbytes << 20
    found: dict[int, list[tuple[float, int, int, int]]] = {snap: [] for snap in SNAPS}
    with star(stations=1, congestion_control="reno") as network:
        for _ in range(arguments.rounds):
            for snap in SNAPS:
                found[snap].append(once(network, snap, size))
    print(f"{arguments.mbytes} MiB, {arguments.rounds} rounds; CPU-seconds of sender, receiver and recorders")
    for snap, some in found.items():
        cpu = estimate([one[0] for one in some], "positive")
        if cpu is not None:
            disk, packets, dropped = (sum(one[number] for one in some) for number in (1, 2, 3))
            print(
                f"snap {snap or 'none':>6}: {cpu.mean:6.3f} s [{cpu.low or 0:.3f}, {cpu.high or 0:.3f}], "
                f"{packets // len(some)} packets, {disk / max(packets, 1):.1f} B each on disk, {dropped} not recorded"
            )


if __name__ == "__main__":
    main()
