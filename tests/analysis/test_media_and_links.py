"""A network of several segments in the analysis: all media count, links between routers do not."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_campaign import WINDOW, link, resources

from analysis.medium import medium_metrics, queue_rate
from analysis.series import queue_series
from records.airtime import Steps
from records.link import DirectionState, GroupState, LinkInterruption, LinkProof, LinkState, QueueCounters


def of_segments() -> LinkProof:
    """Two cells, the second one busier, and a link that is busier still."""
    first, second, wire = (link("nistnet-80211", air_bytes=sent) for sent in (300_000, 600_000, 900_000))
    return first.model_copy(
        update={
            "segment": "cell1",
            "further": (
                second.model_copy(update={"segment": "cell2"}),
                wire.model_copy(update={"segment": "link1", "link": True}),
            ),
        }
    )


def test_bytes_are_those_of_all_media_and_use_is_that_of_the_busiest() -> None:
    metrics = medium_metrics(of_segments(), deliveries=300)
    assert metrics["air_bytes_per_delivery"] == 3000
    assert metrics["air_utilisation"] == pytest.approx(0.6)


def test_queues_of_further_segments_are_not_taken_for_the_first_ones() -> None:
    proof = of_segments()
    alone = queue_series(resources(queues={"air": 112_500.0}), proof, WINDOW)
    both = queue_series(resources(queues={"air": 112_500.0, "link1/air": 50_000.0}), proof, WINDOW)
    assert both == alone


def test_seconds_are_those_of_all_media() -> None:
    proof = of_segments()
    found = queue_series(resources(queues={"air": 25_000.0, "cell2/air": 100_000.0}), proof, WINDOW)
    assert {round(share, 6) for _, share in found["utilisation_air"]} == {0.8}  # of the busier one
    alone = queue_series(resources(queues={"air": 25_000.0}), proof, WINDOW)
    assert [value for _, value in found["backlog_bytes"]] == [2 * value for _, value in alone["backlog_bytes"]]
    slow = proof.further[0].model_copy(update={"rate_uplink": 4e6, "rate_downlink": 4e6})
    other = proof.model_copy(update={"further": (slow, proof.further[1])})
    found = queue_series(resources(queues={"air": 25_000.0, "cell2/air": 100_000.0}), other, WINDOW)
    assert {round(share, 6) for _, share in found["utilisation_air"]} == {0.2}  # each by its own rate


def test_a_proof_holds_when_those_of_all_segments_do_and_says_which_does_not() -> None:
    proof = of_segments()
    assert proof.holds
    broken = proof.further[1].checks[0].model_copy(update={"delivered": -1.0})
    bad = proof.further[1].model_copy(update={"checks": (broken,)})
    worse = proof.model_copy(update={"further": (proof.further[0], bad)})
    assert not worse.holds
    assert [one.detail.split(":")[0] for one in worse.all_checks if not one.holds] == ["segment link1"]
    assert LinkProof.model_validate_json(worse.model_dump_json()) == worse


def way(rate: float | None, corrupt: float = 0.0) -> DirectionState:
    return DirectionState(rate=rate, overhead=0.0, corrupt=corrupt)


def asked(**stations: DirectionState) -> tuple[LinkState, ...]:
    groups = tuple(GroupState(stations=(name,), uplink=one, downlink=one) for name, one in stations.items())
    return (LinkState(since_s=None, groups=groups),)


def test_interruptions_and_changes_are_those_of_all_media() -> None:
    proof = of_segments()
    here, there = (LinkInterruption(at_s=2, lasts_s=1, stations=(name,)) for name in ("sta1", "sta2"))
    wire = proof.further[1].model_copy(update={"interruptions": (here,)})
    events = [link("nistnet-80211", air_bytes=1, events=some).events
              for some in ([(2.0, "outage"), (3.0, "back")], [(2.0, "outage"), (5.0, "slower")])]  # fmt: skip
    other = proof.further[0].model_copy(update={"interruptions": (there,), "events": events[1]})
    whole = proof.model_copy(update={"interruptions": (here,), "events": events[0], "further": (other, wire)})
    assert whole.all_interruptions == (here, there)
    assert [(one.at_s, one.label) for one in whole.all_events] == [(2.0, "outage"), (3.0, "back"), (5.0, "slower")]


def test_the_segments_that_damage_packets_are_found_wherever_they_are() -> None:
    proof = of_segments()
    assert proof.damaging == ()
    other = proof.further[0].model_copy(update={"states": asked(sta1=way(1e6), sta2=way(1e6, corrupt=0.01))})
    assert proof.model_copy(update={"further": (other,)}).damaging == (other,)


def test_a_queue_of_a_duplex_link_has_its_own_stations_rate() -> None:
    states = asked(sta10=way(5e6), sta2=way(1e6), sta1=way(None))
    proof = link("wireline-100m", air_bytes=1).model_copy(update={"states": states, "rate_uplink": 10e6})
    assert [queue_rate(proof, f"uplink-{number}") for number in range(4)] == [None, 1e6, 5e6, 10e6]
    queue = QueueCounters(name="uplink-1", bytes=1_000_000, packets=1000, dropped=0)
    counted = proof.counters[0].model_copy(update={"queues": (queue,)})
    metrics = medium_metrics(proof.model_copy(update={"counters": (counted,)}), deliveries=1)
    assert metrics["air_utilisation"] == pytest.approx(1.0)  # 8 Mbit in 8 s at 1 Mbit/s


def test_the_steps_of_one_mediums_queue_are_not_anothers() -> None:
    proof = of_segments()  # both have a queue `air`
    slower = {"cell2/air": Steps(np.zeros(1), np.array([0.75e6]))}
    assert medium_metrics(proof, deliveries=1, steps=slower)["air_utilisation"] == pytest.approx(0.8)
    first = {"air": Steps(np.zeros(1), np.array([0.25e6]))}
    assert medium_metrics(proof, deliveries=1, steps=first)["air_utilisation"] == pytest.approx(1.2)
    assert medium_metrics(proof, deliveries=1)["air_utilisation"] == pytest.approx(0.6)


def test_a_proof_of_one_segment_is_as_it_always_was() -> None:
    proof = link("nistnet-80211", air_bytes=1)
    assert proof.segments == (proof,)
    assert proof.all_checks == proof.checks
    assert LinkProof.model_validate(proof.model_dump(exclude={"segment", "further", "link"})) == proof
