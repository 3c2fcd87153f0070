"""The job: one trial is one task, a large one as many as it takes, and only small rows come back.

Of a large trial the ranges of all captures are decoded by a task each, the packets are exchanged by connection, each
bucket of connections is looked at by one task, and one puts the trial together.  Both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from analysis.capture.buckets import rows_by
from analysis.large import parts, pieces
from analysis.large.plan import LARGE_PACKETS, TrialPlan, plans
from analysis.looked import Looked
from analysis.partial import must_see
from analysis.rows import DDL, SCHEMA
from analysis.spark import partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def reduce_trials(
    spark: SparkSession, paths: Sequence[Path], *, code: str | None = None, token: str | None = None,
    large_packets: int = LARGE_PACKETS,
) -> pa.Table:  # fmt: skip
    """Reduce the trial folders `paths` (number i in the result is paths[i]); one action.

    code: digest of the modules that reduce; with it each task keeps its trial's rows beside the campaign as soon as it
    has them (analysis.reductions), and file names are as seen from the trial's folder.
    A trial's folder that a task does not see ends the job.
    token: name of a file (kept.shared); a task that sees it gives back of what it has kept all but the details.
    large_packets: from so many packets in its captures on, a trial is work for several tasks.
    Returns a table of analysis.rows.SCHEMA.
    """
    folders = [path.resolve() for path in paths]
    if not folders:
        return SCHEMA.empty_table()
    large = plans(folders, large_packets=large_packets)
    apart = {one.number for one in large}
    whole = [number for number in range(len(folders)) if number not in apart]
    reduce_one = _Reduction(code, token)
    frames = []
    if whole:
        frames.append(_whole(spark, [str(folders[number]) for number in whole], whole, reduce_one))
    if large:
        frames.append(_shared_out(spark, large, reduce_one))
    frame = frames[0] if len(frames) == 1 else frames[0].union(frames[1])
    return frame.toArrow()


class _Reduction:
    """What a task does with a trial."""

    def __init__(self, code: str | None, token: str | None) -> None:
        self._code, self._token = code, token

    def __call__(self, folder: str, number: int, looked: Looked | None = None) -> Iterator[pa.RecordBatch]:
        from analysis.reductions.kept import is_shared, reduce_and_keep  # noqa: PLC0415
        from analysis.trial import reduce_trial  # noqa: PLC0415

        path = Path(folder)
        if self._code is None:
            yield reduce_trial(path, number, looked)
            return
        must_see(path)
        brief = self._token is not None and is_shared(path, self._token)
        yield from reduce_and_keep(path, number, self._code, brief=brief, looked=looked).to_batches()


def _whole(spark: SparkSession, folders: Sequence[str], numbers: Sequence[int], reduce_one: _Reduction) -> DataFrame:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                yield from reduce_one(folders[row], numbers[row])

    return spark.range(0, len(folders), 1, numPartitions=len(folders)).mapInArrow(work, DDL)


def _shared_out(spark: SparkSession, large: Sequence[TrialPlan], reduce_one: _Reduction) -> DataFrame:
    buckets = partitions.keys(sum(one.buckets for one in large))
    trials = partitions.keys(len(large))
    ranges = pieces.pieces_of(large, buckets)

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                piece = ranges[row]
                must_see(Path(large[piece.plan].path))
                yield from pieces.decode(large[piece.plan], piece)

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = rows_by(batches, ("plan", "bucket"))
        for plan, bucket in list(held):
            found = parts.look(large[plan], bucket, held.pop((plan, bucket)))
            yield parts.to_rows(found, key=trials[plan], plan=plan, bucket=bucket)

    def put_together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = rows_by(batches, ("plan",))
        for (plan,) in list(held):
            looked = parts.together(held.pop((plan,)))
            yield from reduce_one(large[plan].path, large[plan].number, looked)

    decoded: Any = spark.range(0, len(ranges), 1, numPartitions=len(ranges)).mapInArrow(decode, pieces.DDL)
    looked_at: Any = decoded.repartition(len(buckets), "key").mapInArrow(look, parts.DDL)
    frame: DataFrame = looked_at.repartition(len(trials), "key").mapInArrow(put_together, DDL)
    return frame
