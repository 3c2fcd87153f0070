"""Small ledgers for tests."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from records.audience import Audience, audiences
from records.manifest import Consumer
from records.schema import DELIVERED, PUBLISHED, Outcome


def published(
    sends: Sequence[tuple[int, int]],
    *,
    outcome: Outcome = Outcome.ACKED,
    outcomes: dict[tuple[int, int], Outcome] | None = None,
    prop: int | None = None,
    t_ack_ns: int | None = None,
    given_up: dict[tuple[int, int], int] | None = None,
) -> pa.Table:
    """A table from (producer, seq), a microsecond apart, all on topic 0, answered half of one later or then."""
    rows = [
        {
            "producer": producer,
            "seq": seq,
            "topic": 0,
            "body_bytes": 100,
            "property": prop,
            "t_sched_ns": 1000 * number,
            "t_send_ns": 1000 * number,
            "t_ack_ns": 1000 * number + 500 if t_ack_ns is None else t_ack_ns,
            "outcome": int((outcomes or {}).get((producer, seq), outcome)),
            "t_given_up_ns": (given_up or {}).get((producer, seq)),
        }
        for number, (producer, seq) in enumerate(sends)
    ]
    return pa.Table.from_pylist(rows, schema=PUBLISHED)


def delivered(arrivals: Sequence[tuple[int, int, int]], *, t_recv_ns: int = 10**9) -> pa.Table:
    """A table from (consumer, producer, seq) in order of arrival."""
    rows = [
        {
            "consumer": consumer,
            "producer": producer,
            "seq": seq,
            "t_recv_ns": t_recv_ns + number,
            "arrival": number,
            "redelivered": False,
        }
        for number, (consumer, producer, seq) in enumerate(arrivals)
    ]
    return pa.Table.from_pylist(rows, schema=DELIVERED)


def consumers(count: int = 1, *, share: bool = False, undivided: bool = False) -> tuple[Audience, ...]:
    """Consumers 0.. of topic 0, each an audience of its own, or all together one."""
    them = [Consumer(id=number, node="sta1", topic=0) for number in range(count)]
    return audiences(them, share=share, undivided=undivided)
