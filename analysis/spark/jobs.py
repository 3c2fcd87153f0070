"""The job: one trial is one task, and only small rows come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from analysis.partial import must_see
from analysis.rows import DDL, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def reduce_trials(
    spark: SparkSession, paths: Sequence[Path], *, code: str | None = None, token: str | None = None
) -> pa.Table:
    """Reduce the trial folders `paths` (number i in the result is paths[i]); one action, no shuffle.

    code: digest of the modules that reduce; with it each task keeps its trial's rows beside the campaign as soon as it
    has them (analysis.reductions), and file names are as seen from the trial's folder.
    A trial's folder that a task does not see ends the job.
    token: name of a file (kept.shared); a task that sees it gives back of what it has kept all but the details.
    Returns a table of analysis.rows.SCHEMA.
    """
    folders = [str(path.resolve()) for path in paths]
    if not folders:
        return SCHEMA.empty_table()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analysis.reductions.kept import is_shared, reduce_and_keep  # noqa: PLC0415
        from analysis.trial import reduce_trial  # noqa: PLC0415

        for batch in batches:
            for number in batch.column(0).to_pylist():
                path = Path(folders[number])
                if code is None:
                    yield reduce_trial(path, number)
                else:
                    must_see(path)
                    brief = token is not None and is_shared(path, token)
                    yield from reduce_and_keep(path, number, code, brief=brief).to_batches()

    numbers = spark.range(0, len(folders), 1, numPartitions=len(folders))
    return numbers.mapInArrow(work, DDL).toArrow()
