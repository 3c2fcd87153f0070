"""`python spark_apart.py MASTER OUT OWN CAMPAIGN CAPTURE...`: all that is tried on workers that share nothing.

The jobs' tables into OUT/tables, the campaign's report, an export into OUT/shared, one into OWN, where each worker has
a disk of its own, and a job whose worker dies in mid-task, twice.  One session does it all: to start one costs much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from spark_tables import made

from analysis.reductions.code import code_digest
from analysis.reductions.kept import FOLDER
from analysis.reductions.reduce import Reducing
from analysis.report.build import found
from analysis.report.build import write as write_report
from analysis.spark.export import NotShared, plan_campaign, write
from analysis.spark.session import session
from analysis.spark.target import Env, Target
from analysis.spark.watch import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No job begins before both workers are there, however slow the machine.
CONF = (
    ("spark.cores.max", "2"),
    ("spark.scheduler.minRegisteredResourcesRatio", "1"),
    ("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s"),
    ("spark.executor.memory", "700m"),
)


def report(spark: SparkSession, campaign: Path) -> None:
    """As `analysis.report.build.build`, with this session, of a campaign of which nothing is reduced yet."""
    assert not (campaign / FOLDER).exists()
    reduce = Reducing(code=code_digest(), spark=lambda: spark, alone=False, say=print)
    write_report(found(campaign, reduce.brief))


def die_twice(spark: SparkSession, marks: Path) -> list[int]:
    """What a job gives whose tasks kill their worker until there are two marks in a folder that all share."""
    folder = str(marks)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os  # noqa: PLC0415
        import signal  # noqa: PLC0415

        for batch in batches:
            if (deaths := len(os.listdir(folder))) < 2:
                open(f"{folder}/{deaths}", "x").close()
                with open(f"/proc/{os.getppid()}/stat") as stat:
                    os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
                signal.pause()
            yield batch

    frame = spark.range(0, 3, 1, 1).mapInArrow(work, "id long")
    return [row["id"] for row in frame.collect()]


def main(master: str, out: Path, own: Path, campaign: Path, captures: list[Path]) -> None:
    """Do it, and print what is said."""
    for name in ("tables", "marks"):
        (out / name).mkdir()
    with session(master=Target(master=master, env=Env.SHIP, conf=CONF), say=print) as spark:
        with watched(spark, print, after_s=0):
            made(spark, campaign, captures, out / "tables")
        report(spark, campaign)
        pieces = plan_campaign(campaign)[0].pieces
        print("shared:", write(pieces, out / "shared", spark=spark)[1])
        try:
            write(pieces, own / "export", spark=spark)
        except NotShared as error:
            print(error)
        print("after two deaths:", die_twice(spark, out / "marks"))


if __name__ == "__main__":
    first, *paths = sys.argv[1:]
    main(first, *[Path(word) for word in paths[:3]], [Path(word) for word in paths[3:]])
