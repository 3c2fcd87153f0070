from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.load.protocol import NodePlan
from experiments.scenario.settings import Settings
from experiments.trial.plan import node_plans, workload
from stacks.driver import Endpoint


def settings(publishers: int, subscribers: int, topics: int, **clients: bool) -> Settings:
    return Settings.model_validate(
        {
            "scenario": "s",
            "network": "nistnet-80211",
            "stations": 4,
            "workload": {
                "clients": {"publishers": publishers, "subscribers": subscribers, "topics": topics, **clients},
                "body_bytes": 100,
            },
        }
    )


@given(
    publishers=st.integers(1, 60), subscribers=st.integers(1, 60), topics=st.integers(1, 60), stations=st.integers(1, 5)
)
def test_every_client_is_planned_once_and_every_topic_has_a_publisher(
    publishers: int, subscribers: int, topics: int, stations: int
) -> None:
    topics = min(topics, publishers)
    cell = settings(publishers, subscribers, topics)
    names = [f"sta{number}" for number in range(1, stations + 1)]
    work = workload(cell, names)
    assert {one.topic for one in work.producers} == set(range(topics))
    at = Endpoint(host="10.0.0.1", port=1)
    plans = node_plans(cell, work, addresses=dict.fromkeys(names, "10.0.0.2"), services=[at], seed=1, out_dir=Path)
    assert sorted(one.id for plan in plans for one in plan.producers) == list(range(publishers))
    assert sorted(one.id for plan in plans for one in plan.consumers) == list(range(subscribers))


def test_both_ends_of_a_pair_share_a_station_and_a_topic() -> None:
    work = workload(settings(8, 8, 8), ["sta1", "sta2", "sta3"])
    for producer, consumer in zip(work.producers, work.consumers, strict=True):
        assert (producer.node, producer.topic) == (consumer.node, consumer.topic)


def test_publishers_and_subscribers_can_be_apart() -> None:
    work = workload(settings(3, 5, 3, apart=True), ["sta1", "sta2", "sta3", "sta4", "sta5"])
    assert [one.node for one in work.producers] == ["sta1", "sta2", "sta1"]
    assert [one.node for one in work.consumers] == ["sta3", "sta4", "sta5", "sta3", "sta4"]


def test_who_is_to_be_apart_needs_two_stations() -> None:
    with pytest.raises(ValueError, match=r"publishers and subscribers need stations: 2 or more to be apart"):
        Settings.model_validate(settings(1, 1, 1, apart=True).model_dump() | {"stations": 1})


def test_clients_are_spread_evenly() -> None:
    work = workload(settings(1, 50, 1), ["sta1", "sta2", "sta3", "sta4"])
    counts = [sum(one.node == f"sta{number}" for one in work.consumers) for number in range(1, 5)]
    assert max(counts) - min(counts) <= 1


def test_clients_that_speak_to_each_other_know_all_of_them_and_others_know_none() -> None:
    names = ["sta1", "sta2"]
    addresses = {"sta1": "10.0.0.1", "sta2": "10.0.0.2"}

    def plans(stack: str) -> list[NodePlan]:
        cell = settings(2, 3, 2).model_copy(update={"stack": stack})
        work = workload(cell, names)
        return list(node_plans(cell, work, addresses=addresses, services=(), seed=1, out_dir=Path))

    assert [one.peers for one in plans("null")] == [(), ()]
    first, second = plans("zeromq")
    assert first.peers == second.peers
    assert [(one.client_id, one.channel, one.address, one.port) for one in first.peers] == [
        ("sta1-producer-0", "topic-0", "10.0.0.1", 20_000),
        ("sta2-producer-1", "topic-1", "10.0.0.2", 20_000),
        ("sta1-consumer-0", "topic-0", "10.0.0.1", 20_001),
        ("sta2-consumer-1", "topic-1", "10.0.0.2", 20_001),
        ("sta1-consumer-2", "topic-0", "10.0.0.1", 20_002),
    ]
