"""What directed flows are called: their ends, and which of several connections between the same ports they are of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.tcp.connections import Flows
from analysis.tcp.segments import spread


def flow_names(flows: Flows, src: Sequence[str], dst: Sequence[str]) -> list[str]:
    """`address:port → address:port`; where a pair of ports was used again, ` #2` and so on behind it.

    src, dst: the address of each flow's ends, as text.  Both directions of a connection have the same number.
    """
    ends = zip(src, flows.sport.tolist(), dst, flows.dport.tolist(), connection_number(flows).tolist(), strict=True)
    return [f"{a}:{here} → {b}:{there}" + (f" #{number}" if number > 1 else "") for a, here, b, there, number in ends]


def connection_number(flows: Flows) -> np.ndarray:
    """Of each flow, the number of its connection among those between the same two ends, from 1 in order of opening."""
    count = len(flows.key)
    addresses = np.unique(np.concatenate([flows.src, flows.dst]))  # those of IPv6 leave no room for a port
    src, dst = (np.searchsorted(addresses, side) for side in (flows.src, flows.dst))
    ends = np.stack([src << 16 | flows.sport, dst << 16 | flows.dport])
    low, high = ends.min(axis=0), ends.max(axis=0)
    connection = flows.key >> 1  # ascending with the time of opening, the last bit being the direction
    order = np.lexsort((connection, high, low))
    low, high, connection = low[order], high[order], connection[order]
    other = np.ones(count, dtype=bool)
    other[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    fresh = other.copy()
    fresh[1:] |= connection[1:] != connection[:-1]
    total = np.cumsum(fresh)
    starts = np.flatnonzero(other)
    found = np.empty(count, dtype=np.int64)
    found[order] = total - spread(total[starts], starts, count) + 1
    return found
