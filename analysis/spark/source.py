"""`spark.read.format("pcap").load(PATH)`: packets of capture files as rows, for queries of one's own.

    from analysis.spark.source import register; register(spark)

PATH is a file or a pattern (`captures/*.pcap`), on this machine or at a URI (records.location).  Every exact range of a
file is a partition.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from analysis.capture.ranges import RANGE_BYTES, from_json, index, to_json
from analysis.capture.reader import read_range
from analysis.spark.schema import DDL, packet_batches
from analysis.spark.ship import ship
from records.location import Remote, locate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class NoCapture(ValueError):
    """No file matches what was asked; the message names it."""


class PcapSource(DataSource):  # type: ignore[misc]
    """Options: path (file or pattern), range_bytes (of a partition; default 64 MB)."""

    @classmethod
    def name(cls) -> str:
        """What `format(...)` is given."""
        return "pcap"

    def schema(self) -> str:
        """Columns of analysis.spark.schema."""
        return DDL

    def reader(self, schema: object) -> PcapReader:  # noqa: ARG002 - the columns are always the same
        """A reader of the files that the options name."""
        return PcapReader(self.options.get("path"), int(self.options.get("range_bytes", RANGE_BYTES)))


class PcapPartition(InputPartition):  # type: ignore[misc]
    """One range of one file, as text."""

    def __init__(self, path: str, piece: str) -> None:
        super().__init__((path, piece))
        self.path, self.piece = path, piece


class PcapReader(DataSourceReader):  # type: ignore[misc]
    """Indexes the files where the query is planned, decodes their ranges where it is run."""

    def __init__(self, pattern: str | None, range_bytes: int) -> None:
        self.pattern, self.range_bytes = pattern, range_bytes

    def partitions(self) -> Sequence[InputPartition]:
        """All ranges of all files, by name; a damaged file gives what stands before the damage."""
        return [
            PcapPartition(path, to_json(piece))
            for path in matching(self.pattern)
            for piece in index(locate(path), range_bytes=self.range_bytes).ranges
        ] or [PcapPartition("", "")]  # Spark wants a partition even where there is no packet

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of at most 65,536 rows."""
        assert isinstance(partition, PcapPartition)
        if partition.path:
            file = read_range(locate(partition.path), from_json(partition.piece))
            yield from packet_batches(file.packets, capture=partition.path, v6=file.v6)


def matching(pattern: str | None) -> list[str]:
    """Files that a path, URI or pattern names, sorted.  Raises NoCapture when there are none, Unreachable."""
    if not pattern:
        raise NoCapture('no path: say which captures, as in spark.read.format("pcap").load("captures/*.pcap")')
    place = locate(pattern)
    if isinstance(place, Remote) or place.is_file():
        found = [str(one) for one in place.matching()] if isinstance(place, Remote) else [str(place)]
    else:
        found = sorted(path for path in glob.glob(str(place)) if Path(path).is_file())
    if not found:
        raise NoCapture(f"{pattern}: there is no such file, and no file matches it")
    return found


def register(spark: SparkSession) -> None:
    """Make `format("pcap")` known to a session, and the code behind it to its workers."""
    ship(spark)
    spark.dataSource.register(PcapSource)
