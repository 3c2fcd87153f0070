"""How far a campaign got, for `lab list` and `lab publish`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from experiments.campaign.campaign import missing
from experiments.campaign.stopping import precisions
from records.campaign import read_campaign
from records.packed import PACKED
from records.publishing import Tally
from records.stopping import End
from records.store import DamagedTrial, trials


def tally(folder: Path) -> Tally:
    """Of the campaign in a folder of this machine; DamagedTrial when campaign.json cannot be read."""
    campaign = read_campaign(folder)
    finished = trials(folder)
    states: Counter[str] = Counter()
    for trial in finished:
        try:
            states[trial.verdict().state.value] += 1
        except DamagedTrial:
            states["damaged"] += 1
    return Tally(
        done=len(finished),
        planned=len(finished) + len(missing(folder, campaign)),
        states=states,
        cells=Counter(found.end.value for found in precisions(folder, campaign).values()),
        packed=sum((trial.path / PACKED).exists() for trial in finished),
    )


def verdicts(found: Tally) -> str:
    """What is said of the trials' verdicts and of the cells' ends, '-' of nothing."""
    text = ", ".join(f"{count} {state}" for state, count in sorted(found.states.items())) or "-"
    if cells := ", ".join(f"{found.cells[end]} {end}" for end in End if found.cells.get(end)):
        text += f"; cells: {cells}"
    return text + (f"; {found.packed} out of a pack" if found.packed else "")
