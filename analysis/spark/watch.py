"""What a user hears of a job while it runs, and of what went wrong and was made good."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.spark.target import Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG_S, AGAIN_S = 15.0, 60.0  # a job that runs longer is worth a look, and then how far it is
_JOIN_S = 5.0  # what it is about to say may wait for a Java process that is gone
_DESCRIPTION = "spark.job.description"
_LET_GO = "killed by driver"  # of a worker that was not needed any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """As Spark knows it at the end.  lost: why it is gone, '' where it is there.  failed: of its tasks."""

    place: str
    lost: str
    failed: int


@contextmanager
def watched(spark: SparkSession, say: Say, *, after_s: float = LONG_S, every_s: float = AGAIN_S) -> Iterator[None]:
    """Tell how far a long job is and where Spark shows it; at its end, which workers were lost."""

    def tell() -> None:
        with suppress(Exception):  # it may be ending
            if words := at_work(spark):
                say(f"still at work: {words}")

    with repeatedly(tell, after_s, every_s):
        yield
    with suppress(Exception):  # the job is done: nothing that is told of it may spoil it
        if words := repeated(executors(spark)):
            say(words)


def at_work(spark: SparkSession) -> str:
    """How many tasks of the stages that run now are done, of what they are (`told_as`), and where Spark shows them."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    tasks, done = (sum(getattr(stage, name) for stage in stages) for name in ("numTasks", "numCompletedTasks"))
    of = ""
    with suppress(Exception):  # it is Spark's own, and may not be there for all to see
        of = "".join(f" of {what}" for what in dict.fromkeys(_descriptions(spark)))
    parts = [f"{done:,} of {tasks:,} tasks{of} done"] if tasks else []
    return ", ".join([*parts, *filter(None, [spark.sparkContext.uiWebUrl])])


@contextmanager
def told_as(spark: SparkSession, what: str) -> Iterator[None]:
    """What this thread's jobs are of, here and on Spark's page.  A session of Spark Connect is not told."""
    before: str | None = None
    with suppress(Exception):  # it has no such description
        before = spark.sparkContext.getLocalProperty(_DESCRIPTION)
        spark.sparkContext.setLocalProperty(_DESCRIPTION, what)
    try:
        yield
    finally:
        with suppress(Exception):  # Spark may be gone
            spark.sparkContext.setLocalProperty(_DESCRIPTION, before)


def _descriptions(spark: SparkSession) -> Iterator[str]:
    """Those of the jobs that run now."""
    context: Any = spark.sparkContext._jsc.sc()
    jobs = context.statusStore().jobsList(None)
    for job in map(jobs.apply, range(jobs.size())):
        if str(job.status()) == "RUNNING" and job.description().isDefined():
            yield str(job.description().get())


@contextmanager
def repeatedly(do: Callable[[], None], after_s: float, every_s: float) -> Iterator[None]:
    """Do it after so many seconds, and then again and again, until the block has ended."""
    ended = threading.Event()

    def run() -> None:
        wait_s = after_s
        while not ended.wait(wait_s):
            do()
            wait_s = every_s

    thread = threading.Thread(target=run, name="spark-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_JOIN_S)


def executors(spark: SparkSession) -> list[Executor]:
    """All that the session has had."""
    context: Any = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    known = context.statusStore().executorList(False)
    return [_executor(known.apply(number)) for number in range(known.size())]


def _executor(one: Any) -> Executor:
    why = one.removeReason()
    lost = "" if one.isActive() else str(why.get()) if why.isDefined() else "no reason is known"
    return Executor(place=one.hostPort(), lost=lost, failed=one.failedTasks())


def repeated(found: Sequence[Executor]) -> str:
    """One message about tasks that failed and were run again, and workers that died; '' when there are none.

    Spark does not count a task as failed by a worker that it knew to be lost before.
    """
    failed = sum(one.failed for one in found)
    dead = [one for one in found if one.lost and (one.failed or _LET_GO not in one.lost)]
    lost = [f"{one.place} ({' '.join(one.lost.split()).rstrip('.')})" for one in dead]
    words = [f"{failed} task{'' if failed == 1 else 's'} of Spark's failed and ran again"] if failed else []
    return "; ".join([*words, *([f"workers lost: {', '.join(lost)}"] if lost else [])])
