"""Who is told how a campaign goes."""

from __future__ import annotations

from typing import Protocol

from experiments.campaign.launch import Outcome
from records.campaign import Planned
from records.stopping import CellPrecision


class Watcher(Protocol):
    """Somebody who is told how a campaign goes, always by the same thread."""

    def started(self, planned: Planned) -> None:
        """A trial begins."""

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        """What the trial is doing; delivered: messages so far."""

    def repeated(self, planned: Planned, why: str) -> None:
        """A trial that had begun has ended and will begin again."""

    def widened(self, why: str) -> None:
        """More or fewer trials than before go beside each other from now on."""

    def ended(self, outcome: Outcome) -> None:
        """A trial has ended."""

    def settled(self, cell: str, precision: CellPrecision, spared: int) -> None:
        """A cell needs no more trials by the stopping rule; spared: how many of its planned ones."""
