from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.kernel.namespace import KernelError
from emulation.link.capture import SETTLE_S, Tap, captured, kernel_buffer_kib
from emulation.proof.probe import MIN_FRAME, probe_path
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root]

NANOSECOND_MAGIC = 0xA1B23C4D


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=1, congestion_control="reno") as built:
        yield built


def test_every_packet_is_on_every_port_with_nanoseconds_and_nothing_dropped(network: Network, tmp_path: Path) -> None:
    ports = network.ports
    station, server = network.stations[0], network.servers[0]
    taps = [Tap(pid=ports.pid, port=port) for port in (ports.wired, ports.stations["sta1"])]
    taps += [Tap(pid=node.pid, port=node.interface) for node in network.nodes]
    for _ in range(5):  # a tcpdump that is stalled until it is ended has not seen all
        with (
            captured(taps, tmp_path, logs=tmp_path, snap_bytes=64) as captures,
            probe_path(from_pid=station.pid, to_pid=server.pid, to_address=server.address) as path,
        ):
            path.wait(0.2)
            path.send([MIN_FRAME] * 500)
            time.sleep(SETTLE_S)
        if all(capture.packets == 500 for capture in captures):
            break
    assert [capture.port for capture in captures] == ["wired", "port-sta1", "server-eth", "sta1-eth"]
    for capture in captures:
        assert (capture.packets, capture.dropped) == (500, 0)
        data = capture.path.read_bytes()
        assert struct.unpack_from("<I", data) == (NANOSECOND_MAGIC,)
        assert struct.unpack_from("<I", data, 16) == (64,)
        assert len(data) == 24 + 500 * (16 + MIN_FRAME)


def test_tcpdump_has_no_file_of_ours_but_its_capture(network: Network, tmp_path: Path) -> None:
    """Where AppArmor confines it, a log that it inherits is taken from it, and it is never heard to listen."""
    taps = [Tap(pid=network.ports.pid, port=port) for port in (network.ports.wired, network.ports.stations["sta1"])]
    with captured(taps, tmp_path, logs=tmp_path, snap_bytes=64) as captures:
        for capture in captures:
            opened = Path(f"/proc/{capture.process.pid}/fd")
            names = {os.readlink(one) for one in opened.iterdir()}
            files = {name for name in names if name.startswith("/") and not name.startswith("/dev/")}
            assert files == {str(capture.path)}
            assert capture.path.suffix == ".pcap"
    for capture in captures:
        assert "packets dropped by kernel" in (tmp_path / f"tcpdump-{capture.port}.log").read_text()


def test_a_port_that_is_not_there_is_named(network: Network, tmp_path: Path) -> None:
    with (
        pytest.raises(KernelError, match=r"capturing on nowhere: .*nowhere"),
        captured([Tap(pid=network.ports.pid, port="nowhere")], tmp_path, logs=tmp_path, snap_bytes=64),
    ):
        pass


@pytest.mark.parametrize(
    ("taps", "rate", "kib"),
    [
        (2, None, 32768),
        (2, 100e6, 32768),
        (2, 11e6, 12890),  # 4 s of 11 Mbit/s are 5.5 MB, and 2.4 times that in frames of 60 bytes
        (2, 1e6, 8192),  # a node may hand over more at once than its link takes
        (24, None, 10922),
        (64, 11e6, 4096),
    ],
)
def test_what_the_kernel_keeps_for_tcpdump_is_what_passes_in_four_seconds(
    taps: int, rate: float | None, kib: int
) -> None:
    assert kernel_buffer_kib(taps, rate) == kib
