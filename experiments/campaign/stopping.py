"""How precise a campaign's cells are, read back from their finished trials."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from records.campaign import Campaign
from records.counting import counts, read_tables
from records.latency import LATENCIES
from records.stopping import CellPrecision, Rule, judge
from records.store import DamagedTrial, Trial, trials_of
from records.window_metrics import figures


def precisions(folder: Path, campaign: Campaign) -> dict[str, CellPrecision]:
    """How every cell stands, by name; empty when the campaign has no stopping rule."""
    rule = campaign.stopping
    return {} if rule is None else {cell.name: precision(folder / cell.name, rule) for cell in campaign.cells}


def precision(cell: Path, rule: Rule) -> CellPrecision:
    """How the cell with this folder stands.  A trial that does not count (records.counting) has been run, too."""
    finished = trials_of(cell)
    valid = [dict(found) for trial in finished if (found := _figures(trial)) is not None]
    return judge(rule, valid, run=len(finished))


def _figures(trial: Trial) -> tuple[tuple[str, float], ...] | None:
    try:
        return _read(trial.path, _stamp(trial.path))
    except OSError:
        return None


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file of the trial does."""
    found = [(one.name, one.stat()) for one in sorted(path.iterdir())]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


@lru_cache(maxsize=4096)
def _read(path: Path, stamp: object) -> tuple[tuple[str, float], ...] | None:
    """The figures of a trial that counts, None of another.  Cached: a runner asks again after each trial."""
    del stamp
    trial = Trial(path)
    if not counts(trial):
        return None
    manifest = trial.manifest()
    if manifest.latency_of == "sent":
        return tuple(manifest.figures.items())
    # An older program's latencies are of what arrived in the window: another quantity.
    if trial.elsewhere():
        return tuple((name, value) for name, value in manifest.figures.items() if name not in LATENCIES)
    try:
        tables = read_tables(trial, manifest)
    except DamagedTrial:
        return None
    sides = tables["published"], tables["delivered"]
    return tuple(figures(*sides, manifest.window, manifest.workload.audiences).items())
