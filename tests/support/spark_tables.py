"""`python spark_tables.py MASTER present|ship OUT CAMPAIGN CAPTURE...`: run the jobs on a master, keep their tables.

A process of its own, because one process has one kind of Spark session.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from analysis.spark.captures import reduce_captures
from analysis.spark.jobs import reduce_trials
from analysis.spark.session import session
from analysis.spark.source import register
from analysis.spark.target import Env, Target
from analysis.sql import source as views
from records.store import trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def made(spark: SparkSession, campaign: Path, captures: Sequence[Path], out: Path) -> None:
    """What the jobs give with this session, each as an Arrow file in `out`."""

    def origin(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Where a task has the project's code from, and which process runs it.  Workers lack this module."""
        import os  # noqa: PLC0415

        import analysis  # noqa: PLC0415

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"code": [str(analysis.__file__)], "folder": [os.getcwd()]})

    register(spark)
    views.register(spark)
    read = spark.read.format("airwire")
    frame = spark.read.format("pcap").load(str(captures[0])).orderBy("frame")
    tables = {
        "trials": reduce_trials(spark, [trial.path for trial in trials(campaign)]),
        "whole": reduce_captures(captures, spark=spark),
        "split": reduce_captures(captures, spark=spark, split_above=100_000, range_bytes=300_000),
        "source": frame.toArrow(),
        "view": read.load(str(campaign)).where("trial = 1").orderBy("cell").toArrow(),
        "origin": spark.range(0, 8, 1, 8).mapInArrow(origin, "code string, folder string").toArrow(),
    }
    for name, table in tables.items():
        with pa.OSFile(str(out / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table.combine_chunks())


if __name__ == "__main__":
    asked = Target(master=sys.argv[1], env=Env(sys.argv[2]))
    with session(master=asked, say=print) as running:
        made(running, Path(sys.argv[4]), [Path(word) for word in sys.argv[5:]], Path(sys.argv[3]))
