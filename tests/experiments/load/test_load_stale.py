"""A copy of an earlier trial's message is known by its time of sending, whatever its number and whenever it comes; a
body that is cut by its length.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from good_evidence import GOOD
from load_runs import LOOPBACK, MS, Outcome, node_plan, warm_fleet, warm_server

from experiments.load.fleet import Member
from experiments.load.recording import MARKED
from experiments.load.stale import stale_and_cut
from experiments.scenario.settings import CheckSettings
from experiments.trial.checks.health import judge
from records.marker import Marker, pack_into
from records.messaging import Delivery
from records.schema import DELIVERED, PUBLISHED
from records.verdict import Check, Health
from stacks.driver import Endpoint, Here
from stacks.registry import get


def published(*sends: tuple[int, int, int]) -> pa.Table:
    """sends: producer, number, time."""
    plain = {"topic": 0, "body_bytes": 24, "property": None, "t_ack_ns": None, "outcome": 0}
    rows = [{"producer": p, "seq": s, "t_sched_ns": t, "t_send_ns": t, **plain} for p, s, t in sends]
    return pa.Table.from_pylist(rows, schema=PUBLISHED)


def marked(*copies: tuple[int, int, int], size: int = 24) -> pa.Table:
    """copies: producer, number, time of sending as they carry it; all arrive long after."""
    rows = [
        {
            **{"consumer": 0, "producer": p, "seq": s, "t_recv_ns": 10**9, "arrival": n, "redelivered": False},
            **{"t_send_ns": t, "body_bytes": size},
        }
        for n, (p, s, t) in enumerate(copies)
    ]
    return pa.Table.from_pylist(rows, schema=MARKED)


SENT = ((0, 0, 100), (0, 1, 200), (3, 0, 150))


@pytest.mark.parametrize(
    ("copies", "stale"),
    [
        ((), 0),
        (SENT, 0),
        ((*SENT, *SENT), 0),  # a duplicate is this trial's own
        (((0, 1, 199),), 1),  # its number is used, and it comes after this trial's message of that number
        (((0, 0, 200), (0, 1, 100)), 2),
        (((0, 2, 100), (1, 0, 150), (9, 9, 9)), 3),  # numbers that this trial has not used
    ],
)
def test_the_time_of_sending_tells(copies: tuple[tuple[int, int, int], ...], stale: int) -> None:
    assert stale_and_cut(published(*SENT), marked(*copies)) == (stale, 0)


def test_a_trial_that_sent_nothing_can_be_sent_nothing_of_its_own() -> None:
    assert stale_and_cut(published(), marked(*SENT)) == (3, 0)


@pytest.mark.parametrize("size", [23, 25])
def test_a_body_of_another_length_than_its_messages_was_cut(size: int) -> None:
    copies = (*SENT, SENT[0], (0, 2, 100))  # the last is none of this trial's, however long it is
    assert stale_and_cut(published(*SENT), marked(*copies, size=size)) == (1, 4)


def test_a_late_copy_with_a_number_in_use_spoils_a_trial(tmp_path: Path) -> None:
    """The broker hands out an earlier trial's first message when this trial's first message has long arrived."""
    outcome = asyncio.run(_with_a_late_copy(tmp_path))
    books = outcome.reconciled()
    assert books.closes
    assert books.duplicates == 2, "by number alone the copies are duplicates, one for each of two subscribers"
    assert outcome.result.stale == 2
    assert outcome.result.delivered.schema == DELIVERED
    verdict = judge(replace(GOOD, stale=outcome.result.stale), CheckSettings(), {})
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.CLEAN_SLATE]


async def _with_a_late_copy(folder: Path) -> Outcome:
    async with warm_server() as port:
        plan = node_plan(folder, port, {"loop": "open", "rate": 50})
        async with warm_fleet([Member(plan=plan)], logs=folder) as running:
            await running.ready(timeout_s=120)
            go_ns = time.monotonic_ns() + 100 * MS
            end_ns = go_ns + 500 * MS
            await running.go(go_ns=go_ns, start_ns=go_ns, end_ns=end_ns)
            await running.until(end_ns)
            body = bytearray(100)
            pack_into(body, Marker(producer=0, seq=0, t_send_ns=go_ns // 2))
            connection = await get("reference").connect(
                Here(node="here", address=LOOPBACK), [Endpoint(host=LOOPBACK, port=port)], "earlier"
            )
            sender = await connection.publisher("topic-0", delivery=Delivery.NONPERSISTENT)
            await sender.send(body)
            drained = await running.drain(limit_s=20, quiet_s=0.5)
            result = await running.finish(timeout_s=120)
            await connection.close()
    return Outcome(plans=[plan], result=result, drained=drained, progress=[], end_ns=end_ns)
