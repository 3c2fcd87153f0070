"""A link's counters at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.link.link import Link
from emulation.tc.losstable import StageCount
from emulation.tc.queuecounts import QueueCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The link's counters at one moment (CLOCK_MONOTONIC)."""

    t_ns: int
    queues: tuple[QueueCount, ...]
    stage: StageCount


def reading(link: Link) -> Reading:
    """Read them now."""
    t_ns, queues = link.timed_queue_counts()
    return Reading(t_ns=t_ns, queues=queues, stage=link.stage_counts())
