"""Cells that the link decides: where it is full and the machine idles, another processor would measure the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from experiments.campaign.prepare import settings_of
from experiments.scenario.limits import MACHINE_CPU
from records.campaign import Cell
from records.link import LinkProof, QueueCounters
from records.manifest import Manifest
from records.store import DamagedTrial, Trial
from records.verdict import State

# Of the rate, in the window.  Losses make TCP pause: on the 2005 study's channel it used 79 to 91 % (README).
FULL = 0.75


def link_decides(cell: Cell, finished: Sequence[Trial]) -> bool:
    """Whether a cell's numbers are those of its link: the scenario says so, or all its valid trials have shown it.

    A scenario says so by naming the cell in `parallel.when`.  A trial shows it when the fullest queue of its link
    carried at least FULL of its rate in the window while all of the machine together had less to do than 60 % of one
    processor, so that no thread of any process can have been at its limit.
    """
    if settings_of(cell).parallel.names(cell.levels):
        return True
    shown = []
    for trial in finished:
        with suppress(DamagedTrial):
            if trial.verdict().state is State.VALID:
                shown.append(_shows_it(trial.manifest(), trial.link()))
    return bool(shown) and all(shown)


def _shows_it(manifest: Manifest, proof: LinkProof) -> bool:
    cpu = manifest.machine_cpu
    return cpu is not None and cpu * manifest.machine.cores <= MACHINE_CPU and fullest(proof) >= FULL


def fullest(proof: LinkProof) -> float:
    """Share of the window in which the busiest queue of a link transmitted.

    0 where the link has no rate, or a timeline that may change it.
    """
    window = next((one for one in proof.counters if one.during == "window"), None)
    if window is None or window.seconds <= 0 or proof.events:
        return 0.0
    return max((_busy_s(queue, proof) for queue in window.queues), default=0.0) / window.seconds


def _busy_s(queue: QueueCounters, proof: LinkProof) -> float:
    down = queue.name.startswith("downlink")
    rate, overhead = (
        (proof.rate_downlink, proof.overhead_downlink) if down else (proof.rate_uplink, proof.overhead_uplink)
    )
    return queue.bytes * 8 / rate + queue.packets * overhead if rate else 0.0
