"""`spark.read.format("airwire").option("table", VIEW).load(CAMPAIGN)`: campaigns' trials as rows (analysis.sql.views).

    from analysis.sql.source import register; register(spark)

CAMPAIGN is a campaign's folder or the URI that it was published at, or a list of several.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, In, InputPartition

from analysis.reductions.code import code_digest
from analysis.spark.options import flag
from analysis.spark.schema import BATCH_ROWS
from analysis.spark.ship import register_source
from analysis.sql import recorded, reduced
from analysis.sql.columns import View, batch
from analysis.sql.together import partitions
from analysis.sql.views import VIEWS
from analysis.sql.work import Work, campaigns, planned, put_names
from records.errors import WrongInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT = "airwire"
_PUSHED = ("campaign", "cell", "trial")


class NoView(WrongInput):
    """There is no view of that name; the message has the nearest one and all of them."""


def view_of(name: str) -> View:
    """The view called `name`, in letters of either case; NoView when there is none."""
    if found := VIEWS.get(name.lower()):
        return found
    near = get_close_matches(name.lower(), VIEWS, n=1)
    meant = f", did you mean {near[0]}?" if near else "."
    raise NoView(f"there is no view {name!r}{meant} Views: {', '.join(VIEWS)}")


class AirwireSource(DataSource):  # type: ignore[misc]
    """Options: path (a campaign's folder or URI; `load` takes a list too), table (a view, by default trials).

    pushdown: whether filters of campaign, cell and trial choose partitions; default false, see analysis.spark.source.
    planned: a folder of this machine; planning writes there of which trials reductions will be read (work.put_names).

    code: digest of the modules that reduce, which `register` computes where their sources are.
    """

    code = ""

    @classmethod
    def name(cls) -> str:
        """What `format(...)` is given."""
        return FORMAT

    def schema(self) -> str:
        """The view's columns; comments say units and meaning."""
        return self._view().ddl

    def reader(self, schema: object) -> AirwireReader:  # noqa: ARG002 - the columns are the view's
        """A reader of the view."""
        paths = json.loads(self.options["paths"]) if "paths" in self.options else [self.options.get("path")]
        asked = flag(self.options, "pushdown", default=False)
        told = self.options.get("planned", "")
        return AirwireReader(self._view().name, [path for path in paths if path], self.code, pushdown=asked, told=told)

    def _view(self) -> View:
        return view_of(self.options.get("table", "trials"))


class AirwirePartition(InputPartition):  # type: ignore[misc]
    """Pieces of work; none where there are none, as Spark wants a partition all the same."""

    def __init__(self, works: tuple[Work, ...]) -> None:
        super().__init__(works)
        self.works = works


class AirwireReader(DataSourceReader):  # type: ignore[misc]
    """Finds trials where the query is planned, reads or reduces them where it is run."""

    def __init__(self, view: str, paths: list[str], code: str, *, pushdown: bool, told: str = "") -> None:
        self.view, self.paths, self.code, self.pushdown, self.told = view, paths, code, pushdown, told
        self.wanted: dict[str, frozenset[object]] = {}

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Takes `=` and IN of campaign, cell and trial, which whole partitions answer, where that was asked."""
        for one in filters:
            name = ".".join(getattr(one, "attribute", ()))
            if self.pushdown and isinstance(one, EqualTo | In) and name in _PUSHED:
                values = frozenset(one.value if isinstance(one, In) else (one.value,))
                self.wanted[name] = self.wanted.get(name, values) & values
            else:
                yield one

    def partitions(self) -> Sequence[InputPartition]:
        """One for each trial; of view cells for each cell, of packets for each range of a capture; or of several."""
        found = planned(VIEWS[self.view], campaigns(self.paths), self.wanted)
        if self.told and self.view in reduced.OF_REDUCTIONS:
            put_names(found, self.told)
        return [AirwirePartition(works) for works in partitions(found) or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of at most 65,536 rows."""
        assert isinstance(partition, AirwirePartition)
        for work in partition.works:
            if self.view not in reduced.OF_REDUCTIONS:
                yield from recorded.batches(work)
                continue
            rows = list(reduced.rows(work, self.code))
            for start in range(0, len(rows), BATCH_ROWS):
                yield batch(VIEWS[self.view], rows[start : start + BATCH_ROWS])


_KNOWING: WeakSet[SparkSession] = WeakSet()


def register(spark: SparkSession) -> None:
    """Make `format("airwire")` known to a session, and the code behind it to its workers; once is enough."""
    if spark in _KNOWING:
        return

    class Registered(AirwireSource):
        """Travels with the digest: workers may have the code from an archive, which has no sources to be read."""

        code = code_digest()

    register_source(spark, Registered)
    _KNOWING.add(spark)
