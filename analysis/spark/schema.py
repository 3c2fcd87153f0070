"""Packets as rows for users' own queries: the columns of `format("pcap")` and of the Parquet export.

Spark has no unsigned numbers, so ports and sequence numbers stand in the next wider type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from analysis.capture.addresses import texts as address_texts
from analysis.capture.columns import Packets

BATCH_ROWS = 1 << 16  # 16k to 64k rows were best
# name: type, what it is; an absent column of an older reader is null
_COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "capture": (pa.string(), "path of the file, as it was given"),
    "frame": (pa.int64(), "number of the record in the file, from 0"),
    "ts_ns": (pa.int64(), "wall clock, nanoseconds since 1970"),
    "cap_len": (pa.int32(), "bytes of the packet that the file keeps"),
    "wire_len": (pa.int32(), "bytes on the wire, link header included"),
    "payload_len": (pa.int32(), "bytes of TCP or UDP payload on the wire"),
    "src": (pa.string(), "source address"),
    "dst": (pa.string(), "destination address"),
    "sport": (pa.int32(), "source port"),
    "dport": (pa.int32(), "destination port"),
    "protocol": (pa.int32(), "6 TCP, 17 UDP"),
    "seq": (pa.int64(), "TCP sequence number as sent"),
    "ack": (pa.int64(), "TCP acknowledgement number as sent"),
    "flags": (pa.int32(), "TCP flags: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK"),
    "window": (pa.int32(), "TCP window as sent, not scaled"),
    "ip_id": (pa.int32(), "IPv4 identification"),
    "ttl": (pa.int32(), "IPv4 time to live, IPv6 hop limit"),
    "tos": (pa.int32(), "IPv4 type of service, IPv6 traffic class"),
}
_READERS = {"ts_ns": "t_ns", "cap_len": "kept", "wire_len": "wire", "payload_len": "payload"}
_SPARK = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint"}

PACKETS = pa.schema([pa.field(name, kind, metadata={"about": about}) for name, (kind, about) in _COLUMNS.items()])
PLAIN = pa.schema([pa.field(name, kind) for name, (kind, _) in _COLUMNS.items()])
TYPES = {name: _SPARK[kind] for name, (kind, _) in _COLUMNS.items()}  # of Spark's, by column
DDL = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())


def packet_batches(
    packets: Packets, *, capture: str, v6: Mapping[int, bytes], rows: int = BATCH_ROWS,
    columns: Sequence[str] = tuple(PLAIN.names),
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The packets as batches of these columns of PLAIN, at most `rows` rows each, in file order."""
    schema = pa.schema([PLAIN.field(name) for name in columns])
    for start in range(0, len(packets), rows):
        part = slice(start, min(start + rows, len(packets)))
        count = part.stop - start
        arrays = [_array(packets, name, part, count, capture=capture, v6=v6) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(packets: Packets, name: str, part: slice, count: int, *, capture: str, v6: Mapping[int, bytes]) -> pa.Array:
    kind = _COLUMNS[name][0]
    if name == "capture":
        return pa.array([capture]).take(pa.array(np.zeros(count, dtype=np.int32)))
    column = getattr(packets, _READERS.get(name, name), None)
    if column is None:
        return pa.nulls(count, kind)
    if name in {"src", "dst"}:
        kinds, which = np.unique(column[part], return_inverse=True)
        return pa.array(address_texts(kinds, v6), pa.string()).take(pa.array(which))
    return pa.array(column[part].astype(kind.to_pandas_dtype()))
