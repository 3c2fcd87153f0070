"""The job behind `lab analyse`: one capture is one task; a large one is cut into exact ranges.

A large capture is indexed here (all of its records are walked, so ranges are exact), its ranges are decoded by
as many tasks, the packets are exchanged by connection, and each bucket of connections is analysed by one task.
Both ways give the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.capture.buckets import rows_by
from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import RANGE_BYTES, from_json, to_json
from analysis.capture.reader import read_capture
from analysis.foreign_captures.summarise import NO_TIMES, TOP, Totals, add_packets, add_totals, interfaces, span
from analysis.partial import said
from analysis.rows import DDL, SCHEMA, Rows
from analysis.spark import partitions, pieces
from records.location import Place, bytes_at, locate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLIT_ABOVE_BYTES = 1 << 30
_MOST_BUCKETS = 256
_ADDED = ("second", "rtt")  # tables whose rows of equal table, key, metric and t are added up


def reduce_captures(
    paths: Sequence[Place], *, spark: SparkSession | None = None, split_above: int = SPLIT_ABOVE_BYTES,
    range_bytes: int = RANGE_BYTES,
) -> pa.Table:  # fmt: skip
    """Reduce the capture files `paths` (number i in the result is paths[i]) to rows; one action.

    spark: None = in this process, file after file.  Files above `split_above` bytes are cut into ranges of about
    `range_bytes`.  Returns a table of analysis.rows.SCHEMA in one order, whoever did the work; what cannot be
    read is a row of table damage (metric unreadable: nothing of it; capture: what stands before is there).
    """
    files = [str(path.resolve()) for path in paths]
    if spark is None:
        return ordered(pa.Table.from_batches([reduce_capture(locate(f), n) for n, f in enumerate(files)], SCHEMA))
    large = _large(files, split_above, range_bytes)
    jobs = []
    if whole := [number for number in range(len(files)) if number not in large.ranges and number not in large.broken]:
        jobs.append(_whole(spark, files, whole))
    if large.ranges:
        jobs.append(_split(spark, files, large.ranges))
    done = [SCHEMA.empty_table(), large.damage]
    if jobs:
        frame = jobs[0]
        for job in jobs[1:]:
            frame = frame.union(job)
        done.append(frame.toArrow().cast(SCHEMA))
    return ordered(pa.concat_tables(done))


def reduce_capture(path: Place, number: int) -> pa.RecordBatch:
    """Rows of one whole capture file: what one task does."""
    rows = Rows(number)
    try:
        file = read_capture(path)
        packets, v6 = file.tcp, file.v6
        within = span(packets)
        add_totals(rows, Totals(records=file.records, kinds=file.kinds, interfaces=interfaces(packets)), within)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others are told
        rows = Rows(number)
        rows.add("damage", "unreadable", text=_said(error, path))
        return rows.batch()
    if file.damage is not None:
        rows.add("damage", "capture", text=file.damage)
    del file  # its bytes are not needed any more
    if within is not None:
        flows = Rows(number)
        try:
            add_packets(flows, packets, within=within, v6=v6)
        except Exception as error:  # noqa: BLE001 - as above
            rows.add("damage", "flows", text=_said(error, path))
        else:
            rows.take(flows)
    elif len(packets):
        rows.add("damage", "flows", text=NO_TIMES)
    return rows.batch()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Large:
    """ranges: of each large file, by number.  broken: files of which nothing can be read.  damage: rows."""

    ranges: dict[int, tuple[str, ...]]
    broken: frozenset[int]
    damage: pa.Table


def _large(files: Sequence[str], split_above: int, range_bytes: int) -> _Large:
    ranges: dict[int, tuple[str, ...]] = {}
    broken: set[int] = set()
    damage = []
    for number, name in enumerate(files):
        rows = Rows(number)
        try:
            if bytes_at(locate(name)) <= split_above:
                continue
            found = kept_index(locate(name), range_bytes=range_bytes)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others are told
            broken.add(number)
            rows.add("damage", "unreadable", text=_said(error, locate(name)))
        else:
            if found.ranges:  # one without a whole record is small work for a task
                ranges[number] = tuple(to_json(piece) for piece in found.ranges)
                if found.damage is not None:
                    rows.add("damage", "capture", text=found.damage)
        damage.append(rows.batch())
    return _Large(ranges=ranges, broken=frozenset(broken), damage=pa.Table.from_batches(damage, SCHEMA))


def _said(error: Exception, path: Place) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{path}: {error.strerror}"
    return said(error)


def _whole(spark: SparkSession, files: Sequence[str], numbers: Sequence[int]) -> DataFrame:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                yield reduce_capture(locate(files[numbers[row]]), numbers[row])

    return spark.range(0, len(numbers), 1, numPartitions=len(numbers)).mapInArrow(work, DDL)


def _split(spark: SparkSession, files: Sequence[str], ranges: dict[int, tuple[str, ...]]) -> DataFrame:
    tasks = [(number, text) for number, texts in ranges.items() for text in texts]
    buckets = {number: min(len(texts), _MOST_BUCKETS) for number, texts in ranges.items()}
    free = iter(every := partitions.keys(sum(buckets.values())))
    keys = {number: list(islice(free, count)) for number, count in buckets.items()}

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                number, text = tasks[row]
                piece = from_json(text)
                yield from pieces.decode(locate(files[number]), piece, capture=number, keys=keys[number])

    def analyse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = rows_by(batches, ("capture", "bucket"))
        for capture, bucket in list(held):
            # Nothing here holds on to the pieces, which are large.
            yield pieces.analyse_bucket(held.pop((capture, bucket)), capture=capture, bucket=bucket)

    decoded = spark.range(0, len(tasks), 1, numPartitions=len(tasks)).mapInArrow(decode, pieces.DDL)
    exchanged: Any = decoded.repartition(len(every), "key")
    return exchanged.mapInArrow(analyse, DDL)


def ordered(table: pa.Table) -> pa.Table:
    """Counts of the same bin added up, only the largest flows drawn, and all rows in one order."""
    added = pc.is_in(table["table"], pa.array(_ADDED))
    names = [name for name in SCHEMA.names if name != "value"]
    sums = table.filter(added).group_by(names).aggregate([("value", "sum")])
    sums = sums.rename_columns([*names, "value"]).select(SCHEMA.names).cast(SCHEMA)
    rest = table.filter(pc.invert(added))
    whole = pa.concat_tables([rest, _of_largest(sums, rest)])
    return whole.sort_by([(name, "ascending") for name in names]).combine_chunks()


def _of_largest(sums: pa.Table, rest: pa.Table) -> pa.Table:
    """Each part of a capture names its largest flows; this leaves those of the whole capture."""
    sizes = rest.filter(pc.and_(pc.equal(rest["table"], "flow"), pc.equal(rest["metric"], "wire_bytes")))
    sizes = sizes.select(["trial", "key", "value"]).sort_by(
        [("trial", "ascending"), ("value", "descending"), ("key", "ascending")]
    )
    trials = sizes["trial"].to_numpy()
    place = np.arange(len(trials)) - np.searchsorted(trials, trials)  # of a flow in its capture, the largest first
    largest = sizes.select(["trial", "key"]).filter(pa.array(place < TOP))
    of_flows = sums.filter(pc.is_valid(sums["key"])).join(largest, keys=["trial", "key"], join_type="left semi")
    return pa.concat_tables([sums.filter(pc.is_null(sums["key"])), of_flows.select(SCHEMA.names).cast(SCHEMA)])
