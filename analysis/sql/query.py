"""One query over the views of campaigns: its rows, or one message that says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from analysis.large.plan import LARGE_PACKETS
from analysis.spark.errors import SparkFailed, raised
from analysis.sql.guard import check, named, once
from analysis.sql.large import reduce_those_of, without_reduction
from analysis.sql.reduced import OF_REDUCTIONS
from analysis.sql.source import FORMAT, register
from analysis.sql.views import VIEWS
from records.errors import WrongInput
from records.location import Place
from records.scratch import scratch

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

# As they are while a query runs: a path in its FROM is no view, and ${env:NAME} in it is no value of this machine's
# and makes no other words of it than the guard has read.
_SETTINGS = {
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",  # what stands in them is text to the guard
}
_SOURCE = "PYTHON_DATA_SOURCE_ERROR"  # what our source raised while Spark asked it for its partitions
_LOGGER = "SQLQueryContextLogger"  # pyspark's, of errors in queries
# What an error's name begins with, and the parameter that names what is not there.
_COLUMN, _VIEW = ("UNRESOLVED_COLUMN", "objectName"), ("TABLE_OR_VIEW_NOT_FOUND", "relationName")
# Spark's own sentence between its name and the SQLSTATE of an error, whose first two signs are the class (ISO 9075):
# dynamic SQL, not supported, cardinality, data, syntax or access, raised by the query.
_SENTENCE = re.compile(r"\[[A-Z][\w.]+\] (?P<text>.+?) ?SQLSTATE: (?P<state>\w{5})", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")
_OF_QUERY, _SYNTAX = ("07", "0A", "21", "22", "42", "P0"), "42601"
_NEAR = 0.4  # share of letters that a name and the one that was meant have in common at least


class WrongSql(WrongInput):
    """A query that Spark cannot run; the message has what is wrong, the nearest name, and those there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """rows: of the query, the first ones where that was asked.  left: how many there are beside them."""

    rows: pa.Table
    left: int


def ask(
    spark: SparkSession, query: str, places: Sequence[Place], *, most: int | None = None,
    large_packets: int = LARGE_PACKETS,
) -> Answer:  # fmt: skip
    """The rows of a query over these campaigns' views; most: of more, so many, and the number of the others.

    large_packets: from so many packets in its captures on, several tasks share a trial that has to be reduced.

    Raises Refused for what does more than read, WrongSql for what is no query of the views, SparkFailed when one cannot
    be planned because of a file, PySparkException for what else goes wrong.  Afterwards the session has no views of
    ours, and its settings are as before.
    """
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - imports slowly
    from pyspark.errors import PySparkException  # noqa: PLC0415

    check(query)
    used = named(query, VIEWS)
    reduced = places if OF_REDUCTIONS.intersection(used) else ()
    with (
        _quiet(), scratch("query") as planned, without_reduction(reduced, large_packets=large_packets) as large,
        _views(spark, places, {name: once(query, name) for name in used}, planned if large else None),
    ):  # fmt: skip
        try:
            frame = spark.sql(query)
            if large:
                reduce_those_of(frame, large, planned, large_packets=large_packets)
            if most is None:
                return Answer(rows=frame.toArrow(), left=0)
            rows = frame.limit(most + 1).toArrow()
            left = frame.count() - most if rows.num_rows > most else 0
            return Answer(rows=rows.slice(0, most), left=left)
        except (PySparkException, Py4JJavaError) as error:
            if isinstance(error, PySparkException) and error.getCondition() == _SOURCE:
                raise SparkFailed(_of_source(error)) from error
            if (told := _said(error, used)) is None:
                raise
            raise WrongSql(told) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """What is wrong with a query is said once, by us: Spark would print its own calls too."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - imports slowly

    logger = PySparkLogger.getLogger(_LOGGER)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@contextmanager
def _views(
    spark: SparkSession, places: Sequence[Place], names: Mapping[str, bool], planned: Path | None
) -> Iterator[None]:
    """names: of views, and whether filters may choose what is read of them.  planned: as AirwireSource has it."""
    register(spark)
    before = {name: spark.conf.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
        for name, pushdown in names.items():
            source = spark.read.format(FORMAT).option("table", name).option("pushdown", pushdown)
            source = source if planned is None else source.option("planned", str(planned))
            source.load([str(place) for place in places]).createOrReplaceTempView(name)
        yield
    finally:
        for name in names:
            spark.catalog.dropTempView(name)
        for name, value in before.items():
            spark.conf.set(name, str(value))


def _of_source(error: PySparkException) -> str:
    """What our source said, of all that Spark says of it."""
    told = (error.getMessageParameters() or {}).get("msg") or str(error)
    return _STATE.sub("", raised(told))


def _said(error: Exception, used: Sequence[str]) -> str | None:
    """What is wrong with the query, None where it is not the query."""
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415 - imports slowly

    told = (error.getMessageParameters() or {}) if isinstance(error, PySparkException) else {}
    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    views = f"views are {', '.join(VIEWS)}"
    if condition.startswith(_VIEW[0]):
        name = told.get(_VIEW[1], "").replace("`", "")
        meant = ": queries read views, no files" if "." in name else _meant(name, VIEWS)
        return f"there is no view {name}{meant}; {views}"
    if condition.startswith(_COLUMN[0]):
        name = told.get(_COLUMN[1], "").replace("`", "")
        columns = [column for view in used for column in VIEWS[view].schema.names]
        there = [f"columns of {view} are {', '.join(VIEWS[view].schema.names)}" for view in used]
        return "; ".join([f"there is no column {name}{_meant(name.rpartition('.')[2], columns)}", *(there or [views])])
    found = _SENTENCE.search(str(error))
    if found and found["state"].startswith(_OF_QUERY):
        sentence = " ".join(found["text"].split()).rstrip(".")
        return f"{sentence}; {views}" if found["state"] == _SYNTAX else sentence
    return str(error).strip().partition("\n")[0] if isinstance(error, AnalysisException) else None


def _meant(name: str, names: Sequence[str] | Mapping[str, object]) -> str:
    near = get_close_matches(name.lower(), list(names), n=1, cutoff=_NEAR)
    return f" (did you mean {near[0]}?)" if near else ""
