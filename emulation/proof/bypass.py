"""Whether all that came to the access point met its losses and outages: a kernel's other hooks can lead past them."""

from __future__ import annotations

from collections.abc import Iterator

from emulation.tc.losstable import StageCount
from records.directions import Direction
from records.link import LinkCheck

# Between the two hooks, on another processor, when the counters were read.
_UNDER_WAY = 2


def bypass_checks(first: StageCount, last: StageCount) -> Iterator[LinkCheck]:
    """Packets that came between two readings of the loss stage and did not meet it, of each direction.

    What must have met it is counted where packets come into the bridge, before anything could take them away; where
    nothing was counted there, by the ports.  So a link that lost nothing has been seen to let pass what came.
    """
    for direction in last.entered:
        yield _check(first, last, direction)


def _check(first: StageCount, last: StageCount, direction: Direction) -> LinkCheck:
    met = last.met(direction) - first.met(direction)
    dark = last.dark[direction] - first.dark[direction]
    (before, after), (since, until) = last.entered[direction], first.entered[direction]
    fewest, most = before - until, after - since
    received = last.received[direction] - first.received[direction]
    if not most:
        fewest = most = received
    missing = max(fewest - met, 0) - max(met - most, 0)
    return LinkCheck(
        quantity="bypass",
        direction=direction,
        source="trial",
        asked=0,
        delivered=missing,
        low=-_UNDER_WAY,
        high=_UNDER_WAY if met else 0,
        detail=f"{met} of {max(fewest, 0)} packets met the loss stage, {dark} of them an outage",
    )
