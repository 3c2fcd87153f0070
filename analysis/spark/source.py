"""`spark.read.format("pcap").load(PATH)`: packets of capture files as rows, for queries of one's own.

    from analysis.spark.source import register; register(spark)

PATH is a file, a pattern (`captures/*.pcap`), a folder of captures, or a list of these, on this machine or at URIs
(records.location).  Every exact range of a file is a partition.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import RANGE_BYTES, from_json, to_json
from analysis.capture.reader import read_range
from analysis.spark.options import flag, whole_number
from analysis.spark.pushed import Wanted, pushed
from analysis.spark.schema import DDL, TYPES, packet_batches
from analysis.spark.ship import register_source
from records.errors import WrongInput
from records.location import Place, Remote, locate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_SUFFIXES = (".pcap", ".pcapng", ".cap")  # of captures in a folder


class NoCapture(ValueError):
    """No file matches what was asked; the message names it."""


class NoColumn(WrongInput):
    """A schema names a column that packets do not have, or gives it another type; the message names it."""


class PcapSource(DataSource):  # type: ignore[misc]
    """Options: path (file, pattern or folder; `load` takes a list), range_bytes (of a partition; default 64 MB).

    keep_index: whether the index of ranges is kept beside a capture; default true.  pushdown: whether a query's filters
    choose what is read; default false, as it is right only for a DataFrame that occurs once, in one query: Spark 4.3
    plans a source's partitions once for each `load`, and would use those of one filter where there is another or none.
    """

    @classmethod
    def name(cls) -> str:
        """What `format(...)` is given."""
        return "pcap"

    def schema(self) -> str:
        """Columns of analysis.spark.schema."""
        return DDL

    def reader(self, schema: StructType) -> PcapReader:
        """A reader of the files that the options name.  schema: fewer columns, where the user gave one."""
        paths = json.loads(self.options["paths"]) if "paths" in self.options else [self.options.get("path")]
        return PcapReader(
            [path for path in paths if path],
            range_bytes=whole_number(self.options, "range_bytes", default=RANGE_BYTES),
            keep_index=flag(self.options, "keep_index", default=True),
            pushdown=flag(self.options, "pushdown", default=False),
            columns=columns_of(schema),
        )


class PcapPartition(InputPartition):  # type: ignore[misc]
    """One range of one file, as text."""

    def __init__(self, path: str, piece: str) -> None:
        super().__init__((path, piece))
        self.path, self.piece = path, piece


class PcapReader(DataSourceReader):  # type: ignore[misc]
    """Indexes the files where the query is planned, decodes their ranges where it is run."""

    def __init__(
        self, paths: Sequence[str], *, range_bytes: int = RANGE_BYTES, keep_index: bool = True,
        pushdown: bool = False, columns: Sequence[str] = tuple(TYPES),
    ) -> None:  # fmt: skip
        self.paths, self.range_bytes, self.keep_index, self.columns = paths, range_bytes, keep_index, columns
        self.pushdown = pushdown
        self.wanted = Wanted()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Notes what cannot match, where that was asked; Spark applies every filter all the same."""
        if self.pushdown:
            self.wanted = pushed(filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        """All ranges that can match, by file; a damaged file gives what stands before the damage."""
        names = [name for name in matching(self.paths) if self.wanted.of(name)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            work = partial(kept_index, range_bytes=self.range_bytes, keep=self.keep_index)
            found = list(pool.map(work, map(locate, names)))
        return [
            PcapPartition(name, to_json(piece))
            for name, of_file in zip(names, found, strict=True)
            for piece in of_file.ranges
            if self.wanted.within(piece)
        ] or [PcapPartition("", "")]  # Spark wants a partition even where there is no packet

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of at most 65,536 rows."""
        assert isinstance(partition, PcapPartition)
        if partition.path:
            file = read_range(locate(partition.path), from_json(partition.piece))
            packets = self.wanted.among(file.packets)
            yield from packet_batches(packets, capture=partition.path, v6=file.v6, columns=self.columns)


def columns_of(schema: StructType) -> list[str]:
    """The columns that a schema names.  Raises NoColumn."""
    for one in schema.fields:
        if TYPES.get(one.name) != (kind := one.dataType.simpleString()):
            known = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
            raise NoColumn(f"there is no column {one.name!r} of type {kind}. Columns: {known}")
    return list(schema.names)


def matching(paths: Sequence[str]) -> list[str]:
    """The files that paths, patterns, folders and URIs name, sorted; one that is named twice is there once.

    Of several names of one file (by `.`, `..` or links) it has the first by alphabet.  Raises NoCapture when one of
    `paths` names none, Unreachable.
    """
    if not paths:
        raise NoCapture('no path: say which captures, as in spark.read.format("pcap").load("captures/*.pcap")')
    found: dict[Place, str] = {}
    for place in sorted((one for path in paths for one in _files(path)), key=str):
        found.setdefault(place.resolve(), str(place))
    return list(found.values())


def _files(path: str) -> Sequence[Place]:
    place = locate(path)
    found: Sequence[Place]
    if isinstance(place, Remote):
        there = place.matching() or [one for one in (place / "*").matching() if one.suffix in _SUFFIXES]
        if strange := [one for one in there if "?" in one.path]:
            raise NoCapture(f"{strange[0]}: a URI cannot name this file, as options stand behind a question mark")
        found = there
    elif place.is_file():
        found = [place]
    elif place.is_dir():
        found = [one for one in place.iterdir() if one.suffix in _SUFFIXES and one.is_file()]
    else:
        found = [one for name in glob.glob(str(place)) if (one := Path(name)).is_file()]
    if not found:
        raise NoCapture(f"{path}: there is no such file, and no file matches it")
    return found


def register(spark: SparkSession) -> None:
    """Make `format("pcap")` known to a session, and the code behind it to its workers."""
    register_source(spark, PcapSource)
