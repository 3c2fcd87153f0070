"""What a report costs as its trials become many: CPU-seconds by trial, and peaks of the driver's Python and Java.

    python benchmarks/spark_scale.py FOLDER [--trials 100,1000] [--flows 50] [--pages all|cells|none]
                                     [--only second|workers|sql] [--share 0.5]

Makes campaigns of so many trials in FOLDER: one trial of each of two cells is written and captured, the others are its
files by hard links, each with a manifest of its own (number and seed).  For each size it measures the first report,
which reduces all of them, then one after a new trial.  What FOLDER/measured.jsonl has is not measured again, so a run
that was ended goes on with the next.  --only second: reductions that stand are used, only the second report is made.
--only workers: seconds in which standalone clusters of one and of two workers, of one core each, reduce all trials of a
campaign, in turn; of a session that has reduced two trials before, so that everything has started.  --share: as
much of a core for each worker, by a control group (root): on two cores the driver and Java have the rest.
--only sql: seconds in which a query reads all trials of a campaign whose reductions are kept, and in how many tasks; of
a session that has asked for one trial before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

import psutil  # noqa: E402
from common.cpu import counted  # noqa: E402
from pcap_files import segments_pcap  # noqa: E402
from spark_servers import cluster  # noqa: E402
from synthetic_campaign import Spec, conversation, write_campaign  # noqa: E402

from analysis.extent import Extent  # noqa: E402
from analysis.reductions.code import code_digest  # noqa: E402
from analysis.reductions.kept import place_of  # noqa: E402
from analysis.reductions.reduce import reducing  # noqa: E402
from analysis.spark.session import session  # noqa: E402
from analysis.sql import recorded, reduced  # noqa: E402
from analysis.sql.source import register  # noqa: E402
from analysis.sql.views import VIEWS  # noqa: E402
from analysis.sql.work import planned  # noqa: E402
from experiments.trial import cpugroups  # noqa: E402
from records import campaign as records  # noqa: E402
from records.filenames import MANIFEST  # noqa: E402
from records.packed import REDUCED  # noqa: E402
from records.scratch import scratch  # noqa: E402
from records.store import Trial, trial_name, trials, write_record  # noqa: E402

_PACKETS = 12  # of each flow
_FIRST_SEED = 101
_REPEATS, _EACH = 3, 100
_WORKER = "org.apache.spark.deploy.worker.Worker"


def make(folder: Path, trials: int, flows: int) -> Path:
    """A campaign of so many trials in two cells, or what is left to be made of it."""
    name = f"s{trials}-{flows}"
    campaign = folder / "synthetic" / name
    if not campaign.exists():
        segments = [
            replace(one, sport=40000 + flow) if one.dport == 61613 else replace(one, dport=40000 + flow)
            for flow in range(flows) for one in conversation(packets=_PACKETS)
        ]  # fmt: skip
        segments.sort(key=lambda one: one.t_ns)
        capture = [("sta1", "station", segments_pcap(segments), len(segments))]
        spec = Spec(bodies=(100,), guarantees=("durable, persistent",), trials=1, name=name, captures=lambda _: capture)
        write_campaign(folder, spec)
    grow(campaign, trials)
    return campaign


def grow(campaign: Path, trials: int) -> None:
    """Bring it to so many trials, by hard links to the first of each cell."""
    record = records.read_campaign(campaign)
    each = trials // len(record.cells)
    order = [
        records.Planned(cell=cell.name, trial=number, seed=_FIRST_SEED + number - 1)
        for number in range(1, each + 1) for cell in record.cells
    ]  # fmt: skip
    for due in order:
        first, path = campaign / due.cell / trial_name(1), campaign / due.cell / trial_name(due.trial)
        if path.exists():
            continue
        fresh = path.with_name(f".{path.name}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        for one in first.iterdir():
            if one.name != MANIFEST:
                os.link(one, fresh / one.name)
        told = Trial(first).manifest()
        write_record(fresh / MANIFEST, told.model_copy(update={"trial": due.trial, "seed": due.seed}))
        fresh.rename(path)
    write_record(campaign / records.RECORD, record.model_copy(update={"order": tuple(order)}))


def report(campaign: Path, extent: Extent) -> None:
    """Build the report, and print what this process and what it started used, as JSON."""
    from analysis.report.build import build  # noqa: PLC0415 - part of what is measured

    began = time.perf_counter()
    with counted() as use:
        build(campaign, extent=extent)
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    found = {
        "driver": use.driver, "java": use.java, "workers": use.workers, "wall": time.perf_counter() - began,
        "peak_mb": int(peak[1]) / 1024 if peak else 0.0, "java_mb": use.java_peak_bytes / 1e6,
    }  # fmt: skip
    print(json.dumps(found))


@contextmanager
def shared(place: Path, workers: int, share: float) -> Iterator[str]:
    """A cluster whose workers can use so much of a core each, with all that they start; 1: no limit."""
    with ExitStack() as stack:
        folder = stack.enter_context(cpugroups.made()) if share < 1 else None  # gone when the workers are
        master = stack.enter_context(cluster(place, workers=workers))
        if folder:
            mine = [one.pid for one in psutil.Process().children() if _WORKER in one.cmdline()]
            cpugroups.limit(str(folder), {f"worker-{pid}": (pid,) for pid in mine}, share)
        yield master


def reduced_by(campaign: Path, workers: int, share: float) -> float:
    """Seconds in which a cluster of so many workers reduces all trials."""
    paths = [trial.path for trial in trials(campaign)]
    with scratch("cluster") as place, shared(place, workers, share) as master, reducing(master=master) as reduce:
        for some in (paths[:2], paths):
            shutil.rmtree(campaign / "reduced", ignore_errors=True)
            began = time.perf_counter()
            reduce.brief(some)
            took = time.perf_counter() - began
    return took


def compare_workers(campaign: Path, share: float) -> None:
    """Print the seconds of one and of two workers, in turn, and their ratios."""
    for _ in range(_REPEATS):
        one, two = (reduced_by(campaign, workers, share) for workers in (1, 2))
        print(f"one worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times faster", flush=True)


def ask_all(campaign: Path) -> None:
    """Print how long a query to all trials takes, in how many tasks, and what a trial's rows take without Spark."""
    with reducing() as reduce:
        reduce.brief([trial.path for trial in trials(campaign)])
    code = code_digest()
    with session() as spark:
        register(spark)
        for name in ("trials", "flows", "published"):
            read = spark.read.format("airwire").option("table", name)
            read.option("pushdown", True).load(str(campaign)).where("trial = 1").count()
            frame = read.option("pushdown", False).load(str(campaign))
            began = time.perf_counter()
            rows = frame.count()
            took, tasks = time.perf_counter() - began, frame.rdd.getNumPartitions()
            works = planned(VIEWS[name], [campaign], {})
            began = time.process_time()
            for work in works[:_EACH]:
                for _ in recorded.batches(work) if name == "published" else reduced.rows(work, code):
                    pass
            alone = (time.process_time() - began) / len(works[:_EACH])
            first = Path(works[0].trials[0])
            size = (first / "published.parquet" if name == "published" else place_of(first) / REDUCED).stat().st_size
            one = f"a trial alone {alone:.4f} CPU-s, of {size:,} bytes"
            print(f"{name}: {rows:,} rows in {took:.1f} s, {tasks} tasks; {one}", flush=True)


def measured(folder: Path, campaign: Path, name: str, trials: int, extent: Extent) -> dict[str, Any]:
    """One report in a process of its own, or what is noted of it."""
    notes, of = folder / "measured.jsonl", [campaign.name, name, str(ROOT), extent]
    for line in notes.read_text().splitlines() if notes.exists() else ():
        if (found := json.loads(line))["of"] == of:
            return dict(found)
    if name == "first":  # what a run that was ended has reduced
        shutil.rmtree(campaign / "reduced", ignore_errors=True)
    command = [sys.executable, __file__, str(folder), "--report", str(campaign), "--pages", extent]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1]) | {
        "of": [campaign.name, name, str(ROOT), extent],
        "trials": trials,
    }
    with notes.open("a") as file:
        file.write(f"{json.dumps(found)}\n")
    return dict(found)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", default="100,1000")
    parser.add_argument("--flows", type=int, default=50, help="connections of a trial")
    parser.add_argument("--pages", type=Extent, choices=list(Extent), default=Extent.ALL, help="of a report")
    parser.add_argument("--only", choices=("second", "workers", "sql"))
    parser.add_argument("--share", type=float, default=1.0, help="of a core, for each worker of --only workers")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.report:
        report(asked.report, asked.pages)
        return
    if asked.only in ("workers", "sql"):
        campaign = make(asked.folder, int(asked.trials.partition(",")[0]), asked.flows)
        compare_workers(campaign, asked.share) if asked.only == "workers" else ask_all(campaign)
        return
    peaks = f"{'peak':>9} MB{'Java':>9} MB"
    print(f"{'trials':>7} {'report':8}{'driver':>9}{'Java':>9}{'workers':>9}{'a trial':>9} s{peaks}{'wall':>9} s")
    for count in map(int, asked.trials.split(",")):
        campaign = make(asked.folder, count, asked.flows)
        for name in ("first", "second"):
            if name == "second":
                grow(campaign, count + 2)
                if asked.only:  # all may be reduced already
                    shutil.rmtree(max(campaign.glob("reduced/*/*"), key=lambda path: path.stat().st_mtime_ns))
            elif asked.only:
                continue
            one = measured(asked.folder, campaign, name, count, asked.pages)
            total = one["driver"] + one["java"] + one["workers"]
            figures = [
                one["driver"],
                one["java"],
                one["workers"],
                total / count,
                one["peak_mb"],
                one.get("java_mb", float("nan")),
                one["wall"],
            ]
            print(f"{count:7,} {name:8}" + "".join(f"{figure:11.2f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
