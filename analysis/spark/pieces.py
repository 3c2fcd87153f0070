"""Packets of a large capture on their way from the task that decoded them to the task that analyses them.

A decoding task hands out one row per bucket, whatever its range holds for it: some bytes in Arrow's format and
what every bucket must know of the whole file.  So the exchange between tasks is of few rows, which Spark need
not take apart.

A bucket is as large as its connections are.  Those between two ports that have many packets are put together from the
pieces, one after the other, as few narrow columns, and are analysed in parts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.capture.addresses import merge
from analysis.capture.buckets import in_buckets, pack, unpack, zeros
from analysis.capture.columns import TYPES, Packets
from analysis.capture.ranges import Range
from analysis.capture.reader import read_range
from analysis.foreign_captures.summarise import (
    NO_TIMES,
    Between,
    Span,
    Totals,
    add_long,
    add_packets,
    add_totals,
    interfaces,
    span,
)
from analysis.partial import said
from analysis.rows import Rows
from records.location import Place

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int32(), nullable=False),
        pa.field("capture", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("first_frame", pa.int64(), nullable=False),
        pa.field("count", pa.int32(), nullable=False),  # packets
        pa.field("about", pa.string(), nullable=False),  # JSON: records, kinds, span, v6, interfaces of the whole range
        pa.field("packets", pa.binary(), nullable=False),
    ]
)
DDL = "key int, capture int, bucket int, first_frame long, count int, about string, packets binary"
# What TCP's analysis does not ask for.
_NOT_SENT = frozenset({"at", "interface", "kept", "kept_payload", "ip_id", "tos", "ttl", "protocol"})
_OF_A_PORT = ("src", "dst", "sport", "dport")  # the same in all packets of a direction
LONG = 1 << 20  # packets between two ports that are analysed in parts of so many: some 0.3 GB each


def decode(path: Place, piece: Range, *, capture: int, keys: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """A row of SCHEMA for each bucket with the TCP packets of its connections, in file order.

    keys: of the buckets, by which Spark knows where each goes.
    """
    buckets = len(keys)
    try:
        about, packed = _decoded(path, piece, buckets)
    except Exception as error:  # noqa: BLE001 - a range that cannot be read ends its file, not the others
        about, packed = json.dumps({"failed": said(error)}), [(0, b"")] * buckets
    for bucket, key in enumerate(keys):
        count, packets = packed[bucket]
        cells = [[key], [capture], [bucket], [piece.first_frame], [count], [about], [packets]]
        arrays = [pa.array(cell, field.type) for cell, field in zip(cells, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _decoded(path: Place, piece: Range, buckets: int) -> tuple[str, list[tuple[int, bytes]]]:
    file = read_range(path, piece)
    packets = file.tcp
    found = span(packets)
    about = json.dumps({
        "records": file.records,
        "kinds": file.kinds,
        "span": [found.low_ns, found.high_ns] if found else None,
        "v6": {str(number): raw.hex() for number, raw in file.v6.items()},
        "interfaces": sorted(interfaces(packets)),
    })  # fmt: skip
    chosen = in_buckets(packets, buckets)
    return about, [(len(rows), pack(packets, rows, _NOT_SENT)) for rows in chosen]


def analyse_bucket(pieces: pa.Table, *, capture: int, bucket: int, long: int = LONG) -> pa.RecordBatch:
    """Rows of one bucket of a capture from its pieces (SCHEMA, one per range); bucket 0 adds the totals.

    long: so many packets between two ports are analysed at a time, where there are more.
    Where a range could not be decoded, its connections would look whole and be not: then there are no flows, but a row
    of table damage.
    """
    order = np.argsort(pieces.column("first_frame").to_numpy(), kind="stable").tolist()
    told = [json.loads(pieces.column("about")[row].as_py()) for row in order]
    packed = [pieces.column("packets")[row].as_buffer() for row in order]
    count = pc.sum(pieces.column("count")).as_py()
    del pieces  # what `packed` holds of it is let go as soon as it is unpacked
    abouts = [about for about in told if "failed" not in about]
    failed = next((about["failed"] for about in told if "failed" in about), None)
    spans = [about["span"] for about in abouts if about["span"]]
    rows = Rows(capture)
    whole = Span(low_ns=min(one[0] for one in spans), high_ns=max(one[1] for one in spans)) if spans else None
    if bucket == 0:
        totals = Totals(
            records=sum(about["records"] for about in abouts),
            kinds=_added(about["kinds"] for about in abouts),
            interfaces=frozenset().union(*(about["interfaces"] for about in abouts)),
        )
        add_totals(rows, totals, whole)
    if failed is None and whole is not None:
        mine = Rows(capture)
        try:
            v6 = merge({int(number): bytes.fromhex(raw) for number, raw in about["v6"].items()} for about in abouts)
            _add(mine, packed, count=count, within=whole, v6=v6, long=long)
        except Exception as error:  # noqa: BLE001 - other files, and other connections of this one, are told
            failed = said(error)
        else:
            rows.take(mine)
    elif failed is None and count:
        failed = NO_TIMES
    if failed is not None:
        rows.add("damage", "flows", text=failed)
    return rows.batch()


def _add(rows: Rows, packed: list[pa.Buffer], *, count: int, within: Span, v6: Mapping[int, bytes], long: int) -> None:
    """Add the rows of so many packets, and empty `packed`."""
    if count <= long:
        packets = unpack(packed, _NOT_SENT)
        packed.clear()
        add_packets(rows, packets, within=within, v6=v6)
        return
    sizes = _counted(packed)
    many = {ports: _Long(ports, size) for ports, size in sizes.items() if size > long}
    rest = _take(packed, list(many.values()))
    packed.clear()
    add_packets(rows, unpack(rest, _NOT_SENT), within=within, v6=v6)
    for ports in list(many):
        add_long(rows, many.pop(ports).between(), within=within, v6=v6, most=long)


_Ports = tuple[int, int, int, int]
"""Address, port, address, port; the lower end first."""


def _counted(packed: Iterable[pa.Buffer]) -> dict[_Ports, int]:
    """How many packets there are between any two ports."""
    sizes = Counter[_Ports]()
    for one in packed:
        packets = unpack([one], _NOT_SENT)
        ends = np.stack([getattr(packets, name).astype(np.int64) for name in ("src", "sport", "dst", "dport")])
        found, counts = np.unique(ends, axis=1, return_counts=True)
        for (a, here, b, there), count in zip(found.T.tolist(), counts.tolist(), strict=True):
            sizes[(a, here, b, there) if (a, here) <= (b, there) else (b, there, a, here)] += count
    return sizes


def _take(packed: Iterable[pa.Buffer], many: Sequence[_Long]) -> list[bytes]:
    """Move packets to the connections that have many; what is left of each piece."""
    rest = []
    for one in packed:
        packets = unpack([one], _NOT_SENT)
        left = np.ones(len(packets), dtype=bool)
        for held in many:
            left &= ~held.take(packets)
        rest.append(pack(packets, np.flatnonzero(left), _NOT_SENT))
    return rest


class _Long:
    """All packets between two ports, in file order, put together from pieces."""

    def __init__(self, ports: _Ports, size: int) -> None:
        self._ports, self._held = ports, 0
        names = TYPES.keys() - _NOT_SENT - set(_OF_A_PORT)
        self._columns = {name: np.empty(size, dtype=TYPES[name]) for name in sorted(names)}
        self._backward = np.empty(size, dtype=bool)

    def take(self, packets: Packets) -> np.ndarray:
        """Add those of a piece that are between these ports; a mask of them."""
        a, here, b, there = self._ports
        onward = (packets.src == a) & (packets.sport == here) & (packets.dst == b) & (packets.dport == there)
        back = (packets.src == b) & (packets.sport == there) & (packets.dst == a) & (packets.dport == here)
        mine: np.ndarray = onward | back
        low, high = self._held, self._held + int(np.count_nonzero(mine))
        for name, column in self._columns.items():
            column[low:high] = getattr(packets, name)[mine]
        self._backward[low:high] = back[mine]
        self._held = high
        return mine

    def between(self) -> Between:
        """All of them."""
        a, here, b, there = self._ports
        missing = zeros({*_NOT_SENT, *_OF_A_PORT}, self._held)
        return Between(
            packets=Packets(**self._columns, **missing), ends=((a, here), (b, there)), backward=self._backward
        )


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for kind, number in count.items():
            total[kind] = total.get(kind, 0) + number
    return total
