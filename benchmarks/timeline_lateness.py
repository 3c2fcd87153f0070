"""How late the changes of a link's timeline come in real trials, when there is one every 50 ms.

    python benchmarks/timeline_lateness.py [--runs N] [--kernel host|lab]

Ten runs by default, each a whole trial: clients load the link, captures and samplers run.  Beside them a sleeper on
each core, which goes before everything, notices when the machine stalls; changes during such a stall are told, but not
held against the bound.  Exit status 1 when any other change was later than 3 ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.campaign import campaign as campaigns
from records.store import Trial, trials

ROOT = Path(__file__).resolve().parents[1]
NOT_ALL_VALID = 3  # the trials were run, and something in one was not as it should be
BOUND_S = 0.003
BEAT_S, STALL_S = 0.001, 0.001
WINDOW_S, EVERY_S = 10.0, 0.05
_ABOVE_THE_PLAYER = 3  # emulation.tc.player has 2, what else watches 1
LINK = {
    "name": "restless",
    "description": "another rate every 50 ms",
    "source": "made for this benchmark",
    "medium": "shared",
    "rate": "4 Mbit/s",
    "timeline": [
        {"at": round((number + 1) * EVERY_S, 3), "change": {"rate": ("2 Mbit/s", "4 Mbit/s")[number % 2]}}
        for number in range(int(WINDOW_S / EVERY_S) - 1)
    ],
}
SCENARIO = {
    "scenario": "timeline-lateness",
    "network": "link.yaml",
    "stack": "reference",
    "stations": 4,
    "congestion_control": "reno",
    "workload": {"clients": {"publishers": 4, "subscribers": 8}, "body_bytes": 1000, "loop": "open", "rate": 10},
    "window": {"warmup_s": 0.5, "window_s": WINDOW_S, "drain_s": 3},
}
Stall = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Of one run's changes, in seconds: all, and those that no stall of the machine held up."""

    all: Sequence[float]
    undisturbed: Sequence[float]


def sleep(core: int) -> None:
    """Sleep on and on on one core, and print from when to when (CLOCK_MONOTONIC, ns) it woke late."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_ABOVE_THE_PLAYER))
    while True:
        due_ns = time.monotonic_ns() + int(BEAT_S * 1e9)
        time.sleep(BEAT_S)
        if (now_ns := time.monotonic_ns()) - due_ns > STALL_S * 1e9:
            print(due_ns, now_ns, flush=True)


@contextmanager
def watched(core: int, file: Path) -> Iterator[None]:
    """Note the stalls of a core in a file.  RuntimeError when the sleeper did not live to the end."""
    with file.open("w") as out, subprocess.Popen([sys.executable, __file__, "--sleep", str(core)], stdout=out) as one:
        try:
            yield
            if one.poll() is not None:
                raise RuntimeError(f"the sleeper on core {core} ended by itself, with status {one.returncode}")
        finally:
            one.terminate()


def stalls(file: Path) -> list[Stall]:
    """What a sleeper has noted; half a line is what it was writing when it was ended."""
    rows = [line.split() for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [(int(since), int(until)) for since, until in rows]


def lateness(trial: Trial, stalled: Sequence[Stall]) -> Lateness:
    """How late a trial's changes were."""
    start_ns, events = trial.manifest().window.start_ns, trial.link().events
    found = [(start_ns + round(one.at_s * 1e9), one.t_ns) for one in events]
    free = [
        (due_ns, t_ns)
        for due_ns, t_ns in found
        if not any(since < t_ns and until > due_ns - BEAT_S * 1e9 for since, until in stalled)
    ]
    late, undisturbed = ([(t_ns - due_ns) / 1e9 for due_ns, t_ns in some] for some in (found, free))
    return Lateness(all=late, undisturbed=undisturbed)


def main() -> int:
    """Run the trials and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kernel", choices=("host", "lab"), default="host")
    parser.add_argument("--sleep", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sleep is not None:
        sleep(arguments.sleep)
    with tempfile.TemporaryDirectory(prefix="airwire-") as name:
        folder = Path(name)
        (folder / "link.yaml").write_text(yaml.safe_dump(LINK, sort_keys=False))
        (folder / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO | {"trials": arguments.runs}))
        noted = [folder / f"core-{core}" for core in sorted(os.sched_getaffinity(0))]
        with ExitStack() as sleepers:
            for core, file in zip(sorted(os.sched_getaffinity(0)), noted, strict=True):
                sleepers.enter_context(watched(core, file))
            words = ["run", str(folder / "scenario.yaml"), "--no-report", "--kernel", arguments.kernel]
            words += ["--medium", "tc"]  # the line plays timelines by itself
            command = [sys.executable, "-m", "lab", *words, "--results", str(folder / "results")]
            status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, cwd=ROOT).returncode
        if status not in (0, NOT_ALL_VALID):
            raise RuntimeError(f"there were no trials to watch: {' '.join(command)} ended with status {status}")
        (campaign,) = campaigns.folders(folder / "results")
        stalled = [one for file in noted for one in stalls(file)]
        return judged([lateness(trial, stalled) for trial in trials(campaign)], wanted=arguments.runs)


def judged(runs: Sequence[Lateness], *, wanted: int) -> int:
    """Print the table; 1 when a change was too late, or a run is missing."""
    print(f"{'run':>4} {'changes':>8} {'latest':>10} {'in no stall':>12} {'latest of them':>15}")
    for number, one in enumerate(runs, 1):
        latest, own = (max(some, default=0.0) * 1e3 for some in (one.all, one.undisturbed))
        print(f"{number:>4} {len(one.all):>8} {latest:>7.2f} ms {len(one.undisturbed):>12} {own:>12.2f} ms")
    worst = max((late for one in runs for late in one.undisturbed), default=float("inf"))
    verdict = "inside" if worst <= BOUND_S and len(runs) == wanted else "OUTSIDE"
    print(f"latest of {sum(len(one.undisturbed) for one in runs)} changes in {len(runs)} runs: {worst * 1e3:.2f} ms, "
          f"at most {BOUND_S * 1e3:g} ms: {verdict}")  # fmt: skip
    return int(verdict == "OUTSIDE")


if __name__ == "__main__":
    sys.exit(main())
