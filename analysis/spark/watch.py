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

LONG_S = 15.0  # a job that runs longer is worth a look
_LET_GO = "killed by driver"  # of a worker that was not needed any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """As Spark knows it at the end.  lost: why it is gone, '' where it is there.  failed: of its tasks."""

    place: str
    lost: str
    failed: int


@contextmanager
def watched(spark: SparkSession, say: Say, *, after_s: float = LONG_S) -> Iterator[None]:
    """Tell where Spark shows the job when it takes longer than `after_s`; at its end, which workers were lost."""
    with later(lambda: say(f"still at work: {url}") if (url := spark.sparkContext.uiWebUrl) else None, after_s):
        yield
    with suppress(Exception):  # the job is done: nothing that is told of it may spoil it
        if words := repeated(executors(spark)):
            say(words)


@contextmanager
def later(do: Callable[[], None], after_s: float) -> Iterator[None]:
    """Do it once after so many seconds, unless the block has ended."""
    timer = threading.Timer(after_s, do)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


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
