"""How long a trial may take, on the safe side.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from emulation.kernel.kernel import KernelName
from emulation.profile.profile import LinkProfile
from experiments.campaign.prepare import settings_of
from experiments.trial.connect_time import connect_time, servers_s
from experiments.trial.later_states import usual_seconds
from experiments.workers.place import Place
from records.campaign import Campaign, Cell, Planned
from records.times import TrialTime

# Beside warm-up, window and drain, until one has been measured here.  `python benchmarks/trial_overhead.py` prints
# 9.0 s on the host; the lab kernel builds a network in 10.5 s more (`python benchmarks/emulation_accuracy.py`) and has
# one core for the servers.  On a machine with other work both take twice as long.
OVERHEAD_S: dict[KernelName, float] = {"host": 25.0, "lab": 60.0}
MARGIN = 1.2


@dataclass(slots=True, kw_only=True)
class Durations:
    """What is known of a campaign's trials.

    own_s: of each cell, by name, warm-up, window, the longest drain, and what connecting takes of the link.
    """

    own_s: dict[str, float]
    places: dict[str, Place]
    seen: list[TrialTime] = field(default_factory=list)

    def trial_s(self, cell: str) -> float:
        """Seconds that the next trial of a cell may take: as the longest seen of it, or its times and an overhead.

        The overhead is the largest seen in another cell on the same kernel.  MARGIN is on top of either.
        """
        kernel = self.places[cell].kernel
        alike = [one for one in self.seen if one.kernel == kernel]
        if mine := [one.seconds for one in alike if one.cell == cell]:
            return MARGIN * max(mine)
        return MARGIN * (self.own_s[cell] + max((one.overhead_s for one in alike), default=OVERHEAD_S[kernel]))

    def turn_s(self, turn: Iterable[Planned]) -> float:
        """Seconds that trials may take which begin together."""
        return max(self.trial_s(one.cell) for one in turn)

    def ended(self, planned: Planned, seconds: float, *, load_s: float) -> TrialTime:
        """Take in a trial with a result.  load_s: from go to the end of its drain."""
        overhead_s = max(seconds - load_s, 0.0)
        kernel = self.places[planned.cell].kernel
        time = TrialTime(cell=planned.cell, trial=planned.trial, kernel=kernel, seconds=seconds, overhead_s=overhead_s)
        self.seen.append(time)
        return time

    def failed(self, planned: Planned, seconds: float) -> None:
        """Take in a trial without a result: one that hung may do so again, one that broke off early says nothing."""
        if MARGIN * seconds > self.trial_s(planned.cell):
            self.ended(planned, seconds, load_s=seconds)


def own_s(campaign: Campaign) -> dict[str, float]:
    """Of each cell: warm-up, window, the longest drain, what connecting and proving later states take; seconds."""
    return {cell.name: _own_s(cell) for cell in campaign.cells}


def _own_s(cell: Cell) -> float:
    settings, profile = settings_of(cell), LinkProfile.model_validate(cell.settings["profile"])
    times = settings.window
    connecting = connect_time(settings, profile, kernel="host")  # what is expected is the same on both
    proofs = usual_seconds(settings, profile) if profile.timeline else 0.0
    load_s = float(times.warmup_s + times.window_s + times.drain_s)
    return load_s + connecting.expected_s + proofs + servers_s(settings, limits=False)
