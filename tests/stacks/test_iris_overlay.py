"""Overlays of simulated nodes: they find each other, every key is found, trees carry every message once."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iris_worlds import GROUP, assert_right, cold, edges, flood, grown, heard, join

from stacks.iris.frames import Kind, Message, Op, Peer
from stacks.iris.frames import join as join_frame
from stacks.iris.ids import SPACE, nearest
from stacks.iris.simulator import World


@pytest.fixture(scope="module", params=[64, 256])
def many(request: pytest.FixtureRequest) -> World:
    """So many nodes; tests only ask what they know."""
    return grown(request.param)


def test_nodes_that_each_know_one_other_find_all_that_are_close_to_them(many: World) -> None:
    assert_right(many, set(many.nodes))


def test_every_key_is_found_in_few_hops_from_anywhere(many: World) -> None:
    ids = sorted(many.nodes)
    most = math.ceil(math.log(len(ids), 16)) + 1
    for _ in range(500):
        key = many.random.getrandbits(40)
        found = many.way(many.random.choice(ids), key)
        assert found[-1] == nearest(ids, key)
        assert len(found) - 1 <= most


@pytest.mark.parametrize("by", ["told", "scan"])
def test_twelve_nodes_that_begin_at_once_have_their_places_after_ten_seconds(by: str) -> None:
    world = cold(12, by=by)
    world.run(10)
    assert_right(world, set(world.nodes))
    assert all(node.overlay.settled(world.now) for node in world.nodes.values())


def test_nodes_of_no_use_to_each_other_part(many: World) -> None:
    after = grown(40, seed=5, settle_s=8)
    for one, node in after.nodes.items():
        for other in node.overlay.peers:
            assert other in node.overlay.table.known or one in after.nodes[other].overlay.table.known


def test_a_node_that_joins_is_not_passed_on_for_ever() -> None:
    """Two nodes each of which would pass it on to the other, as tables that do not agree yet make them."""
    world = grown(2)
    one, other = (world.nodes[number].overlay for number in world.nodes)
    for overlay, hop in ((one, other.own.id), (other, one.own.id)):
        overlay.table.next_hop = lambda _, hop=hop: hop  # type: ignore[assignment,method-assign,misc]
    one.received(other.own.id, join_frame(Peer(7, "10.99.0.1", 1)))
    world.run(5)
    assert one.counts["too many hops"] + other.counts["too many hops"] == 1


def test_the_same_seed_makes_the_same_world() -> None:
    one, other = grown(12, seed=3), grown(12, seed=3)
    assert list(one.nodes) == list(other.nodes)
    assert one.counts == other.counts


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 20), st.floats(0, 1), st.integers(0, 2**40 - 1))
def test_every_member_hears_what_is_published_once_and_nobody_else(
    seed: int, nodes: int, share: float, group: int
) -> None:
    world = grown(nodes, seed=seed, settle_s=1)
    ids = sorted(world.nodes)
    members = set(world.random.sample(ids, round(share * nodes)))
    join(world, members, group)
    world.run(0.5)
    for number, start in enumerate(ids):
        flood(world, start, number, group)
    world.run(0.5)
    for number in range(nodes):
        assert +heard(world, number) == Counter(members)


def test_a_tree_is_one_tree_and_parents_know_their_children() -> None:
    world = grown(30, seed=2)
    ids = sorted(world.nodes)
    join(world, ids[::3])
    world.run(2)
    found = dict(edges(world))
    inside = [one for one in ids if GROUP in world.nodes[one].overlay.trees]
    assert set(ids[::3]) <= set(inside)
    assert [one for one in inside if one not in found] == [nearest(ids, GROUP)]
    for child, parent in found.items():
        assert child in world.nodes[parent].overlay.trees.groups[GROUP].children


def test_a_publish_starts_to_spread_at_the_first_member_that_it_meets() -> None:
    world = grown(30, seed=2)
    ids = sorted(world.nodes)
    join(world, ids)
    world.run(1)
    leaf = next(one for one in ids if one not in set(dict(edges(world)).values()))
    flood(world, leaf, 1)
    assert heard(world, 1)[leaf] == 1, "before any time has passed"


def test_a_tree_is_taken_down_when_the_last_member_has_left() -> None:
    world = grown(20, seed=4)
    ids = sorted(world.nodes)
    join(world, ids[:7])
    world.run(1)
    for one in ids[:7]:
        assert any(GROUP in node.overlay.trees for node in world.nodes.values())
        world.nodes[one].overlay.trees.leave(GROUP)
        world.run(0.5)
    assert not any(GROUP in node.overlay.trees for node in world.nodes.values())


def test_a_message_for_one_goes_to_one_and_each_member_has_its_share() -> None:
    world = grown(16, seed=6)
    ids = sorted(world.nodes)
    members = ids[1::5]
    join(world, members)
    world.run(3)
    for number in range(900):
        start = ids[number % len(ids)]
        world.nodes[start].overlay.send(Message(Op.BALANCE, Kind.REQUEST, GROUP, start, number, b""))
    world.run(0.5)
    got = Counter({one: len(node.arrivals) for one, node in world.nodes.items()})
    assert sum(got.values()) == 900
    assert set(+got) == set(members)
    assert all(len({message.number for message in node.arrivals}) == got[one] for one, node in world.nodes.items())


@pytest.mark.parametrize("how", ["leaves", "is killed"])
def test_while_a_member_serves_nobody_is_told_that_there_is_none(how: str) -> None:
    """The root has none of its own, and those that are under way to it when the other member goes come back."""
    world = grown(12, seed=3)
    root = nearest(sorted(world.nodes), GROUP)
    stays, goes = [one for one in sorted(world.nodes) if one != root][:2]
    join(world, [stays, goes])
    world.run(3)
    for number in range(200):
        if number == 50 and how == "leaves":
            world.nodes[goes].overlay.trees.leave(GROUP)
        elif number == 50:
            world.kill([goes])
        world.nodes[stays].overlay.send(Message(Op.BALANCE, Kind.REQUEST, GROUP, stays, number, b""))
        world.run(0.002)
    world.run(0.1)
    assert [node.refused for node in world.nodes.values() if node.refused] == []
    if how == "leaves":
        assert sum(len(node.arrivals) for node in world.nodes.values()) == 200


def test_members_have_requests_in_proportion_to_what_they_can_do() -> None:
    world = grown(12, seed=4)
    ids = list(world.nodes)
    groups = tuple(range(0, SPACE, SPACE // 5))
    capacities = dict(zip(ids[::4], (200, 400, 800), strict=True))
    for member, capacity in capacities.items():
        world.nodes[member].serves = capacity
        world.nodes[member].overlay.trees.join(*groups)
    world.run(3)
    for number in range(3000):
        if number == 1000:  # by then nodes have been told of each other's capacity
            for member in capacities:
                world.nodes[member].arrivals.clear()
        start = ids[number % len(ids)]
        world.nodes[start].overlay.send(Message(Op.BALANCE, Kind.REQUEST, groups[number % 5], start, number, b""))
        world.run(0.002)
    got = {member: len(world.nodes[member].arrivals) for member in capacities}
    expected = {member: sum(got.values()) * capacity / 1400 for member, capacity in capacities.items()}
    assert got == pytest.approx(expected, rel=0.15)


def test_an_empty_cluster_answers_at_once() -> None:
    world = grown(16, seed=6)
    start = min(world.nodes)
    world.nodes[start].overlay.send(Message(Op.BALANCE, Kind.REQUEST, GROUP, start, 1, b""))
    world.run(0.01)
    assert [message.number for node in world.nodes.values() for message in node.refused] == [1]


def test_a_message_for_a_node_gets_there_and_one_for_nobody_is_counted() -> None:
    world = grown(30, seed=7)
    start, end = min(world.nodes), max(world.nodes)
    for number, key in enumerate((end, (end + 1) % 2**40)):
        world.nodes[start].overlay.send(Message(Op.DIRECT, Kind.REPLY, key, start, number, b"reply"))
    world.run(0.1)
    assert [message.number for node in world.nodes.values() for message in node.arrivals] == [0]
    assert sum((node.overlay.counts for node in world.nodes.values()), Counter()) == {"its node is gone": 1}


def test_what_there_is_no_room_for_and_what_there_is_no_connection_for_are_counted_apart() -> None:
    world = grown(2)
    one, other = (node.overlay for node in world.nodes.values())
    world.no_room = lambda _: True
    one.send(Message(Op.DIRECT, Kind.REPLY, other.own.id, one.own.id, 1, b"reply"))
    world.no_room = None
    assert one.counts == {"no room": 1}
    one.table.add(7)  # of which it has not been told yet that it is gone
    one.send(Message(Op.DIRECT, Kind.REPLY, 7, one.own.id, 2, b"reply"))
    assert one.counts == {"no room": 1, "no connection": 1}


@pytest.mark.parametrize(("how", "limit_s"), [("kill", 5), ("vanish", 15)])
def test_when_the_root_is_gone_all_others_hear_again(how: str, limit_s: float) -> None:
    world = grown(24, seed=8)
    ids = sorted(world.nodes)
    join(world, ids)
    world.run(2)
    root = nearest(ids, GROUP)
    getattr(world, how)([root])
    world.run(limit_s)
    left = [one for one in ids if one != root]
    for number, start in enumerate(left):
        flood(world, start, number)
    world.run(0.5)
    for number in range(len(left)):
        assert {one: times for one, times in heard(world, number).items() if one != root} == dict.fromkeys(left, 1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(20, 60))
def test_two_parts_of_an_overlay_have_roots_of_their_own_until_they_find_each_other(
    seed: int, beyond: int, apart_s: float
) -> None:
    world = cold(12, by="scan", seed=seed)
    world.run(10)
    ids = sorted(world.nodes)
    join(world, ids)
    world.run(2)
    there = set(world.random.sample(ids, beyond))
    here = set(ids) - there
    world.part(there)
    world.run(apart_s)
    for number, part in enumerate((here, there), 20):
        assert {one for one in part if one not in dict(edges(world))} == {nearest(part, GROUP)}
        flood(world, min(part), number)
    world.run(1)
    for number, part in enumerate((here, there), 20):
        assert +heard(world, number) == Counter(part), "nobody beyond hears it, and all here do"
    world.part(())
    world.run(60)  # one host is asked in 5 s, half the time one where a node was
    assert_right(world, ids)
    assert {one for one in ids if one not in dict(edges(world))} == {nearest(ids, GROUP)}
    for number, start in enumerate(ids):
        flood(world, start, number)
    world.run(1)
    for number in range(12):
        assert heard(world, number) == Counter(ids)


def test_an_outage_that_the_sessions_outlive_loses_nothing_in_a_tree() -> None:
    """What was sent meanwhile comes late, as TCP brings it."""
    world = grown(12, seed=10)
    ids = sorted(world.nodes)
    join(world, ids)
    world.run(2)
    world.hold()
    for number in range(50):
        flood(world, ids[number % 12], number)
        world.run(0.2)
    world.release()
    world.run(1)
    for number in range(50):
        assert heard(world, number) == Counter(ids)


@pytest.mark.parametrize("how", ["kill", "vanish"])
def test_when_a_third_is_gone_the_others_find_each_other(how: str) -> None:
    world = grown(30, seed=9)
    ids = sorted(world.nodes)
    gone = set(world.random.sample(ids, 10))
    getattr(world, how)(gone)
    world.run(15)
    left = [one for one in ids if one not in gone]
    assert_right(world, left)
    pairs = [(start, end) for start in left for end in left]
    for number, (start, end) in enumerate(pairs):
        world.nodes[start].overlay.send(Message(Op.DIRECT, Kind.REPLY, end, start, number, b"still there?"))
    world.run(1)
    got = {(message.origin, end): message.number for end in left for message in world.nodes[end].arrivals}
    assert got == {pair: number for number, pair in enumerate(pairs)}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 3), st.floats(5, 11.5))
def test_an_outage_of_five_seconds_ends_no_session_however_late_tcp_tries_again(
    seed: int, phase_s: float, tried_s: float
) -> None:
    """Its tries are at 0.2 x (2^k - 1) s when all goes well, and as late as 11 s after slower round trips."""
    world = grown(12, seed=seed, settle_s=4 + phase_s)
    before = {one: set(node.overlay.peers) for one, node in world.nodes.items()}
    world.hold()
    world.run(5)
    world.mend()
    world.run(tried_s - 5)
    world.release()
    world.run(1)
    assert {one: set(node.overlay.peers) for one, node in world.nodes.items()} == before


@pytest.mark.parametrize("phase_s", [0.0, 1.0, 2.0, 2.9])
def test_who_vanishes_is_given_up_after_twelve_seconds_whenever_that_is(phase_s: float) -> None:
    world = grown(8, settle_s=6 + phase_s)
    (gone,) = list(world.nodes)[3:4]
    world.vanish([gone])
    world.run(8.5)
    assert any(gone in node.overlay.peers for one, node in world.nodes.items() if one != gone)
    world.run(4)
    assert not any(gone in node.overlay.peers for one, node in world.nodes.items() if one != gone)


def test_what_was_sent_along_the_tree_to_a_node_that_leaves_it_is_heard_once() -> None:
    world = grown(30, seed=2)
    ids = sorted(world.nodes)
    join(world, ids[::2])
    world.run(2)
    parents = dict(edges(world))
    leaf = next(one for one in ids[::2] if one in parents and one not in parents.values())
    world.nodes[leaf].overlay.trees.leave(GROUP)
    flood(world, parents[leaf], 1)  # before its word that it leaves has come
    world.run(1)
    assert max(heard(world, 1).values()) == 1
