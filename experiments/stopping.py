"""How precise a campaign's cells are, read back from their finished trials."""

from __future__ import annotations

from pathlib import Path

from results.campaign import Campaign
from results.stopping import CellPrecision, Rule, judge
from results.store import DamagedTrial, Trial, trials_of
from results.verdict import State


def precisions(folder: Path, campaign: Campaign) -> dict[str, CellPrecision]:
    """How every cell stands, by name; empty when the campaign has no stopping rule."""
    rule = campaign.stopping
    return {} if rule is None else {cell.name: precision(folder / cell.name, rule) for cell in campaign.cells}


def precision(cell: Path, rule: Rule) -> CellPrecision:
    """How the cell with this folder stands.  A trial that cannot be read has been run and does not count."""
    finished = trials_of(cell)
    valid = [figures for trial in finished if (figures := _figures(trial)) is not None]
    return judge(rule, valid, run=len(finished))


def _figures(trial: Trial) -> dict[str, float] | None:
    try:
        return trial.manifest().figures if trial.verdict().state is State.VALID else None
    except DamagedTrial:
        return None
