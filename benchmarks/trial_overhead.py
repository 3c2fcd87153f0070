"""What a trial costs beside its warm-up, window and drain: build, deploy, probe, connect, stop, record.

    python benchmarks/trial_overhead.py [--trials N]

Runs N trials each of the default experiment's stack on both of its networks with a window of one second, and tells in
which phases the time goes.  "start": the process and its imports.  Target: at most 8 s per trial without connecting.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import yaml

from analysis.statistics import estimate
from experiments.campaign import campaign as campaigns
from experiments.campaign import runner
from experiments.campaign.launch import Outcome
from experiments.scenario import scenario as scenarios
from experiments.workers.kernels import Kernels
from records.campaign import Planned
from records.stopping import CellPrecision
from records.store import Trial, trial_name

TARGET_S = 8.0
PHASES = ("start", "build", "deploy", "connect", "stop")
DEFAULT = Path(__file__).parents[1] / "experiments" / "scenarios" / "wireless-vs-wireline.yaml"


class Collect:
    """Keeps how trials ended, and how long each phase of each cell's took."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._cell, self._phase, self._since = "", "", 0.0

    def started(self, planned: Planned) -> None:
        """It begins with its process."""
        self._cell, self._phase, self._since = planned.cell, "start", time.monotonic()

    def phase(self, planned: Planned, name: str, delivered: int) -> None:  # noqa: ARG002 - the watcher's
        """One phase ends where the next begins."""
        if name != self._phase:
            self._over(name)

    def _over(self, following: str) -> None:
        now = time.monotonic()
        self.seconds[self._cell][self._phase].append(now - self._since)
        self._phase, self._since = following, now

    def repeated(self, planned: Planned, why: str) -> None:
        """Nothing to note."""

    def widened(self, why: str) -> None:
        """Nothing to note."""

    def ended(self, outcome: Outcome) -> None:
        """Keep it."""
        self._over("")
        self.outcomes.append(outcome)

    def settled(self, cell: str, precision: CellPrecision, spared: int) -> None:
        """Nothing to note."""


def overhead_s(folder: Path, outcome: Outcome) -> float:
    """Seconds of a trial that were not between go and the end of its drain."""
    window = Trial(folder / outcome.planned.cell / trial_name(outcome.planned.trial)).manifest().window
    return outcome.seconds - (window.drained_ns - window.go_ns) / 1e9


def main() -> None:
    """Run the trials and print a row per network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    arguments = parser.parse_args()
    content = yaml.safe_load(DEFAULT.read_text())
    content |= {"trials": arguments.trials, "window": {"warmup_s": 0, "window_s": 1, "drain_s": 4}}
    content["workload"] |= {"body_bytes": 100, "guarantee": {"subscription": "durable", "delivery": "persistent"}}
    with tempfile.TemporaryDirectory(prefix="airwire-") as name:
        path = Path(name) / "scenario.yaml"
        path.write_text(yaml.safe_dump(content))
        folder = campaigns.create(scenarios.load(path), Path(name) / "results")
        watcher = Collect()
        runner.run(folder, watcher, Kernels())
        heads = "".join(f"{phase:>9}" for phase in PHASES)
        print(f"{'cell':<24} {'overhead per trial':>24} {heads}   but connect (target at most {TARGET_S:.0f} s)")
        for cell in sorted({one.planned.cell for one in watcher.outcomes}):
            mine = [one for one in watcher.outcomes if one.planned.cell == cell and one.state != "failed"]
            found = estimate([overhead_s(folder, one) for one in mine], "positive")
            assert found is not None, f"no trial of {cell} ended"
            spread = " s (1 trial)" if found.low is None else f" s [{found.low:.2f}, {found.high:.2f}]"
            means = {phase: fmean(watcher.seconds[cell][phase]) for phase in PHASES}
            phases = "".join(f"{seconds:>9.2f}" for seconds in means.values())
            print(f"{cell:<24} {found.mean:>14.2f}{spread} {phases} {found.mean - means['connect']:>13.2f} s")


if __name__ == "__main__":
    main()
