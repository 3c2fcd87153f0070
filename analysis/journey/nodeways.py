"""From node to node of a stack's own, each of which has stamped when it had a message: records.schema.STAMPS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.journey.clients import ABSENT, AMBIGUOUS, HOME, Deliveries, published_row
from analysis.journey.reasons import Kind
from analysis.journey.split import split_stamped
from analysis.journey.ways import Crossing
from records.manifest import Manifest
from records.stamps import Point

_NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Walks:
    """The way to each stamp at which an application was given a message; for all others it means nothing.

    first: the stamp at which it began, ABSENT where a stamp on the way is missing.  spent: nanoseconds, a row each: at
    the first node, between nodes, at nodes that passed it on, at the last node.  hops: between nodes.
    """

    first: np.ndarray
    spent: np.ndarray
    hops: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWays:
    """What went by the stack's nodes, in the place of ways.Ways.  A hit is the number of a stamp.

    Deliveries' groups are nodes (node_groups).  Of several applications on a node the first that has a message counts.
    sent: for each message, and behind these for each reply, the stamp with which it came from an application.  got:
    stamps with which they were given to one, in the order of their keys (_keys), and given: these keys.
    """

    kind: Kind = "overlay"
    published: pa.Table
    t_ns: np.ndarray
    node: np.ndarray
    walks: Walks
    sent: np.ndarray
    got: np.ndarray
    given: np.ndarray
    nodes: int

    @property
    def told(self) -> bool:
        """Whether a message of the ledger was stamped at all."""
        return len(self.t_ns) > 0

    def of_messages(self, wanted: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each delivery the stamp with which it came from its producer, and the one with which it was given."""
        return self._hits(wanted, replies=False)

    def of_replies(self, served: Deliveries, replied: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each reply, likewise."""
        sent, got = self._hits(replied, replies=True)
        # Its node is where the request was served, or it is another's.
        elsewhere = (sent >= 0) & (self.node[np.maximum(sent, 0)] != served.group)
        return np.where(elsewhere, ABSENT, sent), got

    def crossing(self, *, sent: np.ndarray, got: np.ndarray, t_begin_ns: np.ndarray, t_end_ns: np.ndarray) -> Crossing:
        """As ways.Ways.crossing.  The nodes' clock is the ledger's."""
        times = split_stamped(
            t_sched_ns=t_begin_ns, t_recv_ns=t_end_ns, taken_ns=self.t_ns[sent], given_ns=self.t_ns[got],
            spent=self.walks.spent[:, got], known=self.walks.first[got] == sent,
        )  # fmt: skip
        return Crossing(times=times, copies=(), hops=self.walks.hops[got])

    def _hits(self, wanted: Deliveries, *, replies: bool) -> tuple[np.ndarray, np.ndarray]:
        message = wanted.row + replies * len(self.published)
        sent = self.sent[message]
        got = np.full(len(wanted), ABSENT, dtype=np.int64)
        if len(self.given):
            key = message * self.nodes + wanted.group
            at = np.minimum(np.searchsorted(self.given, key), len(self.given) - 1)
            there = (wanted.group >= 0) & (self.given[at] == key)
            got[there] = self.got[at[there]]
            stayed = (got >= 0) & (sent >= 0)
            stayed[stayed] = (self.walks.first[got] == sent)[stayed] & (self.walks.hops[got] == 0)[stayed]
            sent, got = np.where(stayed, HOME, sent), np.where(stayed, HOME, got)
        return sent, got


def node_groups(manifest: Manifest) -> dict[int, int]:
    """For each consumer the number of its node, as stamps have it."""
    number = {node.name: place for place, node in enumerate(manifest.nodes)}
    return {one.id: number[one.node] for one in manifest.workload.consumers if one.node in number}


def read_node_ways(stamps: pa.Table, manifest: Manifest, published: pa.Table) -> NodeWays:
    """The ways of what the ledger knows."""
    columns = {
        name: stamps.column(name).to_numpy().astype(np.int64)
        for name in ("node", "point", "reply", "producer", "seq", "t_ns")
    }
    columns["peer"] = stamps.column("peer").fill_null(_NOBODY).to_numpy().astype(np.int64)
    row = published_row(published, columns["producer"], columns["seq"])
    known = np.flatnonzero(row >= 0)
    order = known[np.argsort(columns["t_ns"][known], kind="stable")]
    node, point, peer, t_ns = (columns[name][order] for name in ("node", "point", "peer", "t_ns"))
    message, nodes = row[order] + columns["reply"][order] * len(published), max(len(manifest.nodes), 1)
    before = _before(message, node, point, peer, nodes)
    last = np.flatnonzero(point == Point.TO_APPLICATION)
    given, which = np.unique(message[last] * nodes + node[last], return_index=True)
    return NodeWays(
        published=published,
        t_ns=t_ns,
        node=node,
        walks=_walked(point, t_ns, before),
        sent=_sent(message, np.flatnonzero(point == Point.FROM_APPLICATION), 2 * len(published)),
        got=last[which],
        given=given,
        nodes=nodes,
    )


def _sent(message: np.ndarray, began: np.ndarray, messages: int) -> np.ndarray:
    found = np.full(messages, ABSENT, dtype=np.int64)
    found[message[began]] = began
    found[np.bincount(message[began], minlength=messages) > 1] = AMBIGUOUS
    return found


def _before(message: np.ndarray, node: np.ndarray, point: np.ndarray, peer: np.ndarray, nodes: int) -> np.ndarray:
    """For each stamp the one before it on its message's way, ABSENT where there is none.

    What a node gives it has from whom it came last; what it has from a peer is what that one has last given to it.
    """
    comes = (point == Point.FROM_APPLICATION) | (point == Point.FROM_PEER)
    at_node = _last(message * nodes + node, comes)
    between = np.flatnonzero((point == Point.TO_PEER) | (point == Point.FROM_PEER))
    arrives = point[between] == Point.FROM_PEER
    here, there = node[between], np.where(peer[between] == _NOBODY, nodes, peer[between])
    width = nodes + 1  # with nobody, as a peer that is no node of the trial
    link = np.where(arrives, there * width + here, here * width + there)
    from_peer = _last(message[between] * width * width + link, ~arrives)
    found = np.where(comes, ABSENT, at_node)
    found[between] = np.where(arrives, np.append(between, ABSENT)[from_peer], found[between])
    return found


def _last(group: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each row the last one that is wanted of the same group, up to it; ABSENT where there is none.

    Rows are in order of time.
    """
    order = np.argsort(group, kind="stable")
    place = np.arange(len(order))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = group[order][1:] != group[order][:-1]
    begin = np.maximum.accumulate(np.where(begins, place, 0))
    latest = np.maximum.accumulate(np.where(wanted[order], place, -1))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.where(latest >= begin, order[latest], ABSENT)
    return found


def _walked(point: np.ndarray, t_ns: np.ndarray, before: np.ndarray) -> Walks:
    """Every way back from where an application was given something."""
    first = np.full(len(t_ns), ABSENT, dtype=np.int64)
    spent, hops = np.zeros((4, len(t_ns)), dtype=np.int64), np.zeros(len(t_ns), dtype=np.int64)
    end = np.flatnonzero(point == Point.TO_APPLICATION)
    came = before[end]
    end, came = end[came >= 0], came[came >= 0]
    spent[3, end] = t_ns[end] - t_ns[came]
    while len(end):
        home = point[came] == Point.FROM_APPLICATION
        first[end[home]] = came[home]
        end, came = end[~home], came[~home]
        left = before[came]
        earlier = np.where(left >= 0, before[left], ABSENT)
        end, came, left, earlier = (some[earlier >= 0] for some in (end, came, left, earlier))
        hops[end] += 1
        spent[1, end] += t_ns[came] - t_ns[left]
        stay = np.where(point[earlier] == Point.FROM_APPLICATION, 0, 2)
        spent[stay, end] += t_ns[left] - t_ns[earlier]
        came = earlier
    return Walks(first=first, spent=spent, hops=hops)
