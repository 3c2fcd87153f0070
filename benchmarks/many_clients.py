"""What 800 client connections cost: processor and memory of the load generator, and time to connect.

    python benchmarks/many_clients.py [--stack activemq] [--pairs 400] [--body 5120] [--window 20] [--durable]

One trial of N publishers, N subscribers and N topics on four stations behind the wireless channel of the 2005
pub/sub study.  Exit status 1 when the generator is over its processor guard, the clients hold more than 1.5 GB
together, or the trial is not valid.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

from experiments.campaign import campaign as campaigns
from experiments.campaign import runner
from experiments.campaign.launch import Outcome
from experiments.scenario import scenario as scenarios
from experiments.workers.kernels import Kernels
from records.campaign import Planned
from records.stopping import CellPrecision
from records.store import Trial, trial_name
from records.verdict import Check

MEMORY_LIMIT_BYTES = 1.5e9


class Phases:
    """When each phase of the trial began (seconds), and how it ended."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.outcomes: list[Outcome] = []

    def started(self, planned: Planned) -> None:  # noqa: ARG002
        """A fresh start."""
        self.began = {}

    def phase(self, planned: Planned, name: str, delivered: int) -> None:  # noqa: ARG002
        """Note the first event of each phase."""
        self.began.setdefault(name, time.monotonic())

    def repeated(self, planned: Planned, why: str) -> None:
        """Say it."""
        print(f"{planned.cell}: {why}")

    def widened(self, why: str) -> None:
        """Nothing to note."""

    def ended(self, outcome: Outcome) -> None:
        """Keep it."""
        self.outcomes.append(outcome)

    def settled(self, cell: str, precision: CellPrecision, spared: int) -> None:
        """There is no stopping rule here."""


def memory_bytes(trial: Trial, prefix: str) -> float:
    """The most that all processes of a kind held together, at their own worst moments."""
    table = trial.table("resources")
    subject, metric = (table.column(name).to_numpy(zero_copy_only=False) for name in ("subject", "metric"))
    value = table.column("value").to_numpy()
    mine = (metric == "rss_bytes") & np.array([name.startswith(prefix) for name in subject], dtype=bool)
    return float(sum(value[mine & (subject == name)].max() for name in np.unique(subject[mine])))


def scenario(arguments: argparse.Namespace) -> dict[str, object]:
    """The study's one-to-one row with so many pairs."""
    clients = {"publishers": arguments.pairs, "subscribers": arguments.pairs, "topics": arguments.pairs}
    durable = {"subscription": "durable", "delivery": "persistent"}
    return {
        "scenario": "many-clients",
        "network": "nistnet-80211",
        "stations": 4,
        "stack": arguments.stack,
        "congestion_control": "reno",
        "workload": {
            "clients": clients,
            "body_bytes": arguments.body,
            "guarantee": durable if arguments.durable else {},
        },
        "window": {"warmup_s": 10, "window_s": arguments.window, "drain_s": 10},
        "capture": {"snap_bytes": 96},
        "trials": 1,
    }


def main() -> int:
    """Run the trial and print what it cost; 1 when that is too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stack", default="activemq")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--body", type=int, default=5120)
    parser.add_argument("--window", type=float, default=20)
    parser.add_argument("--durable", action="store_true", help="durable subscriptions, persistent messages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="airwire-") as name:
        path = Path(name) / "scenario.yaml"
        path.write_text(yaml.safe_dump(scenario(arguments)))
        folder = campaigns.create(scenarios.load(path), Path(name) / "results")
        watcher = Phases()
        (outcome,) = runner.run(folder, watcher, Kernels())
        if outcome.state == "failed":
            print("\n".join(outcome.reasons))
            return 1
        trial = Trial(folder / outcome.planned.cell / trial_name(1))
        checks = {one.check: one for one in trial.verdict().checks}
        manifest, clients = trial.manifest(), memory_bytes(trial, "generator:")
        rows = {
            "connect, s": watcher.began["load"] - watcher.began["connect"],
            "trial, s": outcome.seconds,
            "busiest client process, share of a core": checks[Check.GENERATOR_CPU].measured,
            "servers, share of all cores": checks[Check.SERVER_CPU].measured,
            "machine, share of all cores": manifest.machine_cpu,
            "clients' memory together, MB (at most 1500)": clients / 1e6,
            "servers' memory, MB": memory_bytes(trial, "server:") / 1e6,
            **{f"{name}": value for name, value in manifest.figures.items() if name.endswith("per_s")},
        }
    print(f"{arguments.pairs}/{arguments.pairs}/{arguments.pairs}, {arguments.stack}, {arguments.body} bytes")
    for row, value in rows.items():
        print(f"{row:<46} {'-' if value is None else format(value, '.3g'):>8}")
    print(f"verdict: {outcome.state}", *outcome.reasons, sep="\n    ")
    return int(clients > MEMORY_LIMIT_BYTES or bool(outcome.reasons))


if __name__ == "__main__":
    sys.exit(main())
