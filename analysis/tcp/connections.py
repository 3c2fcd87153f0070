"""Which connection and direction each packet belongs to, ports that are used again included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.capture.columns import Packets
from analysis.tcp.segments import starts_of

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

    A connection begins with its first packet in the capture, or with a SYN whose number is not that of the
    SYN before it; so a capture may begin in its midst, and ports may be used again.  Raises ValueError when
    there are more than MOST_FLOWS.
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
    same = np.broadcast_to(np.int64(0), len(packets))
    return sorted({0, *_openings(packets, pair=same, backward=backward).tolist()})


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
    """Which connection of its pair of ports a packet belongs to: a SYN with another number opens the next."""
    count = len(pair)
    opening = _openings(packets, pair=pair, backward=backward)
    if not len(opening):
        return np.zeros(count, dtype=np.int64)
    starts = starts_of(pair[opening])
    rank = np.arange(len(opening)) - np.repeat(starts, np.diff(np.append(starts, len(opening)))) + 1
    last = np.searchsorted(pair[opening] * count + opening, pair * count + np.arange(count), side="right") - 1
    found: np.ndarray = np.where((last >= 0) & (pair[opening][last] == pair), rank[last], 0)
    return found


def _openings(packets: Packets, *, pair: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """The SYNs with another number than the one before them of their pair of ports, pair after pair."""
    opening = np.flatnonzero(packets.flags & (SYN | ACK) == SYN)
    opening = opening[np.argsort(pair[opening], kind="stable")]
    number = packets.seq[opening].astype(np.int64) << 1 | backward[opening]
    fresh = np.ones(len(opening), dtype=bool)
    fresh[1:] = (pair[opening][1:] != pair[opening][:-1]) | (number[1:] != number[:-1])
    return opening[fresh]
