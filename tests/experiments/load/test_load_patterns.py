"""Every pattern over the reference broker: its books balance, and each fault shows in its own symptom only."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from load_runs import Outcome, cell_plans, run, warm_server

from experiments.load.patterns.request_reply import service_times
from experiments.load.protocol import NodePlan
from experiments.scenario.settings import Settings
from records.audience import audiences, of_messages
from records.workload import ServiceTime

RATE, WINDOW_S, PER_PRODUCER = 100, 0.5, 50
CLIENTS: dict[str, dict[str, Any]] = {
    "queue": {"senders": 2, "receivers": 3},
    "request_reply": {"callers": 2, "services": 2},
    "broadcast": {"senders": 1, "members": 3},
    "stream": {"shape": "duplex", "flows": 1},
    "stream into one address": {"shape": "shared", "flows": 4, "receivers": 2},
}


def plans(folder: Path, port: int, pattern: str, work: dict[str, Any]) -> list[NodePlan]:
    """One client process for each of two stations."""
    asked = {"pattern": pattern.split(maxsplit=1)[0], "clients": CLIENTS[pattern], "body_bytes": 100, **work}
    cell = Settings.model_validate(
        {"scenario": "x", "network": "x", "stack": "reference", "stations": 2, "workload": asked}
    )
    return cell_plans(folder, port, cell)


def trial(folder: Path, pattern: str, *faults: str, **work: Any) -> Outcome:
    async def story() -> Outcome:
        async with warm_server(*faults) as port:
            load = work or {"loop": "open", "rate": RATE}
            return await run(plans(folder, port, pattern, load), window_s=WINDOW_S, limit_s=4.0)

    return asyncio.run(story())


def symptoms(outcome: Outcome) -> dict[str, int]:
    """Every symptom that is not zero."""
    counted = outcome.reconciled()
    assert counted.expected == counted.delivered + counted.lost + counted.in_doubt
    every = {
        name: getattr(counted, name) for name in ("lost", "in_doubt", "refused", "duplicates", "reordered", "foreign")
    } | {"lost_connections": len(outcome.result.lost_connections)}
    return {name: count for name, count in every.items() if count}


SENT = {"queue": 2, "request_reply": 2, "broadcast": 1, "stream": 2, "stream into one address": 4}


@pytest.mark.parametrize(
    ("pattern", "faults", "expected"),
    [
        ("queue", (), {}),
        ("queue", ("double=10",), {"duplicates": 2 * PER_PRODUCER // 10}),
        ("request_reply", (), {}),
        ("broadcast", (), {}),
        ("broadcast", ("omit=20",), {"lost": 2}),
        ("stream", (), {}),
        ("stream into one address", (), {}),
        ("stream into one address", ("split=10",), {"foreign": 4 * (PER_PRODUCER // 10 - 1)}),  # 11, 21, 31, 41
        ("stream into one address", ("swap=10",), {"reordered": 4 * (PER_PRODUCER // 10 - 1)}),
        ("stream", ("swap=10",), {"reordered": 2 * (PER_PRODUCER // 10 - 1)}),  # nothing follows the last one
    ],
)
def test_a_pattern_keeps_its_promise_until_a_fault_breaks_it(
    tmp_path: Path, pattern: str, faults: tuple[str, ...], expected: dict[str, int]
) -> None:
    outcome = trial(tmp_path, pattern, *faults)
    assert symptoms(outcome) == expected
    assert outcome.result.published.num_rows == SENT[pattern] * PER_PRODUCER


@pytest.mark.parametrize("fault", ["misreply=5", "cross=5"])
def test_replies_to_the_wrong_callers_or_requests_do_not_close_the_books(tmp_path: Path, fault: str) -> None:
    outcome = trial(tmp_path, "request_reply", fault, loop="closed", in_flight=4, service_time="5 ms")
    found = symptoms(outcome)
    assert found.keys() == {"foreign"}
    assert not outcome.reconciled().closes


def test_a_response_takes_its_service_time_and_services_work_on_one_request_at_a_time(tmp_path: Path) -> None:
    one_service = {"callers": 2, "services": 1}
    outcome = trial(tmp_path, "request_reply", clients=one_service, loop="closed", service_time="20 ms")
    published = outcome.result.published
    took_ns = published.column("t_ack_ns").to_numpy() - published.column("t_send_ns").to_numpy()
    assert took_ns.min() >= 20_000_000
    # Both callers always wait, and the service takes 20 ms for each: 40 ms to a reply.
    assert np.median(took_ns) >= 38_000_000
    assert published.num_rows <= (WINDOW_S + 0.1) / 0.02 + 2
    assert outcome.drained.reason == "complete"


def test_replies_are_recorded_at_their_callers(tmp_path: Path) -> None:
    outcome = trial(tmp_path, "request_reply")
    consumers = [one for plan in outcome.plans for one in plan.consumers]
    callers = {one.id: one.caller for one in consumers if one.caller is not None}
    assert sorted(callers.items()) == [(2, 0), (3, 1)]
    got = outcome.result.delivered
    replies = [
        (consumer, producer)
        for consumer, producer in zip(*(got.column(name).to_pylist() for name in ("consumer", "producer")), strict=True)
        if consumer in callers
    ]
    assert len(replies) == 2 * PER_PRODUCER
    assert all(callers[consumer] == producer for consumer, producer in replies)
    assert [one.consumers for one in of_messages(audiences(consumers, share=True))] == [(0, 1)]


def test_service_times_follow_from_the_seed_and_have_the_mean_that_is_asked() -> None:
    asked = ServiceTime(mean_s=0.01, distribution="exponential")
    first, again, other = (service_times(asked, service=1, seed=seed) for seed in (1, 1, 2))
    drawn = [next(first) for _ in range(5000)]
    assert drawn == [next(again) for _ in range(5000)]
    assert drawn != [next(other) for _ in range(5000)]
    assert abs(np.mean(drawn) / 1e7 - 1) < 4 / 5000**0.5  # within four standard errors: exponential, so sigma = mean
    assert next(service_times(ServiceTime(mean_s=0.01), service=1, seed=1)) == 10_000_000
