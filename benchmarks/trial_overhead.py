"""What a trial costs beside its warm-up, window and drain: build, deploy, probe, connect, stop, record.

    python benchmarks/trial_overhead.py [--trials N]

Runs N trials each of the default experiment's stack on both of its networks with a window of one second.
Target: at most 12 s per trial.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import yaml

from analysis.statistics import estimate
from experiments import campaign as campaigns
from experiments import runner
from experiments import scenario as scenarios
from experiments.kernels import Kernels
from experiments.launch import Outcome
from results.campaign import Planned
from results.stopping import CellPrecision
from results.store import Trial, trial_name

TARGET_S = 12.0
DEFAULT = Path(__file__).parents[1] / "experiments" / "wireless-vs-wireline.yaml"


class Collect:
    """Keeps how trials ended."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def started(self, planned: Planned) -> None:
        """Nothing to note."""

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        """Nothing to note."""

    def repeated(self, planned: Planned, why: str) -> None:
        """Nothing to note."""

    def ended(self, outcome: Outcome) -> None:
        """Keep it."""
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
        print(f"{'cell':<24} {'overhead per trial':>24}   target at most {TARGET_S:.0f} s")
        for cell in sorted({one.planned.cell for one in watcher.outcomes}):
            mine = [one for one in watcher.outcomes if one.planned.cell == cell and one.state != "failed"]
            found = estimate([overhead_s(folder, one) for one in mine], "positive")
            assert found is not None, f"no trial of {cell} ended"
            spread = " s (1 trial)" if found.low is None else f" s [{found.low:.2f}, {found.high:.2f}]"
            print(f"{cell:<24} {found.mean:>14.2f}{spread}   {found.n} trials")


if __name__ == "__main__":
    main()
