"""The journey of what goes by a stack's nodes: stamps written one by one, so that every part is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from journey_world import PRODUCER_PORT, World, callers, parts_ms

from analysis.journey.parts import BY_NODES, LATENCY, of_reply
from analysis.journey.rows import add_journey
from analysis.journey.trial import Journey, stamped_journey
from analysis.rows import Rows
from records.manifest import Consumer
from records.schema import DELIVERED, PUBLISHED, STAMPS, Outcome
from records.stamps import Point

GIVEN, OUT, IN, GOT = Point.FROM_APPLICATION, Point.TO_PEER, Point.FROM_PEER, Point.TO_APPLICATION
# A stamp: node (sta1 is 0), point, milliseconds, and the peer.
Stamp = tuple[Any, ...]
ONE_HOP: tuple[Stamp, ...] = ((0, GIVEN, 1), (0, OUT, 3, 1), (1, IN, 10, 0), (1, GOT, 12))
BACK: tuple[Stamp, ...] = ((1, GIVEN, 33), (1, OUT, 34, 0), (0, IN, 60, 1), (0, GOT, 61))
PARTS = {"client": 1, "own_node": 2, "between_nodes": 7, "last_node": 2, "receiver": 1}


@dataclass(slots=True)
class Nodes:
    """Message 0 is scheduled at 0 ms."""

    world: World = field(default_factory=World)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def stamp(self, *stamps: Stamp, reply: bool = False, seq: int = 0) -> None:
        for node, point, at_ms, *peer in stamps:
            self.rows.append(
                {"node": node, "point": point, "reply": reply, "producer": 1, "seq": seq,
                 "peer": peer[0] if peer else None, "t_ns": self.world.ns(at_ms)}
            )  # fmt: skip

    def journey(self) -> Journey:
        return stamped_journey(
            pa.Table.from_pylist(self.rows[::-1], schema=STAMPS),  # files of nodes come in any order
            self.world.manifest(),
            published=pa.Table.from_pylist(self.world.published, schema=PUBLISHED),
            delivered=pa.Table.from_pylist(self.world.delivered, schema=DELIVERED),
        )


def message(*stamps: Stamp) -> Nodes:
    """It has come at 13 ms."""
    nodes = Nodes()
    nodes.world.publish(0, at_ms=0)
    nodes.stamp(*stamps)
    nodes.world.deliver(0, at_ms=13)
    return nodes


def request(there: tuple[Stamp, ...] = ONE_HOP, back: tuple[Stamp, ...] = BACK) -> Nodes:
    """It is served at 13 ms and answered at 63 ms."""
    nodes = Nodes(callers(PRODUCER_PORT))
    nodes.world.publish(0, at_ms=0)
    nodes.world.published[-1] |= {"t_ack_ns": None, "outcome": int(Outcome.IN_DOUBT)}
    nodes.world.deliver(0, at_ms=13)
    nodes.world.answered(0, at_ms=63)
    nodes.stamp(*there)
    nodes.stamp(*back, reply=True)
    return nodes


def test_the_stages_of_a_message_are_what_the_nodes_have_stamped() -> None:
    found = message(*ONE_HOP).journey()
    assert parts_ms(found) == [PARTS]
    assert (found.hops, found.why, found.copies) == (1.0, "", {})


def test_a_node_that_passes_it_on_has_a_part_and_each_link_is_a_hop() -> None:
    found = message((0, GIVEN, 1), (0, OUT, 2, 2), (2, IN, 4, 0), (2, OUT, 5, 1), (1, IN, 9, 2), (1, GOT, 11)).journey()
    assert parts_ms(found) == [
        {"client": 1, "own_node": 1, "between_nodes": 6, "forwarding": 1, "last_node": 2, "receiver": 2}
    ]
    assert found.hops == 2.0


def test_what_comes_back_to_its_own_node_has_gone_over_two_links() -> None:
    nodes = message((0, GIVEN, 1), (0, OUT, 2, 1), (1, IN, 4, 0), (1, OUT, 5, 0), (0, IN, 7, 1), (0, GOT, 9))
    nodes.world.consumers = (Consumer(id=10, node="sta1", topic=0),)
    assert parts_ms(nodes.journey()) == [
        {"client": 1, "own_node": 1, "between_nodes": 4, "forwarding": 1, "last_node": 2, "receiver": 4}
    ]


def test_what_many_receive_has_a_way_to_each() -> None:
    nodes = message(*ONE_HOP, (0, OUT, 4, 2), (2, IN, 6, 0), (2, GOT, 7))
    nodes.world.consumers = (Consumer(id=10, node="sta2", topic=0), Consumer(id=11, node="sta3", topic=0))
    nodes.world.deliver(0, at_ms=8, consumer=11)
    other = {"client": 1, "own_node": 3, "between_nodes": 2, "last_node": 1, "receiver": 1}
    assert parts_ms(nodes.journey()) == [PARTS, other]


def test_the_stages_of_a_request_and_its_reply_sum_to_the_response_time() -> None:
    nodes = request()
    found = nodes.journey()
    back = {"service": 20, "reply_own_node": 1, "reply_between_nodes": 26, "reply_last_node": 1, "reply_receiver": 2}
    assert parts_ms(found) == [PARTS | back]
    rows = Rows(0)
    add_journey(found, rows)
    told = rows.batch().to_pylist()
    mean = {row["metric"]: row["value"] for row in told if row["key"] == "mean"}
    assert set(mean) == {*BY_NODES, *map(of_reply, BY_NODES), LATENCY}
    assert sum(mean.values()) == pytest.approx(2 * mean[LATENCY])
    trial = {row["metric"]: row["value"] for row in told if row["table"] == "trial"}
    assert trial == {"journey_share": 1.0, "hops_mean": 1.0}


@pytest.mark.parametrize("missing", range(4))
def test_a_stamp_that_is_missing_leaves_its_message_without_a_journey(missing: int) -> None:
    found = message(*ONE_HOP[:missing], *ONE_HOP[missing + 1 :]).journey()
    assert found.account.attributed == 0
    assert found.why.startswith("1 of 1 deliveries not attributed: 1 whose ")
    assert "not stamped" in found.why


@pytest.mark.parametrize("missing", range(4))
def test_a_stamp_of_the_reply_that_is_missing_leaves_its_request_without_a_journey(missing: int) -> None:
    found = request(back=(*BACK[:missing], *BACK[missing + 1 :])).journey()
    assert found.account.attributed == 0
    assert "not stamped" in found.why


def test_a_reply_of_another_node_is_not_the_services() -> None:
    other = ((2, GIVEN, 33), (2, OUT, 34, 0), (0, IN, 60, 2), (0, GOT, 61))
    found = request(back=other).journey()
    assert (found.account.attributed, found.account.no_reply_marker) == (0, 1)


def test_what_stays_on_its_node_has_crossed_nothing() -> None:
    nodes = message((0, GIVEN, 1), (0, GOT, 2))
    nodes.world.consumers = (Consumer(id=10, node="sta1", topic=0),)
    found = nodes.journey()
    assert (found.account.attributed, found.account.crossed_nothing) == (0, 1)


def test_a_message_that_came_from_two_applications_is_nobodys() -> None:
    assert message(*ONE_HOP, (0, GIVEN, 2)).journey().account.ambiguous == 1


def test_stamps_of_messages_that_the_ledger_does_not_know_are_left_out() -> None:
    nodes = message()
    nodes.stamp(*ONE_HOP, seq=99)
    assert nodes.journey().why == "the stack's nodes have stamped none of the messages"
    nodes.stamp(*ONE_HOP)
    assert parts_ms(nodes.journey()) == [PARTS]
