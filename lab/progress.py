"""Progress of a campaign: one live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.live import Live
from rich.table import Table
from rich.text import Text

from experiments.campaign.launch import Outcome
from experiments.campaign.piece import Budget
from experiments.campaign.watcher import Watcher
from lab.common import is_terminal, out
from records.campaign import Campaign, Cell, Planned
from records.counts import several
from records.stopping import CellPrecision, End

# What building, deploying, proving and stopping add to a trial's own times, until one has been measured.
_OVERHEAD_S = 7.0
_STYLE = {"valid": "green", "invalid": "red", "inconclusive": "yellow", "failed": "bold red"}
_ENDS = {End.PRECISE: "green", End.INCONCLUSIVE: "yellow"}


@dataclass(slots=True)
class Running:
    """A trial under way.  rate: deliveries per second lately; seen: when and how many at the last note."""

    began: float
    phase: str = "build"
    rate: float = 0.0
    seen: tuple[float, int] | None = None

    def note(self, name: str, delivered: int, now: float) -> None:
        """Take in one phase event."""
        self.phase = name
        if name != "load":
            self.rate = 0.0
            return
        if self.seen is not None and now > self.seen[0]:
            self.rate = (delivered - self.seen[1]) / (now - self.seen[0])
        self.seen = (now, delivered)


@dataclass(slots=True)
class CellProgress:
    """planned: trials in all, or at most.  left: not run before this command.  states: of those it has ended.

    precision: how the stopping rule found it, when it needs no more trials.
    """

    planned: int
    left: int
    states: list[str] = field(default_factory=list)
    precision: CellPrecision | None = None

    @property
    def done(self) -> int:
        """Trials of the cell that have ended, in this command or an earlier one."""
        return self.planned - self.left + len(self.states)


class Board:
    """What is known of a running campaign.  `clock` gives seconds and only ever grows."""

    def __init__(
        self,
        campaign: Campaign,
        todo: list[Planned],
        *,
        precisions: Mapping[str, CellPrecision] | None = None,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """precisions: how the cells stand before, by name, where there is a stopping rule.  budget: of the command."""
        self.total, self.ended_trials = len(todo), 0
        self.running: dict[Planned, Running] = {}
        self.cells = {
            cell.name: CellProgress(
                planned=sum(one.cell == cell.name for one in campaign.order),
                left=sum(one.cell == cell.name for one in todo),
            )
            for cell in campaign.cells
        }
        for name, found in (precisions or {}).items():
            cell = self.cells[name]
            cell.planned = found.run + cell.left
            cell.precision = found if found.end is not End.GOING_ON else None
        self._clock, self._budget = clock, budget
        self._spent_s: list[float] = []
        self._expected_s = [_expected(cell) for cell in campaign.cells]

    def started(self, planned: Planned) -> None:
        """A trial begins."""
        self.running[planned] = Running(began=self._clock())

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        """What the trial is doing; delivered: messages so far."""
        self.running[planned].note(name, delivered, self._clock())

    def repeated(self, planned: Planned, why: str) -> None:
        """A trial has ended and will begin again."""
        del self.running[planned]
        out.print(f"{planned.cell} trial {planned.trial}: {why}")

    def widened(self, why: str) -> None:
        """More or fewer trials go beside each other."""
        out.print(why)

    def ended(self, outcome: Outcome) -> None:
        """A trial has ended."""
        del self.running[outcome.planned]
        self.ended_trials += 1
        self._spent_s.append(outcome.seconds / (1 + outcome.beside))
        self.cells[outcome.planned.cell].states.append(str(outcome.state))

    def settled(self, cell: str, precision: CellPrecision, spared: int) -> None:
        """A cell needs no more trials."""
        self.total -= spared
        self.cells[cell].planned -= spared
        self.cells[cell].precision = precision
        out.print(f"{cell}: {precision.text}")

    def left_s(self) -> float:
        """Seconds to go, from the mean of the trials that have ended, else from what the scenario says."""
        known = self._spent_s or self._expected_s
        under_way = sum(self._clock() - one.began for one in self.running.values()) / max(len(self.running), 1)
        return max(sum(known) / len(known) * (self.total - self.ended_trials) - under_way, 0.0)

    def times(self) -> str:
        """The time left of the campaign, and of this piece of it when it is run in pieces."""
        piece = f", {minutes(max(self._budget.left_s(), 0.0))} of this piece" if self._budget else ""
        return f"{minutes(self.left_s())} left{piece}"


class PlainLines(Board):
    """One line when a trial ends, with what did not pass."""

    def ended(self, outcome: Outcome) -> None:
        """Say how it ended, and how long the rest will take."""
        Board.ended(self, outcome)
        out.print(
            f"[{self.ended_trials}/{self.total}] {outcome.planned.cell} trial {outcome.planned.trial}: "
            f"{outcome.state} in {outcome.seconds:.0f} s, {self.times()}",
        )
        for reason in () if outcome.state == "valid" else outcome.reasons:
            out.print(f"    {reason}")


class LiveTable(Board):
    """Redraws itself; what did not pass is printed above the table and stays."""

    def ended(self, outcome: Outcome) -> None:
        """Note the end."""
        Board.ended(self, outcome)
        if outcome.state != "valid":
            one, style = outcome.planned, _STYLE[str(outcome.state)]
            out.print(Text(f"{one.cell} trial {one.trial}: {outcome.state}", style=style))
            for reason in outcome.reasons:
                out.print(Text(f"    {reason}"))

    def draw(self) -> Table:
        """A row per cell, what runs now, and the time left."""
        caption = f"{self.ended_trials} of {several(self.total)}, {self.times()}"
        table = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
        table.add_column("cell", overflow="fold")
        table.add_column("trials", justify="right")
        table.add_column("verdicts")
        table.add_column("now", min_width=16)
        for name, cell in self.cells.items():
            marks = Text()
            for state in cell.states:
                marks.append("● ", style=_STYLE[state])
            if cell.precision is not None:
                marks.append(str(cell.precision.end), style=_ENDS[cell.precision.end])
            now = [one for planned, one in self.running.items() if planned.cell == name]
            doing = ", ".join(one.phase + (f" {one.rate:.0f} msg/s" if one.rate else "") for one in now)
            table.add_row(Text(name, style="bold" if now else ""), f"{cell.done}/{cell.planned}", marks, doing)
        return table


@contextmanager
def watching(
    campaign: Campaign,
    todo: list[Planned],
    precisions: Mapping[str, CellPrecision] | None = None,
    budget: Budget | None = None,
) -> Iterator[Watcher]:
    """A watcher that shows what it is told, in the way that suits standard output."""
    if not is_terminal():
        yield PlainLines(campaign, todo, precisions=precisions, budget=budget)
        return
    board = LiveTable(campaign, todo, precisions=precisions, budget=budget)
    with Live(get_renderable=board.draw, console=out, refresh_per_second=4):
        yield board


def minutes(seconds: float) -> str:
    """Seconds as m:ss, or h:mm:ss."""
    whole, rest = divmod(round(seconds), 60)
    hours, whole = divmod(whole, 60)
    return f"{hours}:{whole:02}:{rest:02}" if hours else f"{whole}:{rest:02}"


def _expected(cell: Cell) -> float:
    times = cell.settings["settings"]["window"]
    return float(times["warmup_s"] + times["window_s"] + min(2.0, times["drain_s"]) + _OVERHEAD_S)
