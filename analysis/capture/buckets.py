"""Packets in buckets of whole connections, and on their way between tasks: as bytes in Arrow's format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.capture.columns import TYPES, Packets

# A task has one core, and for few packets threads cost more than all else.
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_UNPACKED = pa.ipc.IpcReadOptions(use_threads=False)


def bucket_of(packets: Packets, buckets: int) -> np.ndarray:
    """The same bucket for both directions of a pair of addresses and ports."""
    ends = [
        (address.astype(np.uint64) << np.uint64(16) | port.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        for address, port in ((packets.src, packets.sport), (packets.dst, packets.dport))
    ]
    mixed = (ends[0] ^ ends[0] >> np.uint64(32)) + (ends[1] ^ ends[1] >> np.uint64(32))
    found: np.ndarray = (mixed % np.uint64(buckets)).astype(np.int64)
    return found


def in_buckets(packets: Packets, buckets: int) -> list[np.ndarray]:
    """Rows of the packets of each bucket, in their order."""
    of = bucket_of(packets, buckets)
    order = np.argsort(of, kind="stable")
    edges = np.searchsorted(of[order], np.arange(buckets + 1))
    return [order[edges[bucket] : edges[bucket + 1]] for bucket in range(buckets)]


def pack(packets: Packets, rows: np.ndarray, without: Collection[str]) -> bytes:
    """Those rows but for some columns, for `unpack`."""
    names = [field.name for field in fields(packets) if field.name not in without]
    return to_bytes(pa.table({name: getattr(packets, name)[rows] for name in names}))


def to_bytes(table: pa.Table) -> bytes:
    """A table in Arrow's format, for `from_bytes`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PACKED) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(content: bytes | pa.Buffer) -> pa.Table:
    """The table of to_bytes."""
    return pa.ipc.open_stream(content, options=_UNPACKED).read_all()


def unpack(parts: Sequence[bytes | pa.Buffer], without: Collection[str]) -> Packets:
    """What was packed, one part behind the other; columns that were left out are 0."""
    table = pa.concat_tables(map(from_bytes, parts))
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    return Packets(**columns, **zeros(without, len(table)))


def zeros(names: Iterable[str], count: int) -> dict[str, np.ndarray]:
    """Columns of nothing, which take no room."""
    return {name: np.broadcast_to(np.zeros((), dtype=TYPES[name]), count) for name in names}


def rows_by(batches: Iterable[pa.RecordBatch], of: Sequence[str]) -> dict[tuple[int, ...], pa.Table]:
    """Rows by these columns of whole numbers."""
    if not (some := list(batches)):
        return {}
    held = pa.Table.from_batches(some)
    columns = held.select(of).group_by(of).aggregate([])
    found = [tuple(row[name] for name in of) for row in columns.to_pylist()]
    if len(found) == 1:
        return {found[0]: held}  # without a copy
    masks = [[pc.equal(held[name], value) for name, value in zip(of, one, strict=True)] for one in found]
    return {one: held.filter(reduce(pc.and_, mine)) for one, mine in zip(found, masks, strict=True)}
