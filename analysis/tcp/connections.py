"""Which connection and direction each packet belongs to, ports that are used again included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.capture.columns import Packets
from analysis.tcp.segments import latest, spread, starts_of

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
MOST_FLOWS = 2_000_000  # so many spans of offsets fit into 63 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Directed flows, one row each, sorted by `key`; the opposite direction of key k is k ^ 1."""

    key: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    dport: np.ndarray
    reverse: np.ndarray  # row of the opposite direction, -1 when the capture has none of its packets


def find_flows(packets: Packets) -> tuple[Flows, np.ndarray]:
    """The flows of TCP packets, and each packet's row among them.

    A connection begins with its first packet in the capture, or with a SYN whose number is not the one its
    direction has begun with; so a capture may begin in its midst or have a SYN behind its answer, both sides may
    send one, and ports may be used again.  Raises ValueError when there are more than MOST_FLOWS.
    """
    source, target = _ends(packets)
    ends = np.unique(np.concatenate([np.unique(source), np.unique(target)]))
    a, b = np.searchsorted(ends, source), np.searchsorted(ends, target)
    pair = np.minimum(a, b) * len(ends) + np.maximum(a, b)
    if 2 * len(ends) ** 2 * (len(pair) + 1) > np.iinfo(np.int64).max:
        pair = np.searchsorted(np.unique(pair), pair)
    backward = (a > b).astype(np.int64)
    epoch = _epochs(packets, pair=pair, backward=backward)
    key = (pair * (int(epoch.max(initial=0)) + 1) + epoch) * 2 + backward
    keys, first = np.unique(key, return_index=True)
    if len(keys) > MOST_FLOWS:
        raise ValueError(f"{len(keys)} TCP flows in one capture, at most {MOST_FLOWS} are analysed: split it by time")
    opposite = np.searchsorted(keys, keys ^ 1)
    opposite[opposite == len(keys)] = 0
    flows = Flows(
        key=keys,
        src=packets.src[first],
        dst=packets.dst[first],
        sport=packets.sport[first],
        dport=packets.dport[first],
        reverse=np.where(keys[opposite] == keys ^ 1, opposite, -1) if len(keys) else opposite,
    )
    return flows, np.searchsorted(keys, key)


def connection_starts(packets: Packets, backward: np.ndarray) -> list[int]:
    """Where connections begin among all packets between two ports, the first one at 0.  backward: not as the first."""
    same, syn = np.broadcast_to(np.int64(0), len(packets)), _syns(packets)
    early = np.full(len(syn), len(syn) > 0 and syn[0] > 0)
    return sorted({0, *syn[_openings(packets, syn, pair=same, backward=backward, early=early)].tolist()})


def joined_flows(some: Sequence[Flows]) -> Flows:
    """Those of several connections, in order."""
    at = np.cumsum([0, *(len(one.key) for one in some)])
    names = ("key", "src", "dst", "sport", "dport")
    return Flows(
        **{name: np.concatenate([getattr(one, name) for one in some]) for name in names},
        reverse=np.concatenate(
            [np.where(one.reverse < 0, -1, one.reverse + low) for one, low in zip(some, at[:-1], strict=True)]
        ),
    )


def _ends(packets: Packets) -> tuple[np.ndarray, np.ndarray]:
    """Address and port as one number, of both ends.  Addresses of IPv6 leave no room: they are numbered first."""
    src, dst = packets.src, packets.dst
    if len(src) and min(src.min(), dst.min()) < 0:
        addresses = np.unique(np.concatenate([np.unique(src), np.unique(dst)]))
        src, dst = np.searchsorted(addresses, src), np.searchsorted(addresses, dst)
    return src << 16 | packets.sport, dst << 16 | packets.dport


def _epochs(packets: Packets, *, pair: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Which connection of its pair of ports a packet belongs to."""
    count = len(pair)
    syn = _syns(packets)
    if not len(syn):
        return np.zeros(count, dtype=np.int64)
    syn = syn[np.argsort(pair[syn], kind="stable")]
    of = pair[syn]
    last = np.searchsorted(of * count + syn, pair * count + np.arange(count), side="right") - 1
    behind = (last >= 0) & (of[last] == pair)  # a SYN of its ports
    ahead = last[~behind] + 1
    early = np.zeros(len(syn) + 1, dtype=bool)
    early[ahead[np.append(of, -1)[ahead] == pair[~behind]]] = True
    fresh = _openings(packets, syn, pair=pair, backward=backward, early=early[:-1])
    starts, rank = starts_of(of), np.cumsum(fresh)
    rank -= spread(rank[starts] - fresh[starts], starts, len(syn))
    found: np.ndarray = np.where(behind, rank[last], 0)
    return found


def _syns(packets: Packets) -> np.ndarray:
    found: np.ndarray = np.flatnonzero(packets.flags & SYN)
    return found


def _openings(
    packets: Packets, syn: np.ndarray, *, pair: np.ndarray, backward: np.ndarray, early: np.ndarray
) -> np.ndarray:
    """Which of the SYNs `syn` (and SYN-ACKs, which never do), pair after pair of ports, open a connection.

    early: whether other packets of its pair stand before a pair's first SYN.  One opens where the number that its
    direction begins with is known in the connection up to there, and is another.  Behind a SYN of the same direction
    it is that one's.  Where the direction turns it hangs on where the connection began, so on what the SYNs of the
    other direction did: a chain of conditions, solved from the last one that is known (`_chained`).
    """
    of, way, seq = pair[syn], backward[syn], packets.seq[syn]
    asks = packets.flags[syn] & ACK == 0
    first = np.zeros(len(syn), dtype=bool)
    first[starts_of(of)] = True
    turn = first.copy()
    turn[1:] |= way[1:] != way[:-1]
    fresh: np.ndarray = first & ~early & asks
    fresh[1:] |= ~turn[1:] & asks[1:] & (seq[1:] != seq[:-1])
    rows = np.flatnonzero(turn & asks & (~first | early))
    if not len(rows):
        return fresh
    known, turns = latest(fresh)[rows - 1], np.flatnonzero(turn)
    other = turns[np.maximum(np.searchsorted(turns, rows) - 1, 0)]  # the first of those before, of the other direction
    opened = ~first[rows] & fresh[known] & (known >= other)
    may_have = opened | (~first[rows] & asks[other])
    if_not = seq[other - 1]
    begin = first[rows] | (first[other] & ~opened)
    if_not[begin] = _first_numbers(packets, pair, backward, of=of[rows[begin]], way=way[rows[begin]])
    if_so = if_not.copy()
    since = syn[np.where(opened, known, other)[may_have]]
    if_so[may_have] = _first_numbers(
        packets, pair, backward, of=of[rows[may_have]], way=way[rows[may_have]], since=since
    )
    if_not[opened] = if_so[opened]
    fresh[rows] = _chained(if_so != seq[rows], if_not != seq[rows])
    return fresh


def _first_numbers(
    packets: Packets, pair: np.ndarray, backward: np.ndarray, *, of: np.ndarray, way: np.ndarray,
    since: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """With which number the directions `way` of pairs `of` begin, by the first packet from row `since` on that tells.

    It is a SYN's number, that before any other packet's, or that before what the other direction acknowledges first.
    """
    count = len(pair)
    since = np.zeros(len(of), dtype=np.int64) if since is None else since
    if not len(of):
        return np.empty(0, dtype=np.uint32)
    rows = np.flatnonzero(np.isin(pair, of))
    rows = rows[np.argsort(pair[rows], kind="stable")]
    found = np.empty(len(of), dtype=np.uint32)
    for one in np.unique(way):
        tells = rows[(backward[rows] == one) | (packets.flags[rows] & ACK != 0)]
        mine = np.flatnonzero(way == one)
        at = tells[np.searchsorted(pair[tells] * count + tells, of[mine] * count + since[mine])]
        own, plain = packets.seq[at] - (packets.flags[at] & SYN == 0), packets.ack[at] - np.uint32(1)
        found[mine] = np.where(backward[at] == one, own, plain)
    return found


def _chained(if_so: np.ndarray, if_not: np.ndarray) -> np.ndarray:
    """A chain of conditions: each is `if_so` where the one before it holds, and else `if_not`."""
    settled = latest(if_so == if_not)
    turned = np.cumsum(~if_so & if_not)
    found: np.ndarray = if_so[settled] ^ ((turned - turned[settled]) % 2 == 1)
    return found
