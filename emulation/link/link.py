"""A plan in force between the stations and the wired side, whatever makes it: the one place that knows both ways."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from emulation.kernel.accesspoint import Ports
from emulation.kernel.netlink import Netlink
from emulation.line import link as line
from emulation.line.serving import LineProcess
from emulation.plan.linkplan import LinkPlan, Queue
from emulation.profile.timeline import LinkState
from emulation.tc import player, shaper
from emulation.tc.losstable import LossCount, StageCount
from emulation.tc.player import Played
from emulation.tc.queuecounts import QueueCount


class Link(Protocol):
    """A link that is in force.  Its counters start at zero, and those of its losses again with `renumber`."""

    @property
    def plan(self) -> LinkPlan:
        """What it was made of."""

    @property
    def ports(self) -> Ports:
        """Where it is."""

    @property
    def shaped(self) -> tuple[Queue, ...]:
        """Its queues, in the order of their counters."""

    @property
    def devices(self) -> frozenset[str]:
        """Interfaces of the access point at which packets can be lost for want of processor time."""

    def check(self) -> None:
        """Raise KernelError when it does not work any more, with why."""

    def queue_counts(self) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue."""

    def timed_queue_counts(self) -> tuple[int, tuple[QueueCount, ...]]:
        """The moment (CLOCK_MONOTONIC, ns) and the counters of every shaped queue then."""

    def read_queues(self, netlink: Netlink) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue; the calling thread is in the access point's namespace."""

    def loss_counts(self) -> tuple[LossCount, ...]:
        """Counters of the loss stage, in the order of the plan's losses."""

    def stage_counts(self) -> StageCount:
        """All counters of the loss stage, and those of what came to it."""

    def renumber(self) -> None:
        """Count packets from zero again: what passed until now has no part in what follows."""

    def go_through(self, states: Sequence[LinkState]) -> None:
        """Take the link through states of its plan, one after the other, at once."""


class Player(Protocol):
    """Plays a link's timeline.  played: the steps that were in force, in order."""

    @property
    def played(self) -> Sequence[Played]:
        """What was in force, and when."""

    def start(self, start_ns: int) -> None:
        """Begin; `start_ns` (CLOCK_MONOTONIC) is moment 0 of the timeline."""


def applied(
    plan: LinkPlan, ports: Ports, process: LineProcess | None = None, name: str = "link"
) -> AbstractContextManager[Link]:
    """Put a plan's link between the stations and the wired side for as long as the context lasts.

    process: what carries it if the line makes it, by that name; None = one of its own.  KernelError says what was
    refused.
    """
    return line.applied(plan, ports, process, name) if plan.made_by == "line" else shaper.applied(plan, ports)


def playing(link: Link) -> AbstractContextManager[Player]:
    """Have a player ready for a link's timeline; raises what ended it too early, when the context ends."""
    if isinstance(link, line.LineLink):
        return line.playing(link)
    assert isinstance(link, shaper.AppliedLink)
    return player.playing(link)
