"""The capture reader against dpkt, tshark and scapy: the same file, the same run, CPU time.

    python benchmarks/capture_reader.py [--packets N] [--large-packets N] [--repeat N] [--scapy-packets N] [--plain]

Makes a seeded capture of packets of some 800 bytes as Linux sends them (Ethernet, IPv4, TCP with timestamps;
--plain: without, which scapy reads faster) and reads times, addresses, ports, seq, ack and payload lengths of it:
this reader, and others as people use them.
  scan             offsets of all records, pages of the file mapped already
  scan + columns   read_capture: the file opened and mapped, offsets, every column of `Packets`
  dpkt             dpkt.pcap.Reader, dpkt.ethernet.Ethernet, the same 8 fields
  tshark           tshark -n -T fields with the same 8 fields, CPU time of the process
  scapy            scapy.utils.PcapReader, full dissection, the same 8 fields, of the first packets only
Memory is the peak of a process that reads the large file, less what it had before, over the file's size.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from common.records import record  # noqa: E402

from analysis.capture.ranges import index  # noqa: E402
from analysis.capture.reader import read_capture, read_range  # noqa: E402
from analysis.capture.source import find, load, read_start  # noqa: E402

_FIELDS = ("frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw",
           "tcp.len")  # fmt: skip
_PLAIN = record(("sums", "V4"))
_STAMPED = record(("sums", "V4"), ("nops", ">u2"), ("timestamps", ">u2"), ("now", ">u4"), ("echo", ">u4"))
_T0_NS = 1_700_000_000 * 10**9
_SIZES = (0, 400, 1148, 1448)  # payloads, equally often: records of 831 bytes in the mean


def make(path: Path, packets: int, *, seed: int, kind: np.dtype[np.void]) -> None:
    """Write a nanosecond pcap file of so many packets with random payloads."""
    random = np.random.default_rng(seed)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
        for start in range(0, packets, 10_000):
            file.write(_records(random, np.arange(start, min(start + 10_000, packets)), kind))


def _records(random: np.random.Generator, number: np.ndarray, kind: np.dtype[np.void]) -> bytes:
    sizes = random.choice(_SIZES, len(number))
    head = np.zeros(len(number), dtype=kind)
    frame = kind.itemsize - 16  # less the record's own header
    t_ns = _T0_NS + number * 10_000
    head["second"], head["fraction"] = t_ns // 10**9, t_ns % 10**9
    head["kept"] = head["wire"] = sizes + frame
    head["ethertype"], head["version"], head["ttl"], head["protocol"] = 0x0800, 0x45, 64, 6
    head["length"] = sizes + frame - 14
    head["src"], head["dst"] = 0x0A000001 + number % 50, 0x0A000100
    head["sport"], head["dport"] = 40_000 + number % 1000, 61_613
    head["seq"], head["ack"], head["id"] = number * 1000 % 2**32, 1, number % 65536
    head["offset"], head["flags"], head["window"] = (frame - 34) << 2, 0x10, 500
    if kind is _STAMPED:
        head["nops"], head["timestamps"], head["now"], head["echo"] = 0x0101, 0x080A, number, number
    places = np.concatenate([[0], np.cumsum(sizes + kind.itemsize)])
    data = random.integers(0, 256, places[-1], dtype=np.uint8)
    data[places[:-1, None] + np.arange(kind.itemsize)] = head.view(np.uint8).reshape(len(number), -1)
    return data.tobytes()


def best(work: Callable[[], int], repeat: int) -> float:
    """Packets per CPU-second of the fastest of some runs."""
    rates = []
    for _ in range(repeat):
        began = time.process_time()
        packets = work()
        rates.append(packets / (time.process_time() - began))
    return max(rates)


def scan_rate(path: Path, repeat: int) -> float:
    """Offsets alone."""
    begin = read_start(path)
    with path.open("rb") as file:
        data = load(file, start=0, end=path.stat().st_size)
    int(data[::512].sum())  # the pages are mapped now
    return best(lambda: len(find(data, start=begin.at, state=begin.state, base=0).stretches[0].offsets), repeat)


def dpkt_rate(path: Path, repeat: int) -> float | None:
    """None when dpkt is not installed."""
    try:
        import dpkt  # noqa: PLC0415
    except ImportError:
        print("dpkt is not installed: pip install dpkt, to compare with it", file=sys.stderr)
        return None

    def work() -> int:
        rows = []
        with path.open("rb") as file:
            for t, data in dpkt.pcap.Reader(file):
                ip = dpkt.ethernet.Ethernet(data).data
                tcp = ip.data
                rows.append((t, ip.src, ip.dst, tcp.sport, tcp.dport, tcp.seq, tcp.ack, len(tcp.data)))
        return len(rows)

    return best(work, repeat)


def tshark_rate(path: Path, repeat: int) -> float:
    """CPU time of the child, its output read and thrown away."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *(part for field in _FIELDS for part in ("-e", field))]
    rates = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        rates.append(done.stdout.count(b"\n") / used)
    return max(rates)


def scapy_rate(path: Path, packets: int, repeat: int) -> float:
    """Full dissection of the first packets: a rate needs no more of them."""
    from scapy.layers.inet import IP, TCP  # noqa: PLC0415
    from scapy.layers.l2 import Ether  # noqa: F401, PLC0415
    from scapy.utils import PcapReader  # noqa: PLC0415

    def work() -> int:
        rows = []
        with PcapReader(str(path)) as reader:
            for packet in reader:
                ip, tcp = packet[IP], packet[TCP]
                rows.append((packet.time, ip.src, ip.dst, tcp.sport, tcp.dport, tcp.seq, tcp.ack, len(tcp.payload)))
                if len(rows) == packets:
                    break
        return len(rows)

    return best(work, repeat)


def peak_bytes(path: Path, ranges: bool) -> int:
    """Peak memory that reading adds to a fresh process: of the file whole, or of its largest range."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_read_and_measure, (path, ranges))


def _read_and_measure(path: Path, ranges: bool) -> int:
    before = _high_water_bytes()
    if ranges:
        for piece in index(path).ranges:
            read_range(path, piece)
    else:
        read_capture(path)
    return _high_water_bytes() - before


def _high_water_bytes() -> int:
    """Most memory this program had at once, mapped files included (proc(5)); getrusage's figure is inherited."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--large-packets", type=int, default=370_000, help="of the file for memory, some 300 MB")
    parser.add_argument("--scapy-packets", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--plain", action="store_true", help="TCP headers without options")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, large = Path(folder) / "small.pcap", Path(folder) / "large.pcap"
        kind = _PLAIN if asked.plain else _STAMPED
        make(path, asked.packets, seed=1, kind=kind)
        make(large, asked.large_packets, seed=2, kind=kind)
        few = min(asked.repeat, 3)  # the others take long; against them we run as often as they
        ours = best(lambda: read_capture(path).records, few)
        print(f"{asked.packets} packets, {path.stat().st_size / 1e6:.0f} MB; {asked.large_packets} packets, "
              f"{large.stat().st_size / 1e6:.0f} MB; CPU time, best of {asked.repeat}")  # fmt: skip
        for name, file in (("", path), (", large file", large)):
            print(f"{'scan' + name:28}{scan_rate(file, asked.repeat) / 1e6:10.2f} Mpkt/s   target 9")
            rate = best(lambda file=file: read_capture(file).records, asked.repeat)
            print(f"{'scan + columns' + name:28}{rate / 1e6:10.2f} Mpkt/s   target 2.5")
        others = [
            ("dpkt", dpkt_rate(path, few), 25),
            ("tshark, 8 fields", tshark_rate(path, few), 100),
            ("scapy, full dissection", scapy_rate(path, asked.scapy_packets, few), 700),
        ]
        for name, rate, target in others:
            if rate is not None:
                print(f"{name:28}{rate / 1e3:10.1f} kpkt/s   we are {ours / rate:.0f} times as fast, target {target}")
        size = large.stat().st_size
        print(f"{'memory, whole file':28}{peak_bytes(large, False) / size:10.2f} of the file   target 3")
        print(f"{'memory, ranges of 64 MB':28}{peak_bytes(large, True) / (64 << 20):10.2f} of a range   target 3")


if __name__ == "__main__":
    main()
