"""Packets of a large trial's captures on their way from the tasks that decode them to those that look at some of them.

As analysis.spark.pieces does it for one capture; here the packets of a connection come together from all captures of
the trial, with the bytes that messages stand in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.arrays import joined
from analysis.capture.buckets import from_bytes, in_buckets, pack, to_bytes, unpack
from analysis.capture.columns import TCP, Packets
from analysis.capture.content import Sparse, whole
from analysis.capture.ranges import digest, from_json
from analysis.capture.reader import Capture as PacketFile
from analysis.capture.reader import read_range
from analysis.large.plan import TrialPlan
from analysis.looked import without_packets
from analysis.partial import is_of_the_machine, said
from analysis.tcp.analysis import FIN, SYN
from records.marker import MAGIC, SIZE
from records.publishing import NotPublished

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int32(), nullable=False),
        pa.field("plan", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("capture", pa.int32(), nullable=False),
        pa.field("first_frame", pa.int64(), nullable=False),
        pa.field("about", pa.string(), nullable=False),  # JSON: records and kinds of the whole range, or why it failed
        pa.field("packets", pa.binary(), nullable=False),
        pa.field("content", pa.binary(), nullable=False),  # frames, as far as messages may stand in them
    ]
)
DDL = "key int, plan int, bucket int, capture int, first_frame long, about string, packets binary, content binary"
_MARKER_BYTES = 2 * SIZE  # at most: 44 inside a text
_NOT_SENT = frozenset({"interface", "kept", "tos", "ttl"})  # what nothing asks of a trial's packets


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of a capture of a plan.  keys: of the plan's buckets, by which Spark knows where each goes.

    digest: of its bytes, '' where nobody asks.
    """

    plan: int
    capture: int
    range: str
    digest: str
    keys: tuple[int, ...]


def decode(plan: TrialPlan, piece: Piece) -> Iterator[pa.RecordBatch]:
    """A row of SCHEMA for each bucket with the packets of its connections, in file order."""
    found, place = from_json(piece.range), plan.files.capture(plan.captures[piece.capture].file)
    parts = [(b"", b"")] * len(piece.keys)
    try:
        file = read_range(place, found)
        if piece.digest and digest(whole(file.data)) != piece.digest:
            raise NotPublished(f"{place}: bytes {found.start} to {found.end} have changed since the file was walked")
        about = {"records": file.records, "kinds": file.kinds}
        content = whole(file.data).tobytes() if plan.bodies else b""
        markers = np.array([hit.start() for hit in re.finditer(re.escape(MAGIC), content)], dtype=np.int64)
        for bucket, rows in enumerate(in_buckets(file.packets, len(piece.keys))):
            packets, runs = _shared(file.packets.select(rows), markers, plan)
            parts[bucket] = pack(packets, np.arange(len(rows)), _NOT_SENT), runs.of(content)
    except Exception as error:  # noqa: BLE001 - a range that cannot be read ends its file, not the others
        about = {"failed": said(error), "of_the_machine": is_of_the_machine(error)}
        parts = [(b"", b"")] * len(piece.keys)
    for bucket, (key, part) in enumerate(zip(piece.keys, parts, strict=True)):
        cells = [key, piece.plan, bucket, piece.capture, found.first_frame, json.dumps(about), *part]
        arrays = [pa.array([cell], field.type) for cell, field in zip(cells, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _shared(packets: Packets, markers: np.ndarray, plan: TrialPlan) -> tuple[Packets, _Runs]:
    """These packets as if their frames stood one behind the other, and what is sent of the frames.

    markers: where some may begin in the file's data.
    """
    tcp = packets.protocol == TCP
    wanted = plan.bodies & ((packets.payload > 0) | (tcp & (packets.flags & (SYN | FIN) != 0)))
    summed = wanted & (~tcp | plan.damaging)  # what is known by all its bytes (journey.twins), headers included
    header = np.where(summed, packets.wire - packets.payload, 0).astype(np.int64)
    start = np.maximum(packets.at - header, 0)
    stop = np.where(wanted, packets.at + packets.kept_payload, start)
    moved = np.cumsum(stop - start) - stop  # what the frames stand further on
    long = wanted & tcp & (packets.kept_payload > 2 * _MARKER_BYTES) & (not plan.damaging)
    frame = np.searchsorted(start, markers, side="right") - 1
    inside = (frame >= 0) & (markers < stop[frame]) if len(packets) else np.zeros(len(markers), dtype=bool)
    runs = _Runs(
        start=np.concatenate([start, (stop - _MARKER_BYTES)[long], markers[inside]]),
        stop=np.concatenate([
            np.where(long, packets.at + _MARKER_BYTES, stop), stop[long],
            np.minimum(markers[inside] + _MARKER_BYTES, stop[frame[inside]]),
        ]),
        moved=np.concatenate([moved, moved[long], moved[frame[inside]]]),
    )  # fmt: skip
    return replace(packets, at=packets.at + moved), runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Bytes of a file that are sent.  A payload that has a byte of a marker has the first four of that marker, or the
    marker is cut at one of the payload's ends: what else is in it need not be sent, and is zeros where it is read.

    start, stop: in the file's data.  moved: where they are read, less start.
    """

    start: np.ndarray
    stop: np.ndarray
    moved: np.ndarray

    def of(self, content: bytes) -> bytes:
        """Packed for files_of."""
        some = self.stop > self.start
        start, stop = self.start[some], self.stop[some]
        sent = b"".join([content[low:high] for low, high in zip(start.tolist(), stop.tolist(), strict=True)])
        ends = np.cumsum(np.append(0, stop - start)).astype(np.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(sent)]
        runs = pa.Array.from_buffers(pa.large_binary(), len(start), buffers)
        return to_bytes(pa.table({"at": start + self.moved[some], "run": runs}))


def files_of(plan: TrialPlan, pieces: pa.Table) -> dict[str, PacketFile]:
    """What the captures of a plan hold of a bucket's connections, from the rows of SCHEMA of that bucket, by file.

    Of a capture without any there is none.
    """
    order = np.lexsort([pieces.column(name).to_numpy() for name in ("first_frame", "capture")])
    captures = pieces.column("capture").to_numpy()[order]
    found: dict[str, PacketFile] = {}
    for number in np.unique(captures).tolist():
        rows = order[captures == number].tolist()
        sent = [pieces.column("packets")[row].as_buffer() for row in rows]
        if not all(one.size for one in sent):
            continue  # a range failed: this file is not told of at all
        packets, first = _packets(sent)
        if len(packets):
            data = _content((pieces.column("content")[row].as_buffer() for row in rows), first)
            empty = without_packets(records=len(packets), kinds={}, damage=None)
            found[plan.captures[number].file] = replace(empty, packets=packets, data=data)
    return found


def _packets(ranges: Sequence[pa.Buffer]) -> tuple[Packets, np.ndarray]:
    """Those of all ranges together; where each range's bytes begin, and where the last one's end."""
    each = [unpack([one], _NOT_SENT) for one in ranges]
    first = np.cumsum([0, *(int((one.at + one.kept_payload).max(initial=0)) for one in each)])
    return joined([replace(one, at=one.at + low) for one, low in zip(each, first[:-1], strict=True)]), first


def _content(ranges: Iterable[pa.Buffer], first: np.ndarray) -> Sparse:
    """The runs of all ranges together, unpacked one after the other.  first: as _packets has it."""
    held, at, sizes = bytearray(), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for one, low in zip(ranges, first[:-1].tolist(), strict=True):
        runs = from_bytes(one)
        at.append(runs.column("at").to_numpy() + low)
        for column in runs.column("run").chunks:
            sizes.append(pc.binary_length(column).to_numpy(zero_copy_only=False))
            held += _bytes_of(column)
    start = np.concatenate(at)
    return Sparse.of(start, start + np.concatenate(sizes), np.frombuffer(held, dtype=np.uint8), size=int(first[-1]))


def _bytes_of(column: pa.Array) -> memoryview:
    """The bytes of all values, one behind the other."""
    if not len(column):
        return memoryview(b"")
    _, ends, content = column.buffers()
    places = np.frombuffer(ends, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(content or b"").cast("B")[places[0] : places[-1]]


def told_of(pieces: pa.Table) -> dict[int, list[Mapping[str, object]]]:
    """What each range of a capture says of itself, in file order, by the capture's number."""
    rows = sorted(pieces.select(["capture", "first_frame", "about"]).to_pylist(), key=lambda row: row["first_frame"])
    found: dict[int, list[Mapping[str, object]]] = {}
    for row in rows:
        found.setdefault(row["capture"], []).append(json.loads(row["about"]))
    return found


def pieces_of(plans: Sequence[TrialPlan], keys: Sequence[int]) -> list[Piece]:
    """All ranges of all plans.  keys: one for each bucket, plan by plan."""
    found, at = [], 0
    for number, plan in enumerate(plans):
        mine = tuple(keys[at : at + plan.buckets])
        at += plan.buckets
        found += [
            Piece(plan=number, capture=capture, range=text, digest=known, keys=mine)
            for capture, planned in enumerate(plan.captures)
            for text, known in zip_longest(planned.ranges, planned.digests, fillvalue="")
        ]  # fmt: skip
    return found
