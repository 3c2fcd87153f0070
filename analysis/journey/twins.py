"""Knowing a packet again at another port: a bridge changes nothing in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.capture.columns import Packets

NONE, SEVERAL = -1, -2
_HEADER_BYTES = 20  # of the TCP header, the last ones: flags, window and checksum, or options


def contents(data: np.ndarray, packets: Packets, mask: np.ndarray) -> np.ndarray:
    """Sum of the bytes of each masked packet's payload and of the end of its TCP header, as far as they are kept.

    A copy that was damaged in one bit has another sum.  Masked rows stand in file order.
    """
    start = packets.at[mask] - _HEADER_BYTES
    stop = packets.at[mask] + packets.kept_payload[mask].astype(np.int64)
    bounds = np.stack([start, stop], axis=1).ravel()
    if not len(bounds):
        return bounds
    if bounds[-1] >= len(data):  # numpy wants no bound at the end, and sums up to there without one
        bounds = bounds[:-1]
    found: np.ndarray = np.add.reduceat(data, bounds, dtype=np.int64)[::2]
    return found


def same_packets(
    origin: Mapping[str, np.ndarray], arrival: Mapping[str, np.ndarray], numbers: np.ndarray
) -> np.ndarray:
    """For each row of `arrival` the number of the row of `origin` with the same flow, sequence number, IP
    identification, length and content; NONE when there is none, SEVERAL when there are more.

    numbers: of the rows of `origin`.
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
    found: np.ndarray = np.where(count[there] > 1, SEVERAL, number[there])
    return found


def identity(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """IP identification, length and content as one number: content is below 2**25, a payload below 2**16."""
    found: np.ndarray = rows["ip_id"] << 41 | rows["payload"] << 25 | rows["content"]
    return found


def _numbers(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers that are equal for equal packets only."""
    return rows["flow"] << 32 | rows["seq"], identity(rows)
