"""What processes of a stack have stamped (records.stamps), as a trial reads it: from their files to the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pyarrow as pa

from records.schema import STAMPS
from records.stamps import LEFT_OUT, Point

# A record as numpy reads it, many at a time.
MANY = np.dtype(
    [("producer", ">u4"), ("seq", ">u8"), ("t_ns", ">u8"), ("point", "u1"), ("reply", "u1"), ("peer", ">u4")]
)
_MOST_BITS = {"producer": 31, "seq": 40, "t_ns": 62}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """What a process has written.  rows: of MANY.  left_out: how many more there were.  ended: whether it has said so,
    and not been killed.
    """

    rows: np.ndarray
    left_out: int
    ended: bool


def read(path: Path) -> Stamped:
    """A process's file; OSError where there is none, ValueError where it is none of stamps."""
    content = path.read_bytes()
    whole = len(content) - len(content) % MANY.itemsize
    rows = np.frombuffer(content[:whole], dtype=MANY)
    left_out = rows["point"] == LEFT_OUT
    stamps = rows[~left_out]
    if len(stamps) and (stamps["point"].max() > max(Point) or stamps["reply"].max() > 1):
        raise ValueError(f"{path}: a record is no stamp: its point is none of {', '.join(str(int(p)) for p in Point)}")
    if len(stamps) and any(int(stamps[name].max()) >> bits for name, bits in _MOST_BITS.items()):
        raise ValueError(f"{path}: a record is no stamp: its message or its time cannot be one of the load's")
    return Stamped(
        rows=stamps,
        left_out=int(rows["seq"][left_out].sum()),
        ended=whole == len(content) and bool(len(rows)) and bool(left_out[-1]),
    )


def table(stamped: Mapping[int, np.ndarray], addresses: Sequence[str]) -> pa.Table:
    """Stamps of several nodes as STAMPS.  stamped: by the node's number, which is that of its address."""
    of_address = {int(IPv4Address(address)): number for number, address in enumerate(addresses)}
    rows = np.concatenate([np.empty(0, dtype=MANY), *stamped.values()])
    node = np.repeat(list(stamped), [len(one) for one in stamped.values()]) if stamped else np.empty(0)
    known, inverse = np.unique(rows["peer"], return_inverse=True)
    peer = np.array([of_address.get(int(one), -1) for one in known], dtype=np.int16)[inverse]
    columns = {
        "node": node.astype(np.int16),
        "point": rows["point"].astype(np.int8),
        "reply": rows["reply"].astype(bool),
        "producer": rows["producer"].astype(np.int32),
        "seq": rows["seq"].astype(np.int64),
        "peer": peer,
        "t_ns": rows["t_ns"].astype(np.int64),
    }
    made = [pa.array(columns[one.name], one.type, mask=peer < 0 if one.nullable else None) for one in STAMPS]
    return pa.table(made, schema=STAMPS)
