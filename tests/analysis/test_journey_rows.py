"""From journeys to the report's model, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from journey_world import CONSUMER_PORT, DOWN, PRODUCER_PORT, UP, WHOLE, World, one_message

from analysis.findings import Findings, gather
from analysis.journey.reasons import cannot
from analysis.journey.rows import add_journey
from analysis.metrics import METRICS
from analysis.rows import Rows
from records.campaign import read_campaign
from records.manifest import ClientSocket, Consumer, Producer
from records.store import trials


def test_rows_come_back_as_the_finding_of_their_trial(tmp_path: Path, campaign: Path) -> None:
    world = World()
    one_message(world)
    lost = world.publish(1, at_ms=60)
    world.send(up=True, seq=1000 + len(UP) + 101, payload=UP + lost, t=(61, 71, 71))
    world.deliver(1, at_ms=90)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    found = gather(read_campaign(campaign), campaign, list(trials(campaign))[:1], pa.Table.from_batches([rows.batch()]))
    (trial,) = (one for one in found.trials if one.journey)
    assert list(trial.journey) == ["mean", "p50", "p90", "p99", "p99.9"]
    for parts in trial.journey.values():
        assert parts["latency"] == pytest.approx(0.040)
        assert {name: round(value * 1e3, 6) for name, value in parts.items() if value} == WHOLE | {"latency": 40}
    assert trial.metrics == {"journey_share": 0.5, "copies_uplink": 1.0, "copies_downlink": 1.0}
    assert set(trial.metrics) <= set(METRICS)
    assert "1 of 2 deliveries not attributed: 1 whose marker on the way down was not captured" in trial.journey_why


def test_what_is_not_known_has_no_row(tmp_path: Path) -> None:
    world = World(sides=("station", "wired"))
    one_message(world)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    assert "wire" not in rows.columns["metric"]


def test_connections_that_are_encrypted_are_said_to_be_so_and_nothing_is_counted_as_lost(tmp_path: Path) -> None:
    def known(port: int) -> tuple[ClientSocket, ...]:
        return (ClientSocket(protocol="tcp", port=port, tls="TLSv1.3 TLS_AES_256_GCM_SHA384"),)

    world = World(
        producers=(Producer(id=1, node="sta1", topic=0, sockets=known(PRODUCER_PORT)),),
        consumers=(Consumer(id=10, node="sta2", topic=0, sockets=known(CONSUMER_PORT)),),
    )
    one_message(world)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    (row,) = rows.batch().to_pylist()
    assert (row["table"], row["metric"]) == ("journey", "why")
    why = (
        "the clients' connections are encrypted (TLSv1.3 TLS_AES_256_GCM_SHA384), so messages cannot be seen in packets"
    )
    assert row["text"] == why


def test_a_campaign_that_was_captured_on_one_side_only_says_so(findings: Findings) -> None:
    for trial in findings.trials:
        assert trial.journey == {}
        assert "both sides of the link" in trial.journey_why
        assert "journey_share" not in trial.metrics


def test_what_keeps_any_journey_from_being_told_is_said() -> None:
    assert cannot([], [], stations=2, between_stations=True) == "there are no captures"
    assert cannot([], [], stations=2, between_stations=False) == "there are no captures"


def test_where_nothing_can_be_told_there_is_no_share_but_the_reason(tmp_path: Path) -> None:
    world = World()
    world.publish(0, at_ms=0)
    world.deliver(0, at_ms=40)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    (row,) = rows.batch().to_pylist()
    assert (row["table"], row["metric"]) == ("journey", "why")
    assert row["text"] == "the captures hold no packet of the clients with payload"


def test_captured_bytes_are_named_in_reasons_for_cut_markers(tmp_path: Path) -> None:
    world = World(snap=54 + len(DOWN) + 10)
    one_message(world)
    text = world.publish(1, at_ms=50)
    world.send(up=True, seq=9000, payload=text, t=(51, 52, 53))
    world.deliver(1, at_ms=90)
    found = world.journey(tmp_path)
    assert found.account.no_downlink_marker == 2
    assert "cut off or not captured" in found.why
