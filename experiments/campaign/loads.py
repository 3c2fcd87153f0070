"""What a trial of each cell takes of the machine's processors, by those that have run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from records.manifest import Manifest
from records.store import DamagedTrial, Trial, aside_of, trials, trials_of
from records.verdict import State


@dataclass(slots=True)
class Loads:
    """Shares of the processors, 0 to 1, by cell: of the last trial, the share that was in use by all of its turn."""

    _known: dict[str, float] = field(default_factory=dict)

    @classmethod
    def seen(cls, campaign: Path) -> Loads:
        """By the trials in a campaign's folder; of a cell without any, by those that were set aside."""
        loads = cls()
        for path in (*aside_of(campaign), *(trial.path for trial in trials(campaign))):
            with suppress(DamagedTrial):
                loads.note(path.parent.name, Trial(path).manifest())
        return loads

    def note(self, cell: str, manifest: Manifest) -> None:
        """A trial has ended."""
        if manifest.machine_cpu is not None:
            self._known[cell] = manifest.machine_cpu / (1 + len(manifest.beside))

    def of(self, cell: str) -> float:
        """Of a cell that has not run, what the others take in the mean; 0 when none has."""
        return self._known.get(cell, mean(self._known.values()) if self._known else 0.0)


def last_alone_cpu(cell: Path) -> float | None:
    """The processor share of the last valid trial in a cell's folder that ran alone, None when there is none."""
    for trial in reversed(trials_of(cell)):
        with suppress(DamagedTrial):
            manifest = trial.manifest()
            if not manifest.beside and manifest.machine_cpu is not None and trial.verdict().state is State.VALID:
                return manifest.machine_cpu
    return None
