"""`lab list`: campaigns, how far they got, where their reports are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.table import Table

from experiments.campaign import campaign as campaigns
from experiments.campaign.stopping import precisions
from lab.common import out, shown, told
from lab.start import tidy
from records.campaign import read_campaign
from records.packed import PACKED
from records.stopping import End
from records.store import DamagedTrial, trials


def list_campaigns(*, results: Path) -> None:
    """Print a row for each campaign."""
    with told():
        tidy(results)
        folders = campaigns.folders(results)
        if not folders:
            out.print(f"{shown(results)}: no campaign here yet; `lab run SCENARIO` makes one")
            return
        table = Table("campaign", "trials", "verdicts", "report", box=None, pad_edge=False)
        for folder in folders:
            report = folder / "report.html"
            name = f"{folder.parent.name}/{folder.name}"
            table.add_row(name, *_state(folder), shown(report) if report.exists() else "-")
        out.print(table)


def _state(folder: Path) -> tuple[str, str]:
    """Trials done of those planned, and their verdicts."""
    try:
        campaign = read_campaign(folder)
    except DamagedTrial as error:
        return "?", str(error).splitlines()[0]
    states: Counter[str] = Counter()
    packed = 0
    for trial in trials(folder):
        try:
            states[trial.verdict().state.value] += 1
        except DamagedTrial:
            states["damaged"] += 1
        packed += (trial.path / PACKED).exists()
    verdicts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    done = sum(states.values())
    ends = Counter(found.end for found in precisions(folder, campaign).values())
    cells = ", ".join(f"{ends[end]} {end}" for end in End if ends[end])
    if cells:
        verdicts = f"{verdicts or '-'}; cells: {cells}"
    if packed:
        verdicts += f"; {packed} out of a pack"
    return f"{done}/{done + len(campaigns.missing(folder, campaign))}", verdicts or "-"
