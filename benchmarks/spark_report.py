"""CPU-seconds of the jobs on Spark: driver, Java and Python workers together.

    python benchmarks/spark_report.py [--master local[2]]
        [--only small,large,split,ledger,long,memory,scan,first,kept,index,whole,shared,single,elephant]

small: the flow report of 100,000 packets.  large: of a 1 GB capture, one task.  split: the same in ranges of
64 MB.  ledger: ten trials, ten million deliveries.  long: one trial with as many, and the peak of a worker.
memory: the peak of a task's process beside its range, for one capture of 300 MB as a whole, without Spark.
scan, first, kept: the packets of one second of the 1 GB capture,
counted by format("pcap"): without an index and pushdown, with both for the first time, and with the index kept.
index: that capture and a copy are walked one after the other and by threads, without Spark.  elephant: a capture of
10 GB that is one connection, and the peak of a worker; only when it is asked for, as it takes 10 GB of disk.
whole, shared: a trial with two captures of 1 GB as one task and shared out, and the peak of a worker.  single: the
same shared out, where all packets are those of one connection.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

from common.capture import BEGIN_NS, CONNECTIONS, write_capture  # noqa: E402
from common.cpu import Use, counted  # noqa: E402

# What the design asks, CPU-seconds; split has no target of its own.
LIMITS = {"small": 13.0, "large": 15.0, "ledger": 32.0}
_PACKETS = {"small": 100_000, "large": 1_260_000, "memory": 380_000, "elephant": 12_600_000, "trial": 1_260_000}
_MEMORY_LIMIT = 3.0


def capture_job(path: Path, master: str, **how: int) -> Callable[[], int]:
    """The flow report of a capture: from Spark's start to its end, the model of the page included."""

    def work() -> int:
        from analysis.foreign_captures.model import gather  # noqa: PLC0415
        from analysis.spark.captures import reduce_captures  # noqa: PLC0415
        from analysis.spark.session import session  # noqa: PLC0415

        with session(master=master) as spark:
            rows = reduce_captures([path], spark=spark, **how)
        return gather([path], rows)[0].records

    return work


def ledger_job(folder: Path, master: str, *, trials: int) -> Callable[[], int]:
    """The reduction of the ledgers of so many trials, together with ten million deliveries."""
    from common.ledger import MESSAGES, write_trials  # noqa: PLC0415

    made = write_trials(folder / f"{trials}", trials=trials, messages=10 * MESSAGES // trials)
    rows = sum(trial.manifest().rows["delivered"] + trial.manifest().rows["published"] for trial in made)

    def work() -> int:
        from analysis.spark.jobs import reduce_trials  # noqa: PLC0415
        from analysis.spark.session import session  # noqa: PLC0415

        with session(master=master) as spark:
            found = reduce_trials(spark, [trial.path for trial in made])
        damage = [row["text"] for row in found.to_pylist() if row["table"] == "damage"]
        assert not damage, damage
        return rows

    return work


def trial_job(folder: Path, master: str, job: str) -> Callable[[], int]:
    """The reduction of a trial with two large captures, by one task or by several."""
    from common.large_trial import write_large_trial  # noqa: PLC0415

    packets = _PACKETS["trial"]
    trial = write_large_trial(folder / job, packets=packets, connections=1 if job == "single" else 50)

    def work() -> int:
        from analysis.spark.jobs import reduce_trials  # noqa: PLC0415
        from analysis.spark.session import session  # noqa: PLC0415

        with session(master=master) as spark:
            found = reduce_trials(spark, [trial.path], large_packets=1 << 60 if job == "whole" else packets)
        digest = hashlib.sha256(str(found.to_pylist()).encode()).hexdigest()
        print(f"{'':8}{len(found)} rows, digest {digest[:12]}")
        return 2 * packets

    return work


def second_job(path: Path, master: str, job: str) -> Callable[[], int]:
    """The packets of the sixth second, counted by a query."""

    def work() -> int:
        from analysis.capture.kept_index import index_file  # noqa: PLC0415
        from analysis.spark.session import session  # noqa: PLC0415
        from analysis.spark.source import register  # noqa: PLC0415

        if job != "kept":
            index_file(path).unlink(missing_ok=True)
        with session(master=master) as spark:
            register(spark)
            read = spark.read.format("pcap").option("pushdown", job != "scan").option("keep_index", job != "scan")
            second = (BEGIN_NS // 10**9 + 5) * 10**9
            asked = f"ts_ns >= {second} AND ts_ns < {second + 10**9}"
            return int(read.load(str(path)).where(asked).count())

    return work


def walks(path: Path) -> Iterator[tuple[int, float, float]]:
    """Threads, CPU-seconds and wall time of walking a capture and a copy of it, the pages of both read before."""
    from analysis.capture.ranges import index  # noqa: PLC0415

    copy = Path(shutil.copy(path, path.with_name("copy.pcap")))
    for threads in (1, 2, 1, 2):
        began, used = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(index, (path, copy)))
        yield threads, time.process_time() - used, time.perf_counter() - began


def measure(work: Callable[[], int]) -> tuple[int, Use, float]:
    """What the work counted, what it used, and its wall time."""
    began = time.perf_counter()
    with counted() as use:
        count = work()
    return count, use, time.perf_counter() - began


# Not ru_maxrss: a process inherits that of the one that started it.
_PEAK = """import re, sys; from pathlib import Path; from analysis.spark.captures import reduce_capture
if len(sys.argv) > 1: reduce_capture(Path(sys.argv[1]), 0)
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))"""


def peak_over_range(path: Path) -> float:
    """Peak memory of a process that does one task, less what it has before, over the size of its file."""
    command = [sys.executable, "-c", _PEAK]
    sizes = [
        int(subprocess.run([*command, *words], capture_output=True, text=True, check=True, cwd=ROOT).stdout)
        for words in ([], [str(path)])
    ]
    return (sizes[1] - sizes[0]) / path.stat().st_size


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", default="small,large,split,ledger,memory,scan,first,kept,index")
    asked = parser.parse_args()
    wanted = asked.only.split(",")
    print(f"{'job':8}{'count':>12}{'driver':>9}{'Java':>9}{'workers':>9}{'total':>9}{'limit':>9}{'wall':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job in wanted:
            if job == "memory":
                path = write_capture(folder / "memory.pcap", packets=_PACKETS[job])
                print(f"{job:8}{peak_over_range(path):12.2f} times the file (limit {_MEMORY_LIMIT})")
                continue
            if job in {"ledger", "long"}:
                work = ledger_job(folder, asked.master, trials=10 if job == "ledger" else 1)
            elif job in {"whole", "shared", "single"}:
                work = trial_job(folder, asked.master, job)
            else:
                size = job if job in _PACKETS else "large"
                path = folder / f"{size}.pcap"
                if not path.is_file():
                    write_capture(path, packets=_PACKETS[size], connections=1 if job == "elephant" else CONNECTIONS)
                if job == "index":
                    for threads, used, wall in walks(path):
                        print(f"{job:8}{threads:12} threads: {used:.2f} CPU-s, {wall:.2f} s")
                    continue
                how = {"split_above": 1 << 26} if job == "split" else {}
                if job in {"scan", "first", "kept"}:
                    work = second_job(path, asked.master, job)
                else:
                    work = capture_job(path, asked.master, **how)
            count, use, wall = measure(work)
            limit = f"{LIMITS[job]:9.0f}" if job in LIMITS else " " * 9
            print(
                f"{job:8}{count:12,}{use.driver:9.2f}{use.java:9.2f}{use.workers:9.2f}{use.total:9.2f}{limit}{wall:9.1f}",
                flush=True,
            )
            if job in {"elephant", "long", "whole", "shared", "single"}:
                print(f"{'':8}a worker had {use.worker_peak_bytes / 1e9:.2f} GB at its peak")


if __name__ == "__main__":
    main()
