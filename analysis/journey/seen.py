"""What a trial's captures show of its messages' ways: of all connections, or of some of them, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from analysis.arrays import joined
from analysis.journey import places
from analysis.journey.between import read_between
from analysis.journey.passages import Payloads
from analysis.journey.places import Ends, View
from analysis.journey.ways import Way, read_way
from records.directions import DIRECTIONS
from records.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """ways: up and down by servers, where there are any behind a medium.  between: from station to station, read where
    no marker was found on the other two.  peers: whether packets with payload went so, where that was looked for.
    """

    ways: tuple[Way, ...]
    between: Way | None
    peers: bool


def by_servers(views: Sequence[View], ends: Ends) -> bool:
    """Whether messages may have gone over the medium to a server."""
    return len(ends.servers) > 0 and any(view.place == places.WIRED for view in views)


def see(views: Sequence[View], ends: Ends, manifest: Manifest, *, published: pa.Table, damaging: bool) -> Seen:
    """What these views show; they may hold the packets of some connections only, then whole ones.

    ValueError for packets that are no TCP streams.
    """
    ways: tuple[Way, ...] = ()
    if by_servers(views, ends):
        ways = tuple(
            read_way(views, ends, manifest, direction, published=published, damaging=damaging)
            for direction in DIRECTIONS
        )
    if any(len(way.hits.row) for way in ways):
        return Seen(ways=ways, between=None, peers=False)
    between = read_between(views, ends, manifest, published=published, damaging=damaging)
    return Seen(ways=ways, between=between, peers=places.are_peers(views, ends))


def together(some: Sequence[Seen]) -> Seen:
    """What is shown of different connections, one or more, of the same trial."""
    between = [one.between for one in some if one.between is not None]
    return Seen(
        ways=tuple(_joined(each) for each in zip(*(one.ways for one in some), strict=True)),
        between=_joined(between) if between else None,
        peers=any(one.peers for one in some),
    )


def _joined(some: Sequence[Way]) -> Way:
    if len(some) == 1:
        return some[0]
    first = np.cumsum([0, *(len(way.flows) for way in some)])
    hits = joined([way.hits for way in some])
    flow = np.concatenate([way.hits.flow + at for way, at in zip(some, first[:-1], strict=True)])
    kept = [way.payloads for way in some]
    return replace(
        some[0],
        flows=joined([way.flows for way in some]),
        hits=replace(hits, flow=flow),
        leg=joined([way.leg for way in some]),
        turned=np.concatenate([way.turned for way in some]),
        turns=any(way.turns for way in some),
        payloads=Payloads(
            there=any(one.there for one in kept),
            most_kept=max(one.most_kept for one in kept),
            cut=any(one.cut for one in kept),
        ),
    )
