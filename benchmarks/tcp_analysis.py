"""TCP analysis: packets per second and core, and how far it agrees with tshark.

    python benchmarks/tcp_analysis.py [--packets N] [--connections N] [--loss SHARE] [--repeat N] [--no-lossy]

Speed is CPU time on a generated capture; what was lost in it is known, and the counts must be that.  Agreement is
on a transfer through a real lossy link (two network namespaces, so it needs root).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

from common.lossy import write_lossy_capture  # noqa: E402
from lossy_link import Link, capture_lossy_transfer  # noqa: E402
from tshark_oracle import NAMES, ours, tshark  # noqa: E402

from analysis.capture.reader import read_capture  # noqa: E402
from analysis.tcp.analysis import analyse  # noqa: E402
from analysis.tcp.flows import flow_table  # noqa: E402

_EVER = {"start_ns": 0, "end_ns": 2**62}


def speed(path: Path, *, repeated: int, repeat: int) -> list[tuple[str, str]]:
    """The best of some runs, and what the flow table adds up to."""
    packets = read_capture(path).packets
    best = {"analysis": float("inf"), "flow table": float("inf")}
    for _ in range(repeat):
        began = time.process_time()
        analysis = analyse(packets)
        between = time.process_time()
        table = flow_table(analysis, **_EVER).columns
        best["analysis"] = min(best["analysis"], between - began)
        best["flow table"] = min(best["flow table"], time.process_time() - between)
    found = int(table["retr_or_ooo"].sum())
    if found != repeated:
        raise SystemExit(f"{found} packets were found to be sent again or overtaken, {repeated} were made so")
    total = sum(best.values())
    counted = ("retransmissions", "out_of_order", "duplicate_acks", "rtt_samples", "rtt_any_samples", "recoveries")
    return [
        ("packets, directed flows", f"{len(packets):,} of {packets.wire.mean():.0f} B, {len(analysis.flows.key):,}"),
        *((f"CPU, {name}", f"{seconds:.2f} s") for name, seconds in best.items()),
        ("speed", f"{len(packets) / total / 1e6:.2f} Mpkt/s and core"),
        *((name.replace("_", " "), f"{int(table[name].sum()):,}") for name in counted),
    ]


def agreement(path: Path) -> list[tuple[str, str]]:
    """Frames of each kind: tshark's, ours, and in how many the two differ."""
    theirs = tshark(path)
    mine = ours(analyse(read_capture(path).packets), theirs)
    shared = mine.rtt_s.keys() & theirs.rtt_s.keys()
    far = sum(abs(mine.rtt_s[frame] - theirs.rtt_s[frame]) >= 2e-6 for frame in shared)
    differ = len(mine.rtt_s.keys() ^ theirs.rtt_s.keys()) + far
    kinds = [("retransmitted or out of order", theirs.again, mine.again)]
    kinds += [(name.replace("_", " "), theirs.kinds[name], mine.kinds[name]) for name in NAMES]
    return [
        ("packets", f"{len(theirs.stream):,}"),
        *((name, f"{len(a):6,} {len(b):6,} {len(a ^ b):6,}") for name, a, b in kinds),
        ("round trips, within 2 µs", f"{len(theirs.rtt_s):6,} {len(mine.rtt_s):6,} {differ:6,}"),
    ]


def show(title: str, rows: list[tuple[str, str]]) -> None:
    """Print one table."""
    print(title)
    for name, value in rows:
        print(f"  {name:32}{value}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=1_200_000)
    parser.add_argument("--connections", type=int, default=3120)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-lossy", action="store_true", help="leave the real transfer out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.pcap"
        repeated = write_lossy_capture(
            made, packets=asked.packets, connections=asked.connections, loss=asked.loss,
            seed=asked.seed,
        )  # fmt: skip
        show("Speed", speed(made, repeated=repeated, repeat=asked.repeat))
        if not asked.no_lossy:
            link = Link(rate="20mbit", drop_every=33, scattered=True)
            lossy = capture_lossy_transfer(Path(folder) / "lossy.pcap", size=10_000_000, streams=4, link=link)
            show("Agreement: tshark, ours, different", agreement(lossy))


if __name__ == "__main__":
    main()
