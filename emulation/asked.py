"""What is asked of one direction of a group's link in one of its states, for those who prove it.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emulation import linkplan
from emulation.direction import DirectionProfile
from emulation.line.draws import Draws
from emulation.line.fate import Fate, odds
from emulation.linkplan import LinkPlan
from emulation.loss import Direction, SeededLosses
from emulation.timeline import LinkState


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """side: the group's settings.  air: those that say how long a frame is being sent (see `linkplan.air`).

    loss: the list in force.  pays_for_frames: see LinkPlan.  seeded: whether all of a packet's fate follows from its
    number in the list.
    """

    side: DirectionProfile
    air: DirectionProfile
    loss: SeededLosses
    pays_for_frames: bool = False
    seeded: bool = False

    @property
    def direction(self) -> Direction:
        """Which way."""
        return self.loss.direction

    def fates(self, first: int, packets: int) -> Iterator[Fate | None]:
        """The fates of packets from number `first` on; None = lost."""
        draws, lost = Draws(self.loss.seed, self.loss.name), frozenset(self.loss.indices.tolist())
        chances = odds(self.side)
        for number in range(first, first + packets):
            yield None if number % self.loss.modulus in lost else chances.fate(draws, number)


def asked_of(plan: LinkPlan, state: LinkState, group: int, direction: Direction) -> Asked:
    """What a plan asks of a group's direction while the link is in `state`."""
    return Asked(
        side=linkplan.side(state, group, direction),
        air=linkplan.air(plan, state, group, direction),
        loss=plan.in_force(state, group, direction),
        pays_for_frames=plan.pays_for_frames,
        seeded=plan.made_by == "line",
    )
