"""Whole fleets of real client processes against a real reference server."""

import asyncio
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from load_runs import Outcome, consumer, node_plan, producer, run, warm_server

from experiments.load.schedule import schedule
from records.manifest import PlacedWorkload
from records.schema import Outcome as Sent


def trial(folder: Path, *, window_s: float = 0.5, quiet_s: float = 0.5, **plan) -> Outcome:
    async def story() -> Outcome:
        async with warm_server() as port:
            return await run([node_plan(folder, port, **plan)], window_s=window_s, quiet_s=quiet_s)

    return asyncio.run(story())


def assert_all_arrived(outcome: Outcome, expected: int) -> None:
    counted = outcome.reconciled()
    assert counted.closes
    assert (counted.expected, counted.delivered) == (expected, expected)
    assert (counted.lost, counted.in_doubt, counted.duplicates, counted.reordered) == (0, 0, 0, 0)


def test_a_closed_loop_trial_ends_in_a_ledger_that_closes(tmp_path: Path) -> None:
    outcome = trial(tmp_path)
    published, done = outcome.result.published, outcome.result.nodes["sta1"]
    assert published.num_rows > 10
    assert_all_arrived(outcome, 2 * published.num_rows)
    assert outcome.drained.reason == "complete"
    assert done.rows == {"published": published.num_rows, "delivered": 2 * published.num_rows}
    assert (done.acked, done.unreadable) == (published.num_rows, 0)
    assert done.cpu_seconds > 0
    assert outcome.result.lost_connections == ()
    assert outcome.progress[-1].delivered == 2 * published.num_rows


def test_every_client_s_port_is_told(tmp_path: Path) -> None:
    outcome = trial(tmp_path)
    plan = outcome.plans[0]
    placed = PlacedWorkload(asked=plan.workload, producers=plan.producers, consumers=plan.consumers)
    told = outcome.result.with_clients(placed)
    ports = [one.ports for one in (*told.producers, *told.consumers)]
    assert [len(some) for some in ports] == [1, 1, 1]
    assert len({port for some in ports for port in some}) == 3


def test_closed_loop_sends_only_after_the_answer_and_only_until_the_end(tmp_path: Path) -> None:
    outcome = trial(tmp_path)
    table = outcome.result.published
    sent, answered = (table.column(name).to_numpy() for name in ("t_send_ns", "t_ack_ns"))
    assert (answered[:-1] <= sent[1:]).all()
    assert sent[-1] < outcome.end_ns


def test_latencies_are_positive_and_of_every_delivery(tmp_path: Path) -> None:
    outcome = trial(tmp_path)
    published, delivered = outcome.result.published.to_pandas(), outcome.result.delivered.to_pandas()
    joined = delivered.merge(published, on=["producer", "seq"])
    latency = joined.t_recv_ns - joined.t_send_ns
    assert len(joined) == len(delivered)
    assert latency.min() > 0


def test_open_loop_sends_what_the_schedule_says_from_every_node(tmp_path: Path) -> None:
    async def story() -> Outcome:
        async with warm_server() as port:
            plans = [
                node_plan(tmp_path, port, {"loop": "open", "rate": 100}),
                node_plan(
                    tmp_path,
                    port,
                    node="sta2",
                    producers=(producer(1), producer(2, topic=1)),
                    consumers=(consumer(2), consumer(3, topic=1)),
                    work={"loop": "open", "rate": 40},
                ),
            ]
            return await run(plans)

    outcome = asyncio.run(story())
    table = outcome.result.published.to_pandas()
    assert table.groupby("producer").size().to_dict() == {0: 50, 1: 20, 2: 20}
    assert_all_arrived(outcome, 3 * (50 + 20) + 20)
    assert (table.t_sched_ns.groupby(table.producer).diff().dropna() > 0).all()
    assert (table.t_send_ns >= table.t_sched_ns).all()
    lateness_s = (table.t_send_ns - table.t_sched_ns).groupby(table.producer > 0).max() / 1e9
    reported = [outcome.result.nodes[node].worst_send_lateness_s for node in ("sta1", "sta2")]
    assert reported == pytest.approx(lateness_s.to_list())


def test_poisson_arrivals_follow_from_the_seed(tmp_path: Path) -> None:
    outcome = trial(tmp_path, work={"loop": "open", "rate": 100, "arrivals": "poisson"}, seed=7)
    scheduled = outcome.result.published.column("t_sched_ns").to_numpy()
    load = outcome.plans[0].workload
    expected = list(islice(schedule(load, producer=0, seed=7, window_s=(0, 1)), len(scheduled)))
    assert len(scheduled) > 10
    assert list(scheduled - scheduled[0]) == [offset - expected[0] for offset in expected]


def test_several_in_flight_and_of_several_sizes_are_told_apart(tmp_path: Path) -> None:
    outcome = trial(tmp_path, work={"in_flight": 8, "body_bytes": {"100": 0.5, "5000": 0.5}})
    table = outcome.result.published
    sent, answered = (table.column(name).to_numpy() for name in ("t_send_ns", "t_ack_ns"))
    assert (sent[1:8] < answered[0]).all()
    assert (sent[8:] >= np.sort(answered)[:-8]).all()
    assert set(table.column("body_bytes").to_pylist()) == {100, 5000}
    assert_all_arrived(outcome, 2 * table.num_rows)


def test_consumers_get_what_they_select_and_the_drain_knows_how_much_that_is(tmp_path: Path) -> None:
    consumers = (consumer(0, selector=(0, 30)), consumer(1, selector=(0, 30), durable=True))
    outcome = trial(
        tmp_path,
        consumers=consumers,
        work={"selector": {"low": 0, "high": 30}, "loop": "open", "rate": 400, "ack": "dups_ok"},
    )
    published = outcome.result.published.column("property").to_numpy()
    assert_all_arrived(outcome, 2 * int((published < 30).sum()))
    assert published.max() >= 30
    assert outcome.drained.reason == "complete"


def test_the_null_stack_needs_no_server(tmp_path: Path) -> None:
    for window_s in (0.05, 0.5, 5.0):  # a slow machine may send nothing in the first
        folder = tmp_path / f"{window_s:g}"
        folder.mkdir()
        outcome = asyncio.run(run([node_plan(folder, 1, stack="null")], window_s=window_s))
        if outcome.result.published.num_rows:
            break
    assert_all_arrived(outcome, 2 * outcome.result.published.num_rows)
    assert set(outcome.result.published.column("outcome").to_pylist()) == {Sent.ACKED}
