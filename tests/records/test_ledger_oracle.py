"""Reconciling all audiences at once gives what reconciling message by message gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from records.audience import Audience
from records.ledger import Reconciliation, reconcile
from records.schema import DELIVERED, PUBLISHED, Outcome

NEVER = int(np.iinfo(np.int64).max)
CONSUMERS, PRODUCERS, TOPICS, MESSAGES = 6, 3, 3, 6
Row = dict[str, Any]
Message = tuple[int, int]


def message(row: Row) -> Message:
    return row["producer"], row["seq"]


def plainly(sent: Sequence[Row], got: Sequence[Row], them: Sequence[Audience]) -> Reconciliation:
    """As records.ledger says, in loops over rows; rows of `got` are in the order of the table."""
    total = Counter(dict.fromkeys(("expected", "delivered", "lost", "in_doubt", "refused", "duplicates"), 0))
    total.update(redelivered=sum(row["redelivered"] for row in got), reordered=0, foreign=0, absent=0)
    answered = {message(row): row["t_ack_ns"] for row in sent if row["t_ack_ns"] is not None}
    known = {message(row) for row in sent}
    total["foreign"] += sum(all(row["consumer"] not in one.consumers for one in them) for row in got)
    for one in them:
        mine = [row for row in got if row["consumer"] in one.consumers]
        if one.caller is not None:
            for row in mine:
                its = message(row)
                late = its in answered and answered[its] < row["t_recv_ns"]
                total["foreign"] += row["producer"] != one.caller or its not in known or late
            continue
        firsts: dict[Message, Row] = {}
        for row in sorted(mine, key=lambda row: (row["t_recv_ns"], row["arrival"])):
            firsts.setdefault(message(row), row)
        total["duplicates"] += len(mine) - len(firsts)
        wanted = [row for row in sent if row["topic"] == one.topic and chosen(row, one.selector)]
        if one.undivided:
            total["foreign"] += astray([row for row in mine if message(row) in map(message, wanted)])
        once = [row for row in mine if firsts[message(row)] is row]
        if one.gone:
            gone = absent(sent, firsts, one)
            missing = [row for row in wanted if message(row) in gone and row["outcome"] != Outcome.FAILED]
            total["absent"] += len(missing)
            wanted = [row for row in wanted if row not in missing]
        total["foreign"] += len(firsts.keys() - set(map(message, wanted)))
        for row in wanted:
            total[became(row, firsts, once, one)] += 1
        for consumer in one.consumers:
            total["reordered"] += reordered([row for row in once if row["consumer"] == consumer])
    total["expected"] = total["delivered"] + total["lost"] + total["in_doubt"]
    return Reconciliation(**total)


def chosen(row: Row, selector: tuple[int, int] | None) -> bool:
    prop = -1 if row["property"] is None else row["property"]
    return selector is None or selector[0] <= prop < selector[1]


def astray(rows: Sequence[Row]) -> int:
    pairs = Counter((row["producer"], row["consumer"]) for row in rows)
    producers = {producer for producer, _ in pairs}
    return len(rows) - sum(max(pairs[one, who] for who in range(CONSUMERS)) for one in producers)


def absent(sent: Sequence[Row], firsts: dict[Message, Row], one: Audience) -> set[Message]:
    """By the audience's own account, of all that was sent."""
    came = np.array([message(row) in firsts for row in sent], dtype=bool)
    gone = one.absent(np.array([row["t_send_ns"] for row in sent], dtype=np.int64), came)
    return {message(row) for row, missed in zip(sent, gone, strict=True) if missed}


def became(row: Row, firsts: dict[Message, Row], once: Sequence[Row], one: Audience) -> str:
    if message(row) in firsts:
        return "delivered"
    if row["outcome"] == Outcome.FAILED:
        return "refused"
    later = {
        who: any(
            other["producer"] == row["producer"] and other["seq"] > row["seq"] and who == other["consumer"]
            for other in once
        )
        for who in one.consumers
    }
    waiting = [who for who in one.consumers if who not in one.left] or one.consumers
    overtaken = any(later.values()) if one.undivided else all(later[who] for who in waiting)
    return "lost" if overtaken and row["outcome"] == Outcome.ACKED else "in_doubt"


def reordered(rows: Sequence[Row]) -> int:
    latest: dict[int, int] = {}
    found = 0
    for row in sorted(rows, key=lambda row: row["arrival"]):
        before = latest.get(row["producer"], -1)
        found += row["seq"] < before
        latest[row["producer"]] = max(before, row["seq"])
    return found


times = st.integers(0, 50)
spans = st.lists(st.tuples(times, times | st.just(NEVER)), max_size=2).map(tuple)


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Audience]]:
    messages = draw(
        st.lists(st.tuples(st.integers(0, PRODUCERS - 1), st.integers(0, MESSAGES)), unique=True, max_size=15)
    )
    sent = [
        {
            "producer": producer, "seq": seq, "body_bytes": 100, "topic": draw(st.integers(0, TOPICS - 1)),
            "property": draw(st.none() | st.integers(0, 9)), "t_sched_ns": 0, "t_send_ns": draw(times),
            "t_ack_ns": draw(st.none() | times), "outcome": int(draw(st.sampled_from(list(Outcome)))),
        }
        for producer, seq in messages
    ]  # fmt: skip
    # Some are of nobody, or of nobody's.
    arrivals = st.tuples(st.integers(0, CONSUMERS), st.integers(0, PRODUCERS), st.integers(0, MESSAGES), times, times)
    got = [
        {
            "consumer": consumer, "producer": producer, "seq": seq, "t_recv_ns": t_recv, "arrival": arrival,
            "redelivered": draw(st.booleans()),
        }
        for consumer, producer, seq, t_recv, arrival in draw(st.lists(arrivals, max_size=40))
    ]  # fmt: skip
    groups: dict[int, list[int]] = {}
    for consumer in draw(st.permutations(range(CONSUMERS))):
        groups.setdefault(draw(st.integers(0, CONSUMERS - 1)), []).append(consumer)
    bounds = st.tuples(st.integers(0, 5), st.integers(5, 10))
    them = [
        Audience(
            consumers=tuple(members),
            topic=draw(st.integers(0, TOPICS)),
            selector=draw(st.none() | bounds),
            caller=draw(st.none() | st.none() | st.integers(0, PRODUCERS)),
            gone=draw(spans),
            left=tuple(one for one in members if draw(st.booleans())),
            undivided=draw(st.booleans()),
        )
        for members in groups.values()
    ]
    return sent, got, them


@settings(max_examples=500)
@given(ledgers())
def test_all_at_once_is_as_one_by_one(ledger: tuple[list[Row], list[Row], list[Audience]]) -> None:
    sent, got, them = ledger
    tables = pa.Table.from_pylist(sent, schema=PUBLISHED), pa.Table.from_pylist(got, schema=DELIVERED)
    assert reconcile(*tables, them) == plainly(sent, got, them)


def test_an_audience_looks_at_its_own_rows_only(monkeypatch: Any) -> None:
    """Counted are the elements that are searched for, of 300 receivers of as many channels with 20 messages each."""
    receivers, each = 300, 20
    producer, seq = np.repeat(np.arange(receivers), each), np.tile(np.arange(each), receivers)
    count = len(seq)
    unknown = pa.nulls(count, pa.int64())
    columns = [producer, seq, producer, producer, unknown, *[np.arange(count)] * 3, producer * 0, unknown]
    sent = pa.table(
        [pa.array(one).cast(field.type) for one, field in zip(columns, PUBLISHED, strict=True)], schema=PUBLISHED
    )
    columns = [producer, producer, seq, np.arange(count), np.arange(count), producer < 0]
    got = pa.table(
        [pa.array(one).cast(field.type) for one, field in zip(columns, DELIVERED, strict=True)], schema=DELIVERED
    )
    looked = 0

    def counted(plain: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal looked
        looked += sum(np.size(one) for one in arguments if isinstance(one, np.ndarray | tuple))
        return plain(*arguments, **named)

    for name in ("searchsorted", "isin", "unique", "argsort", "lexsort", "count_nonzero"):
        monkeypatch.setattr(np, name, partial(counted, getattr(np, name)))
    result = reconcile(sent, got, [Audience(consumers=(one,), topic=one) for one in range(receivers)])
    assert (result.expected, result.delivered, result.foreign) == (count, count, 0)
    assert looked <= 100 * count
