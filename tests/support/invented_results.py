"""Invented results of the study's cases: from the published values, changed in a named way, with noise over trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from analysis.claims import Measured
from analysis.claims.comparisons import Quantity
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.papers.paper import Paper, read_paper
from records import campaign as records

FOLDER = Path(__file__).parents[2] / "experiments" / "papers" / "gaddah_kunz"
PAPER = read_paper(FOLDER)
NETWORKS = PAPER.record.networks
Table = dict[Quantity, float]
Change = Callable[[Table], Table]


def published_values(name: str = "exchanged", paper: Paper = PAPER) -> Table:
    """Every published value in one reading."""
    return {quantity: point.value for quantity, point in paper.published(name).values.items()}


def as_published(table: Table) -> Table:
    return dict(table)


def turned_round(table: Table) -> Table:
    """Every ratio becomes its inverse."""
    return {quantity: 1e4 / value for quantity, value in table.items()}


def scattered(table: Table) -> Table:
    """No two values are within a factor of three."""
    return {quantity: 3.0**number for number, quantity in enumerate(sorted(table))}


def publishers_far_ahead(table: Table) -> Table:
    """Ten times as much is published, and nothing more arrives."""
    return {q: 10 * value if q.metric == "published_per_s" else value for q, value in table.items()}


def times(factor: float, *, metric: str, cases: Iterable[str], networks: Iterable[str] = tuple(NETWORKS)) -> Change:
    """Some values are multiplied."""
    chosen = {Quantity(case, network, metric) for case in cases for network in networks}
    return lambda table: {q: value * factor if q in chosen else value for q, value in table.items()}


def cells(table: Table, *, trials: int = 5, noise: float = 0.001, seed: int = 1) -> tuple[CellFinding, ...]:
    """Cells as a campaign has them; noise: standard deviation of a trial's values, as a share."""
    generator = np.random.default_rng(seed)
    found = []
    metrics_of: dict[tuple[str, str], dict[str, float]] = {}
    for q, value in table.items():
        metrics_of.setdefault((q.case, q.network), {})[q.metric] = value
    for (case, network), metrics in sorted(metrics_of.items()):
        levels = {"network": NETWORKS[network], "case": case}
        found.append(CellFinding(
            name=",".join(f"{key}={level}" for key, level in levels.items()), levels=levels,
            trials=tuple(
                TrialFinding(
                    case, number, 100 + number, standing=Standing.VALID,
                    metrics={m: v * float(np.exp(generator.normal(0, noise))) for m, v in metrics.items()},
                )
                for number in range(1, trials + 1)
            ),
        ))  # fmt: skip
    return tuple(found)


def results(table: Table, *, trials: int = 5, noise: float = 0.001) -> Measured:
    words = {profile: word for word, profile in NETWORKS.items()}
    made = cells(table, trials=trials, noise=noise)
    return Measured(cells={(cell.levels["case"], words[cell.levels["network"]]): cell for cell in made})


def findings(made: tuple[CellFinding, ...], folder: Path, **settings: Any) -> Findings:
    """A campaign of these cells, all with these settings."""
    campaign = records.Campaign(
        scenario="invented", digest="d" * 64, created="2023-11-14T22:29:00Z", seed=1,
        factors={"network": tuple(NETWORKS.values())}, baseline=NETWORKS["wireline"],
        cells=tuple(records.Cell(name=one.name, levels=one.levels, settings={"settings": settings}) for one in made),
        order=(),
    )  # fmt: skip
    return Findings(campaign=campaign, folder=folder, cells=made)
