"""CPU-seconds of a report: driver, Java and Python workers together.

    python benchmarks/report_cost.py [CAMPAIGN] [--packets N] [--repeat N] [--no-archive]

Without a campaign, one of the size of the default experiment is made: 24 trials, on the wire two captures
of N packets and some 130,000 deliveries each.  Its packets hold no messages, so journeys are added before drawing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from common.cpu import counted  # noqa: E402
from common.records import record  # noqa: E402
from journeys import travelled  # noqa: E402
from pcap_files import pcap  # noqa: E402
from synthetic_campaign import END, GO, OFFSET, Spec, write_campaign  # noqa: E402

from analysis.details import Reduced  # noqa: E402
from analysis.report.build import found, write  # noqa: E402
from analysis.spark.jobs import reduce_trials  # noqa: E402
from analysis.spark.session import session  # noqa: E402

_SNAP, _STREAMS, _PAYLOAD = 128, 11, 1200
_RECORD = record(("rest", f"V{_SNAP - 14 - 20 - 16}"))


def capture(packets: int, *, uplink: bool) -> bytes:
    """Data packets of 11 streams, each followed by its acknowledgement; one packet in 500 is sent twice."""
    count = packets // 2
    stream, turn = np.arange(count) % _STREAMS, np.arange(count) // _STREAMS
    turn = np.where(turn % 500 == 499, turn - 1, turn)
    t_ns = OFFSET + GO + np.linspace(0, END - GO, count).astype(np.int64)
    rows = np.zeros(2 * count, dtype=_RECORD)
    for start, answer in ((0, False), (1, True)):
        part = rows[start::2]
        times = t_ns + (150_000 if answer else 0)
        part["second"], part["fraction"] = times // 10**9, times % 10**9
        payload = 0 if answer else _PAYLOAD
        part["kept"], part["wire"], part["length"] = _SNAP, max(54 + payload, _SNAP), 40 + payload
        forward = uplink != answer
        part["src"], part["dst"] = (0x0A000001, 0x0A000002) if forward else (0x0A000002, 0x0A000001)
        part["sport"] = 40000 + stream if forward else 61613
        part["dport"] = 61613 if forward else 40000 + stream
        part["seq"] = 0 if answer else turn * _PAYLOAD
        part["ack"] = (turn + 1) * _PAYLOAD if answer else 0
        part["window"] = turn % 60000 + 1
    rows["ethertype"], rows["version"], rows["ttl"], rows["protocol"] = 0x0800, 0x45, 64, 6
    rows["offset"], rows["flags"] = 0x50, 0x10
    order = np.argsort(rows["second"].astype(np.int64) * 10**9 + rows["fraction"], kind="stable")
    return pcap([], snap=_SNAP) + rows[order].tobytes()


def make(root: Path, packets: int) -> Path:
    """A campaign of the size of the default experiment."""
    sizes = {"wireline-100m": packets, "nistnet-80211": min(packets, 6000)}
    made = {
        network: [
            ("sta1", "station", capture(count, uplink=True), count // 2 * 2),
            ("srv", "wired", capture(count, uplink=False), count // 2 * 2),
        ]
        for network, count in sizes.items()
    }
    return write_campaign(root, Spec(speed=15.0, consumers=10, captures=lambda network: made[network]))


def measure(campaign: Path, *, archive: bool, made: bool) -> dict[str, float]:
    """CPU-seconds of one report by part, its wall time, and the sizes of its pages."""
    began = time.perf_counter()
    with counted() as reducing, session(jvm=None if archive else ()) as spark:
        findings = found(campaign, lambda paths: Reduced(rows=reduce_trials(spark, paths)))
    reduced = time.perf_counter()
    with counted() as writing:
        report = write(travelled(findings, campaign) if made else findings)
    return {
        "driver, reducing": reducing.driver,
        "Java": reducing.java,
        "Python workers": reducing.workers,
        "driver, drawing and writing": writing.driver,
        "total": reducing.total + writing.total,
        "wall, reducing": reduced - began,
        "wall": time.perf_counter() - began,
        "report.html, MB": report.stat().st_size / 1e6,
        "pages of trials, MB": sum(page.stat().st_size for page in (campaign / "trials").iterdir()) / 1e6,
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", nargs="?", type=Path)
    parser.add_argument("--packets", type=int, default=150_000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--no-archive", action="store_true", help="start Java without its class archive")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = asked.campaign or make(Path(folder), asked.packets)
        runs = [
            measure(campaign, archive=not asked.no_archive, made=asked.campaign is None) for _ in range(asked.repeat)
        ]
    for name in runs[0]:
        print(f"{name:30}" + "".join(f"{run[name]:8.2f}" for run in runs) + ("" if "MB" in name else " s"))


if __name__ == "__main__":
    main()
