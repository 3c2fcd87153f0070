"""What is asked of one direction of a group's link in one of its states, for those who prove it.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from emulation.line.draws import Draws
from emulation.line.fate import Fate, odds
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.plan.loss import SeededLosses
from emulation.profile import distribution
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.timeline import LinkState
from records.directions import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """side: the group's settings.  air: those that say how long a frame is being sent (see `linkplan.air`).

    loss: the list in force.  pays_for_frames: see LinkPlan.  seeded: whether all of a packet's fate follows from its
    number in the list.  parts: of a way through several directions (emulation.proof.between), these, in order; `side`
    and `air` are then those of one direction that would come to the same.  one_air: whether the parts share one.
    one_queue: whether those of a group share a queue there, since whoever comes first goes first.
    crowded: whether the probes of several groups share the air, and wait for one another there.
    """

    side: DirectionProfile
    air: DirectionProfile
    loss: SeededLosses
    pays_for_frames: bool = False
    seeded: bool = False
    parts: tuple[Asked, ...] = ()
    one_air: bool = False
    one_queue: bool = True
    crowded: bool = False

    @property
    def direction(self) -> Direction:
        """Which way; of several the first."""
        return self.loss.direction

    @property
    def hops(self) -> tuple[Asked, ...]:
        """The directions that a packet meets, in order."""
        return self.parts or (self,)

    @property
    def keeps_order(self) -> bool:
        """Whether no packet may overtake another."""
        return order_is_kept(self.side)

    @property
    def numbered(self) -> bool:
        """Whether it is known which number each packet has in each list.

        By tc nobody knows which packets another direction before has copied, damaged or let others overtake.
        """
        before = self.hops[:-1]
        return self.seeded or all(one.keeps_order and not one.side.duplicate and not one.side.corrupt for one in before)

    @property
    def alone_s(self) -> float:
        """How far apart (s) frames are at least, for none to come down while another goes up: it would wait, or not.

        A bucket of tc lets one frame pass at once; where fates are known, so is how long each waits.
        """
        if not self.one_air or self.side.rate is None or self.seeded:
            return 0.0
        return self.side.airtime(FULL_FRAME) + sum(one.side.delay + distribution.longest(one.side) for one in self.hops)

    def fates(self, first: int, packets: int) -> Iterator[Fate | None]:
        """The fates of packets from number `first` on in a single direction; None = lost."""
        draws, chances = Draws(self.loss.seed, self.loss.name), odds(self.side)
        for number, lost in enumerate(self.loss.lists(np.arange(first, first + packets)).tolist(), first):
            yield None if lost else chances.fate(draws, number)

    def passed(self, packets: int) -> int:
        """How many come out of a single direction when so many have gone in, by its list and, if known, their fates."""
        if not self.seeded:
            return packets - self.loss.dropped_of(packets)
        return sum(1 + (one.copy_ns is not None) for one in self.fates(0, packets) if one is not None)

    def lost(self, packets: int) -> np.ndarray:
        """Which of the first `packets` the lists say are lost, where these are all that happens to packets."""
        found = np.zeros(packets, dtype=bool)
        for one in self.hops:
            left = np.flatnonzero(~found)
            found[left] = one.loss.lists(np.arange(len(left)))
        return found


def order_is_kept(side: DirectionProfile) -> bool:
    """Whether no packet of a direction may overtake another."""
    return not side.reorder and (side.keep_order or not side.jitter)


def asked_of(plan: LinkPlan, state: LinkState, group: int, direction: Direction, station: str = "") -> Asked:
    """What a plan asks of a group's direction while the link is in `state`; of a station's, or the group's first."""
    return Asked(
        side=linkplan.side(state, group, direction),
        air=linkplan.air(plan, state, group, direction),
        loss=plan.in_force(state, group, direction, station),
        pays_for_frames=plan.pays_for_frames,
        seeded=plan.made_by == "line",
        crowded=plan.profile.medium == "shared" and sum(map(bool, plan.groups)) > 1,
    )
