"""Both steps of a split capture, without Spark between them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from analysis.capture.ranges import from_json, index, to_json
from analysis.rows import SCHEMA, Rows
from analysis.spark import pieces
from analysis.spark.captures import ordered


def in_ranges(path: Path, range_bytes: int, *, buckets: int = 3, long: int = pieces.LONG) -> pa.Table:
    """What the job gives for `path` when it is cut into ranges, the tasks run one after another.

    long: as analysis.spark.pieces.analyse_bucket.
    """
    found = index(path, range_bytes=range_bytes)
    texts = [to_json(piece) for piece in found.ranges]
    decoded = [
        batch for text in texts for batch in pieces.decode(path, from_json(text), capture=0, keys=range(buckets))
    ]
    held = pa.Table.from_batches(reversed(decoded), pieces.SCHEMA)
    done = [
        pieces.analyse_bucket(held.filter(pc.equal(held["bucket"], bucket)), capture=0, bucket=bucket, long=long)
        for bucket in range(buckets)
    ]
    rows = Rows(0)
    if found.damage is not None:
        rows.add("damage", "capture", text=found.damage)
    return ordered(pa.Table.from_batches([*done, rows.batch()], SCHEMA))
