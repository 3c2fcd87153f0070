"""Packets of a large capture on their way from the task that decoded them to the task that analyses them.

A decoding task hands out one row per bucket, whatever its range holds for it: some bytes in Arrow's format and
what every bucket must know of the whole file.  So the exchange between tasks is of few rows, which Spark need
not take apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

import numpy as np
import pyarrow as pa

from analysis.capture.addresses import merge
from analysis.capture.columns import TYPES, Packets
from analysis.capture.ranges import Range
from analysis.capture.reader import read_range
from analysis.foreign_captures.summarise import Span, Totals, add_packets, add_totals, span
from analysis.partial import said
from analysis.rows import Rows
from records.location import Place

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int32(), nullable=False),
        pa.field("capture", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("first_frame", pa.int64(), nullable=False),
        pa.field("about", pa.string(), nullable=False),  # JSON: records, kinds, span, v6 of the whole range
        pa.field("packets", pa.binary(), nullable=False),
    ]
)
DDL = "key int, capture int, bucket int, first_frame long, about string, packets binary"
# What TCP's analysis does not ask for.
_NOT_SENT = frozenset({"at", "interface", "kept", "kept_payload", "ip_id", "tos", "ttl", "protocol"})


def decode(path: Place, piece: Range, *, capture: int, keys: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """A row of SCHEMA for each bucket with the TCP packets of its connections, in file order.

    keys: of the buckets, by which Spark knows where each goes.
    """
    buckets = len(keys)
    try:
        about, packed = _decoded(path, piece, buckets)
    except Exception as error:  # noqa: BLE001 - a range that cannot be read ends its file, not the others
        about, packed = json.dumps({"failed": said(error)}), [b""] * buckets
    for bucket, key in enumerate(keys):
        cells = [[key], [capture], [bucket], [piece.first_frame], [about], [packed[bucket]]]
        arrays = [pa.array(cell, field.type) for cell, field in zip(cells, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _decoded(path: Place, piece: Range, buckets: int) -> tuple[str, list[bytes]]:
    file = read_range(path, piece)
    packets = file.tcp
    found = span(packets)
    about = json.dumps({
        "records": file.records,
        "kinds": file.kinds,
        "span": [found.low_ns, found.high_ns] if found else None,
        "v6": {str(number): raw.hex() for number, raw in file.v6.items()},
    })  # fmt: skip
    of = bucket_of(packets, buckets)
    order = np.argsort(of, kind="stable")
    edges = np.searchsorted(of[order], np.arange(buckets + 1))
    return about, [_pack(packets, order[edges[bucket] : edges[bucket + 1]]) for bucket in range(buckets)]


def bucket_of(packets: Packets, buckets: int) -> np.ndarray:
    """The same bucket for both directions of a pair of addresses and ports."""
    ends = [
        (address.astype(np.uint64) << np.uint64(16) | port.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        for address, port in ((packets.src, packets.sport), (packets.dst, packets.dport))
    ]
    mixed = (ends[0] ^ ends[0] >> np.uint64(32)) + (ends[1] ^ ends[1] >> np.uint64(32))
    found: np.ndarray = (mixed % np.uint64(buckets)).astype(np.int64)
    return found


def _pack(packets: Packets, rows: np.ndarray) -> bytes:
    names = [field.name for field in fields(packets) if field.name not in _NOT_SENT]
    batch = pa.RecordBatch.from_arrays([pa.array(getattr(packets, name)[rows]) for name in names], names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpack(parts: Sequence[bytes]) -> Packets:
    table = pa.concat_tables([pa.ipc.open_stream(part).read_all() for part in parts])
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    columns |= {name: np.broadcast_to(np.zeros((), dtype=TYPES[name]), len(table)) for name in _NOT_SENT}
    return Packets(**columns)


def analyse_bucket(pieces: pa.Table, *, capture: int, bucket: int) -> pa.RecordBatch:
    """Rows of one bucket of a capture from its pieces (SCHEMA, one per range); bucket 0 adds the totals.

    Where a range could not be decoded, its connections would look whole and be not: then there are no flows, but a row
    of table damage.
    """
    pieces = pieces.sort_by("first_frame")
    told = [json.loads(text) for text in pieces.column("about").to_pylist()]
    abouts = [about for about in told if "failed" not in about]
    failed = next((about["failed"] for about in told if "failed" in about), None)
    spans = [about["span"] for about in abouts if about["span"]]
    rows = Rows(capture)
    whole = Span(low_ns=min(one[0] for one in spans), high_ns=max(one[1] for one in spans)) if spans else None
    if bucket == 0:
        records = sum(about["records"] for about in abouts)
        add_totals(rows, Totals(records=records, kinds=_added(about["kinds"] for about in abouts)), whole)
    if failed is None and whole is not None:
        mine = Rows(capture)
        try:
            v6 = merge({int(number): bytes.fromhex(raw) for number, raw in about["v6"].items()} for about in abouts)
            add_packets(mine, _unpack(pieces.column("packets").to_pylist()), within=whole, v6=v6)
        except Exception as error:  # noqa: BLE001 - other files, and other connections of this one, are told
            failed = said(error)
        else:
            rows.take(mine)
    if failed is not None:
        rows.add("damage", "flows", text=failed)
    return rows.batch()


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for kind, number in count.items():
            total[kind] = total.get(kind, 0) + number
    return total
