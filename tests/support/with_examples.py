"""What a tree with the examples of docs/adding.md does, as one line of JSON.  Argument: a folder to write into."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from lab_runs import scenario_file
from load_runs import Outcome, cell_plans, reference_server, run
from synthetic_campaign import Spec, write_campaign

from analysis.compare import comparisons, matches
from analysis.findings import gather
from analysis.metrics import METRICS
from analysis.plots import section
from analysis.trial import reduce_trial
from experiments.scenario import segments
from experiments.scenario.scenario import ScenarioError, load
from experiments.scenario.settings import Settings
from records.campaign import read_campaign
from records.store import trials

BULLETIN = {"pattern": "bulletin", "clients": {"senders": 1, "members": 3}, "body_bytes": 100}


def topology_and_pattern(folder: Path) -> dict[str, Any]:
    work = BULLETIN | {"loop": "open", "rate": 100}
    (cell,) = load(scenario_file(folder, topology={"kind": "gateway", "servers": 2}, workload=work)).cells
    plan = segments.topology_plan(cell.settings)
    many = work | {"clients": {"senders": 4, "members": 3}}
    outcome = asyncio.run(_carried(folder, cell.settings))
    found = outcome.reconciled()
    return {
        "hosts": [host.name for host in plan.hosts],
        "segments": [segment.name for segment in plan.segments],
        "refused": _refused(scenario_file(folder, topology={"kind": "gateway", "routers": 2})),
        "too_many": _refused(scenario_file(folder, workload=many)),
        "class": cell.settings.workload.guarantee_class,
        "sent": outcome.result.published.num_rows,
        "delivered": found.delivered,
        "amiss": found.lost + found.in_doubt + found.duplicates,
    }


def _refused(scenario: Path) -> str:
    try:
        load(scenario)
    except ScenarioError as error:
        return str(error)
    return ""


async def _carried(folder: Path, settings: Settings) -> Outcome:
    async with reference_server() as port:
        return await run(cell_plans(folder, port, settings), window_s=0.3, limit_s=4.0)


def metric_and_plot(folder: Path) -> dict[str, Any]:
    campaign = write_campaign(folder, Spec(trials=1, bodies=(100,), guarantees=("nondurable",)))
    finished = trials(campaign)
    rows = [reduce_trial(trial.path, number) for number, trial in enumerate(finished)]
    findings = gather(read_campaign(campaign), campaign, finished, pa.Table.from_batches(rows))
    (match,) = matches(findings)
    return {
        "declared": METRICS["body_mean_bytes"].label,
        "measured": [trial.metrics["body_mean_bytes"] for trial in findings.trials],
        "compared": [one.metric for one in comparisons(match, match.others[0])],
        "sections": {one.title: [plot.name for plot in one.plots] for one in section.drawn(findings)},
        "partial": [trial.partial for trial in findings.trials],
    }


if __name__ == "__main__":
    here = Path(sys.argv[1])
    print(json.dumps(topology_and_pattern(here) | metric_and_plot(here)))
