"""The journey of a trial's messages: captures and ledger in, parts and shares out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from analysis.journey import clients, places, reasons, seen
from analysis.journey.between import Between, by_stations
from analysis.journey.clients import Deliveries
from analysis.journey.messages import Followed, follow_messages
from analysis.journey.nodeways import NodeWays, node_groups, read_node_ways
from analysis.journey.parts import is_link, kind, of_link
from analysis.journey.places import Ends, View
from analysis.journey.responses import Responses, follow_responses, responses
from analysis.journey.seen import Seen
from analysis.journey.ways import Way, Ways
from analysis.recorded import Recorded
from records.audience import of_messages, of_replies
from records.directions import Direction
from records.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """parts[i, j]: seconds of part names[i] (of journey.parts; of links those that were crossed) of attributed
    delivery j.

    latency: of the same deliveries, seconds, as the ledger has it.  wire_known: whether `wire` is a part.  Where
    messages are replied to, a delivery is an answered request, and its latency the response time.

    copies: by direction, mean transmissions per byte of the attributed messages.  hops: of these between nodes of the
    stack's own, mean; None where there are none that stamp.  why: why nothing, or not everything, is known; '' when all
    is.
    """

    account: reasons.Account
    names: tuple[str, ...]
    parts: np.ndarray
    latency: np.ndarray
    wire_known: bool
    copies: dict[Direction, float]
    why: str
    hops: float | None = None

    @property
    def told(self) -> bool:
        """Whether there was something to split, and packets that it could be looked for in."""
        return bool(self.names)


def journey(
    recorded: Recorded, manifest: Manifest, *, published: pa.Table, delivered: pa.Table, damaging: bool,
    shown: Seen | None = None,
) -> Journey:  # fmt: skip
    """Split the latency of every first delivery of a message that was due to be sent inside the window, or, where
    messages are replied to, the response time of every answered one.

    Where connections are encrypted none is asked for.  recorded: the trial's captures with what they hold.  damaging:
    whether its link turns bits over at any time.  shown: what they show, where others have looked; files are then
    empty.  Tables have the shapes of records.schema.  ValueError for packets that are no TCP streams, DamagedTrial for
    a manifest that names no addresses.
    """
    work = manifest.workload
    if work.tls:
        return _nothing(0, reasons.encrypted(work.tls))
    ends = places.ends(manifest)
    views = places.views(recorded, ends)
    of_consumer, of_connection = clients.groups(work.consumers, ends)
    wanted = _wanted(manifest, published, delivered, of_consumer)
    by_servers = seen.by_servers(views, ends)
    peers = not by_servers and (
        not len(ends.servers) or (places.are_peers(views, ends) if shown is None else shown.peers)
    )
    reason = reasons.cannot(
        views, (*work.producers, *work.consumers), stations=_stations(manifest), between_stations=peers
    )
    if reason is not None or not len(wanted):
        return _nothing(len(wanted), reason or wanted.none)
    if shown is None:
        shown = seen.see(views, ends, manifest, published=published, damaging=damaging)
    told = any(len(way.hits.row) for way in shown.ways)
    directions = shown.ways
    if peers or (not told and shown.peers):
        assert shown.between is not None, "it is looked for where no marker was found by servers"
        directions = (shown.between,)
    payloads = [way.payloads for way in directions]
    if not any(len(way.hits.row) for way in directions):
        return _nothing(len(wanted), reasons.unreadable(payloads))
    if (reason := reasons.uncertain(payloads, damaging=damaging)) is not None:
        return _nothing(len(wanted), reason)
    ways = _ways(directions, views, ends, manifest, links=places.links(recorded), of_connection=of_connection,
                 published=published)  # fmt: skip
    found = _followed(wanted, ways)
    told_of = _told(found, wire_known=reasons.wire_known(found.account, views))
    return replace(told_of, why=reasons.explain(found.account, views, payloads, _unseen(manifest, told_of.names)))


def _ways(
    directions: Sequence[Way], views: Sequence[View], ends: Ends, manifest: Manifest, *, links: tuple[str, ...],
    of_connection: dict[int, int], published: pa.Table,
) -> Ways | Between:  # fmt: skip
    """Up and down by servers; or the one from station to station."""
    if len(directions) == 1:
        (way,) = directions
        return by_stations(way, ends, manifest, of_connection=of_connection, published=published)
    up, down = directions
    return Ways(
        up=up,
        down=down,
        manifest=manifest,
        ends=ends,
        of_connection=of_connection,
        published=published,
        server_seen=any(view.place == places.SERVER for view in views),
        links=links,
    )


def stamped_journey(stamps: pa.Table, manifest: Manifest, *, published: pa.Table, delivered: pa.Table) -> Journey:
    """As journey, by what the stack's nodes have stamped instead of what was captured."""
    wanted = _wanted(manifest, published, delivered, node_groups(manifest))
    if not len(wanted):
        return _nothing(0, wanted.none)
    ways = read_node_ways(stamps, manifest, published)
    if not ways.told:
        return _nothing(len(wanted), "the stack's nodes have stamped none of the messages")
    found = _followed(wanted, ways)
    return replace(_told(found, wire_known=False), why=reasons.explain(found.account, (), ()))


def _wanted(
    manifest: Manifest, published: pa.Table, delivered: pa.Table, of_consumer: dict[int, int]
) -> Deliveries | Responses:
    them = manifest.workload.audiences
    arrivals = clients.deliveries(published, delivered, of_messages(them), manifest.window, of_consumer)
    if len(of_messages(them)) == len(them):
        return arrivals
    replies = clients.deliveries(published, delivered, of_replies(them), manifest.window, of_consumer)
    return responses(published, arrivals, replies, manifest.window)


def _followed(wanted: Deliveries | Responses, ways: Ways | Between | NodeWays) -> Followed:
    return follow_responses(wanted, ways) if isinstance(wanted, Responses) else follow_messages(wanted, ways)


def _told(found: Followed, *, wire_known: bool) -> Journey:
    known = found.times.attributed
    parts = found.times.parts[:, known] / 1e9
    shown = [bool(row.any()) or not is_link(name) for name, row in zip(found.times.names, parts, strict=True)]
    return Journey(
        account=found.account,
        names=tuple(name for name, there in zip(found.times.names, shown, strict=True) if there),
        parts=parts[shown],
        latency=found.times.latency[known] / 1e9,
        wire_known=wire_known,
        copies=found.copies,
        why="",
        hops=found.hops,
    )


def _stations(manifest: Manifest) -> int:
    """How many stations have clients."""
    work = manifest.workload
    return len({one.node for one in work.producers} | {one.node for one in work.consumers})


def _unseen(manifest: Manifest, names: Sequence[str]) -> list[str]:
    """The links between routers or servers that have no part, each once."""
    links = dict.fromkeys(capture.link for capture in manifest.captures if capture.link)
    return [link for link in links if of_link(link) not in map(kind, names)]


def _nothing(wanted: int, why: str) -> Journey:
    account = reasons.Account(deliveries=wanted, incomplete=wanted)
    return Journey(
        account=account, names=(), parts=np.empty((0, 0)), latency=np.empty(0), wire_known=False, copies={}, why=why
    )
