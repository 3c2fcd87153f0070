"""Knowing a packet again at another port: a bridge changes nothing in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.capture.columns import Packets

NONE, SEVERAL = -1, -2
COMPARED = ("flow", "seq", "ip_id", "payload", "content", "source", "checksum")  # what same_packets asks of a row
_ETHERNET_BYTES, _IP_BYTES, _MAC_BYTES = 14, 20, 6
_TCP_CHECKSUM_AT, _UDP_CHECKSUM_AT, _UDP_BYTES = 16, 6, 8


def contents(data: np.ndarray, packets: Packets, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Sums of the bytes of the frames `rows`, as far as they are kept: one damaged bit makes another sum.

    content: of all but what the others are of.  source: the sender's MAC address, which nobody checks.  checksum:
    that of TCP or UDP, which the network writes first when it has to damage a packet that came without (netem).
    Frames are Ethernet, and IPv4 without options.  Rows are in file order.
    """
    header = packets.wire[rows].astype(np.int64) - packets.payload[rows]
    start = packets.at[rows] - header
    stop = packets.at[rows] + packets.kept_payload[rows]
    transport = start + _ETHERNET_BYTES + _IP_BYTES
    udp = header == _ETHERNET_BYTES + _IP_BYTES + _UDP_BYTES
    source = _sum(data, start + _MAC_BYTES, _MAC_BYTES)
    checksum = _sum(data, transport + np.where(udp, _UDP_CHECKSUM_AT, _TCP_CHECKSUM_AT), 2)
    bounds = np.stack([start, stop], axis=1).ravel()
    if len(bounds) and bounds[-1] >= len(data):  # numpy wants no bound at the end, and sums up to there without one
        bounds = bounds[:-1]
    whole = np.add.reduceat(data, bounds, dtype=np.int64)[::2] if len(bounds) else bounds
    return {"content": whole - source - checksum, "source": source, "checksum": checksum}


def _sum(data: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
    found: np.ndarray = data[start[:, None] + np.arange(count)].sum(axis=1, dtype=np.int64)
    return found


def same_packets(
    origin: Mapping[str, np.ndarray], arrival: Mapping[str, np.ndarray], numbers: np.ndarray
) -> np.ndarray:
    """For each row of `arrival` the number of the row of `origin` with the same flow, sequence number, IP
    identification, length and content; NONE when there is none, SEVERAL when there are more.

    numbers: of the rows of `origin`.  A packet with another checksum is the same when its source is another, too:
    damage is one bit, and it was there.
    """
    high, low = (np.concatenate(both) for both in zip(_numbers(origin), _numbers(arrival), strict=True))
    order = np.lexsort((low, high))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    here, there = group[: len(numbers)], group[len(numbers) :]
    count = np.bincount(here, minlength=len(order))
    number = np.full(len(order), NONE, dtype=np.int64)
    number[here] = numbers
    row = np.full(len(order), NONE, dtype=np.int64)
    row[here] = np.arange(len(numbers))
    sender = row[there]
    damaged = sender != NONE
    damaged[damaged] = (arrival["checksum"][damaged] != origin["checksum"][sender[damaged]]) & (
        arrival["source"][damaged] == origin["source"][sender[damaged]]
    )
    found: np.ndarray = np.where(damaged, NONE, np.where(count[there] > 1, SEVERAL, number[there]))
    return found


def identity(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """IP identification, length and content as one number: content is below 2**25, a payload below 2**16."""
    found: np.ndarray = rows["ip_id"] << 41 | rows["payload"] << 25 | rows["content"]
    return found


def _numbers(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers that are equal for equal packets only."""
    return rows["flow"] << 32 | rows["seq"], identity(rows)
