"""`python -m analysis.spark.warm [FOLDER]`: make the class archive that shortens every later start of Spark.

The archive (some 170 MB) belongs to one version of Java and Spark on one machine.  Without it, or with one
that does not match, Spark starts all the same, only slower.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.spark.jobs import reduce_trials
from analysis.spark.session import ARCHIVE, session
from analysis.spark.source import register
from records.scratch import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NO_PACKETS = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)  # a pcap's header
# Half a minute on a quiet machine, more than two minutes on a busy one; it is written as the Java process ends.
_WRITTEN_S = 1200.0
_QUERY = """SELECT dport, count(*) AS n, sum(wire_len) / 2.0 AS mean FROM packets JOIN others USING (dport)
WHERE ts_ns > 5 AND dport IN (1, 2) GROUP BY dport ORDER BY n DESC LIMIT 3"""


def make_archive(archive: Path = ARCHIVE) -> Path:
    """Run small jobs and keep the classes they loaded in `archive`; an existing archive is replaced."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f".{archive.name}.new")
    writes = (f"-XX:ArchiveClassesAtExit={fresh}",)
    with session(master="local[2]", jvm=writes, stop_limit_s=_WRITTEN_S) as spark, scratch("warm") as folder:
        reduce_trials(spark, [archive.parent / "no-such-trial"] * 2)
        _ask(spark, folder / "none.pcap")
    fresh.replace(archive)
    return archive


def _ask(spark: SparkSession, capture: Path) -> None:
    """A query with what most have in them, of a capture without packets."""
    capture.write_bytes(_NO_PACKETS)
    register(spark)
    spark.read.format("pcap").load(str(capture)).createOrReplaceTempView("packets")
    spark.range(3).selectExpr("int(id) AS dport").createOrReplaceTempView("others")
    spark.sql(_QUERY).toArrow()


def main() -> None:
    """Command line entry."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ARCHIVE.parent
    print(f"class archive for Spark: {make_archive(folder / ARCHIVE.name)}")


if __name__ == "__main__":
    main()
