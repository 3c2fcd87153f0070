"""Ledgers of a few messages, by hand."""

from __future__ import annotations

import pyarrow as pa
from synthetic_campaign import SECOND, START

from records.schema import DELIVERED, PUBLISHED, Outcome


def published(rows: list[tuple[int, float, float | None, Outcome]], body: int = 1000) -> pa.Table:
    """Rows of (seq, seconds of the schedule from the window's start, seconds of the answer, outcome)."""
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    sched = [START + int(t * SECOND) for t in columns[1]]
    acks = [None if t is None else START + int(t * SECOND) for t in columns[2]]
    count = len(rows)
    data = [[1] * count, columns[0], [0] * count, [body] * count, [None] * count, sched, sched, acks, columns[3]]
    data.append([None] * count)
    return pa.table([pa.array(c, f.type) for c, f in zip(data, PUBLISHED, strict=True)], schema=PUBLISHED)


def delivered(rows: list[tuple[int, float]], consumer: int = 10) -> pa.Table:
    """Rows of (seq, seconds of the arrival from the window's start), in order of arrival."""
    count = len(rows)
    columns = list(zip(*rows, strict=True)) if rows else [[], []]
    times = [START + int(t * SECOND) for t in columns[1]]
    data = [[consumer] * count, [1] * count, columns[0], times, range(count), [False] * count]
    return pa.table([pa.array(list(c), f.type) for c, f in zip(data, DELIVERED, strict=True)], schema=DELIVERED)
