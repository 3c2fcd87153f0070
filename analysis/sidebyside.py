"""Calls side by side, by processes forked off this one: they have all that it has, so only their results travel.

A process that is started afresh would first have to import what draws, and be handed the findings of all trials.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")
# Trials' pages that are worth a process: a second one costs 0.12 s of processor at 32 pages in all, and none that could
# be seen at 64, which then take half the time (benchmarks/report_pages.py).
WORTH = 32


def processes_for(calls: int, *, worth: int = WORTH) -> int:
    """How many processes are worth it; at least 1.  worth: how many calls each must have to do."""
    return max(1, min(len(os.sched_getaffinity(0)), calls // worth))


def side_by_side(call: Callable[[int], T], calls: int, *, processes: int) -> list[T]:
    """What `call` gives of 0 to `calls` - 1, in this order; this process is one of them.

    A process that ends before its work is done, or cannot be started, costs nothing but time: its share is done here,
    so `call` must not mind to be called of a number twice.  What it raises here is raised.
    """
    mine, *others = (range(first, calls, processes) for first in range(processes))
    with _forked(call, others) as answers:
        found = {number: call(number) for number in mine}
        for share, answer in zip(others, answers, strict=True):
            results = _received(answer)
            found |= zip(share, map(call, share) if results is None else results, strict=True)
    return [found[number] for number in range(calls)]


@contextmanager
def _forked(call: Callable[[int], object], shares: Sequence[range]) -> Iterator[list[Connection]]:
    """Where the results of each share come from, if its process gets there; all are ended on every way out."""
    context = multiprocessing.get_context("fork")
    answers: list[Connection] = []
    children = []
    # In a child nothing of its parent's may be collected: Spark's objects tell Java so, by the parent's connection.
    gc.freeze()
    try:
        for share in shares:
            answer, sending = context.Pipe(duplex=False)
            answers.append(answer)
            child = context.Process(target=_work, args=(call, share, sending, os.getpid()))
            with sending, suppress(OSError):  # no memory, or no number, for another process
                child.start()
                children.append(child)
        yield answers
    finally:
        gc.unfreeze()
        for child in children:
            child.kill()
            child.join()
        for answer in answers:
            answer.close()


def _work(call: Callable[[int], object], share: range, sending: Connection, parent: int) -> None:
    """A child's life.  Why it fails is not told: its parent meets the same when it does the child's share."""
    try:
        results = []
        for number in share:
            if os.getppid() != parent:
                break  # it was killed
            results.append(call(number))
        else:
            sending.send(results)
    finally:
        os._exit(0)  # without the parent's exit handlers


def _received(answer: Connection) -> list[Any] | None:
    """What a process has sent, None when it is gone without."""
    try:
        return list(answer.recv())
    except (EOFError, OSError):
        return None
