"""Large trials whose reductions a query needs: before it runs, several tasks share each of them, as for a report.

A task of the query itself makes a reduction alone, however large its trial is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.large.plan import LARGE_PACKETS, draft_here, may_be_large
from analysis.reductions.code import code_digest
from analysis.reductions.kept import look, shared
from analysis.reductions.published import copy_records, files_of_trials, large_published
from analysis.reductions.published_trial import captures_of
from analysis.spark import jobs
from analysis.sql.work import Name, names_in
from records.location import Place, Remote
from records.publishing import read_published
from records.scratch import scratch
from records.store import trials

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Large = Mapping[Name, jobs.Reducible]


@contextmanager
def without_reduction(places: Sequence[Place], *, large_packets: int = LARGE_PACKETS) -> Iterator[Large]:
    """The large trials of these campaigns of which no reduction is kept that can be used.

    large_packets: as analysis.spark.jobs.reduce_all has it.  Raises NotPublished, Unreachable of a URI.
    """
    code = code_digest()
    with scratch("query") as below:
        found: dict[Name, jobs.Reducible] = {}
        for number, place in enumerate(places):
            if isinstance(place, Remote):
                found |= _published(place, below / str(number), code, large_packets)
            else:
                found |= _here(place, code, large_packets)
        yield found


def _here(folder: Path, code: str, large_packets: int) -> dict[Name, jobs.Reducible]:
    large = [one.path for one in trials(folder) if draft_here(one.path, 0, large_packets=large_packets) is not None]
    left = [str(path) for path in large if not look(path, code).usable]
    return {("", path): jobs.Folder(path, code, None, jobs.TASK_S) for path in left}  # each has tasks of its own


def _published(place: Remote, below: Path, code: str, large_packets: int) -> dict[Name, jobs.Reducible]:
    published = read_published(place)
    files = files_of_trials(published).values()
    if not any(may_be_large(sum(one.bytes for one in captures_of(mine)), large_packets) for mine in files):
        return {}
    copy = copy_records(place, published, below)
    found = large_published(copy, code, large_packets=large_packets)
    return {(str(place), trial): one for trial, one in found.items()}


def reduce_those_of(frame: DataFrame, large: Large, planned: Path, *, large_packets: int = LARGE_PACKETS) -> None:
    """Reduce those of the large trials that the query `frame` reads, and keep what is made.

    planned: the folder that the query's views were given as option `planned`.  Where planning writes nothing there (a
    Spark Connect server on another machine), or nothing may be kept, a task of the query does it later.
    """
    _plan(frame)
    wanted = {name: large[name] for name in names_in(planned) if name in large}
    if not wanted:
        return
    spark: SparkSession = frame.sparkSession
    with shared(Path(trial) for at, trial in wanted if not at) as token:
        mine = {
            number: replace(one, token=token) if isinstance(one, jobs.Folder) else one
            for number, one in enumerate(wanted.values())
        }
        jobs.reduce_all(spark, mine, large_packets=large_packets)


def _plan(frame: DataFrame) -> None:
    """Have Spark ask each view that the query reads for its partitions, by its own interface: no other runs no task."""
    java: Any = getattr(frame, "_jdf", None)
    if java is None:  # of a Spark Connect server
        return
    plan = java.queryExecution().executedPlan()
    if _kind(plan) == "AdaptiveSparkPlanExec":  # which some setting of the user's asks for
        plan = plan.initialPlan()
    for part in [plan, *_each(plan.subqueriesAll())]:
        for leaf in _each(part.collectLeaves()):
            if _kind(leaf) == "BatchScanExec":
                leaf.inputPartitions()


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _each(found: Any) -> Iterator[Any]:
    """Of Scala's Seq."""
    return (found.apply(place) for place in range(found.size()))
