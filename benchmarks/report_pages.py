"""What the pages of trials cost, by one process and by one for each core: seconds, and seconds of processor.

    python benchmarks/report_pages.py FOLDER [--trials 200] [--flows 50] [--rounds 5]

Takes the campaign of spark_scale.py of that size in FOLDER, or makes it there, and reduces what is not reduced.  Pages
are written in turn by one process and by several; the least of all rounds counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

from spark_scale import make  # noqa: E402

from analysis.findings import Findings  # noqa: E402
from analysis.reductions.reduce import reducing  # noqa: E402
from analysis.report.build import found  # noqa: E402
from analysis.report.page import Pages  # noqa: E402
from analysis.report.provenance import Source, sources  # noqa: E402
from analysis.report.trialpages import write_trials  # noqa: E402


def processor_s() -> float:
    """Of this process and of those that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(findings: Findings, shown: Sequence[Source], processes: int) -> tuple[float, float]:
    """Seconds, and seconds of processor, to write the pages of some trials."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), processor_s()
        failed = write_trials(Path(folder), findings, shown, Pages(), processes=processes)
        assert not failed
        return time.perf_counter() - began, processor_s() - used


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--flows", type=int, default=50, help="connections of a trial")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    campaign, cores = make(asked.folder, asked.trials, asked.flows), len(os.sched_getaffinity(0))
    print(f"{'pages':>6}{'alone':>9} s{f'by {cores}':>9} s{'alone':>9} CPU-s{f'by {cores}':>9} CPU-s")
    pages = 8
    while pages <= asked.trials:
        least = {1: (float("inf"), float("inf")), cores: (float("inf"), float("inf"))}
        for _ in range(asked.rounds):
            for processes, (wall, cpu) in least.items():
                with reducing() as reduce:
                    findings = found(campaign, reduce.brief)  # details are read anew
                took, used = measure(findings, sources(findings)[:pages], processes)
                least[processes] = min(wall, took), min(cpu, used)
        (wall, cpu), (together, used) = least[1], least[cores]
        print(f"{pages:6}{wall:9.3f}  {together:9.3f}  {cpu:9.3f}      {used:9.3f}", flush=True)
        pages *= 2


if __name__ == "__main__":
    main()
