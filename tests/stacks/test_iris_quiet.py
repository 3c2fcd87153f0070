"""An overlay without load says little, and mends what was not heard all the same."""

from __future__ import annotations

from collections import Counter

import pytest
from iris_bench.wire import ARP, BOOTSTRAP, idle
from iris_worlds import GROUP, assert_right, cold, edges, flood, grown, heard, join

from emulation.profile import library
from stacks.iris import frames
from stacks.iris.frames import Op
from stacks.iris.ids import digit, shared
from stacks.iris.overlay import WHOLE_S
from stacks.iris.simulator import DELAY_S, World
from stacks.iris.trees import REFRESH

AIR = library.load("nistnet-80211").uplink


def without_room(world: World, *ops: Op) -> None:
    """From now on nobody has room for such frames."""
    world.no_room = lambda frame: frame[0] in ops


def with_room(world: World) -> None:
    world.no_room = None


def assert_all_hear(world: World) -> None:
    for number, start in enumerate(world.nodes, world.random.getrandbits(30)):
        flood(world, start, number)
        world.run(0.1)
        assert heard(world, number) == Counter(list(world.nodes))


def test_nodes_that_have_nothing_to_say_give_signs_of_life_and_seldom_say_what_they_know() -> None:
    world = cold(12, by="scan")
    world.run(10)
    join(world, list(world.nodes))
    world.run(20)
    world.counts.clear()
    world.run(WHOLE_S)
    sessions = sum(len(node.overlay.peers) for node in world.nodes.values()) / 2
    reports = 2 * len(list(edges(world))) * WHOLE_S / REFRESH
    assert set(world.counts) == {Op.BEAT, Op.REPORT, Op.STATE}
    assert sessions * WHOLE_S / 3 < world.counts[Op.BEAT] <= 2 * sessions * WHOLE_S / 3
    assert world.counts[Op.REPORT] == pytest.approx(reports, rel=0.1)
    assert world.counts[Op.STATE] == 12


@pytest.mark.parametrize("subnet_bits", [16, 28])
def test_twelve_nodes_that_look_for_others_use_less_than_a_hundredth_of_the_air(subnet_bits: int) -> None:
    """Of 1 Mbit/s for everybody; among few addresses most of those that are asked answer."""
    wire, seconds = idle(12, subnet_bits=subnet_bits, seconds=60, seed=1), 60
    share = {kind: wire.air(kind, rate=AIR.rate or 0, overhead=AIR.frame_overhead) / seconds for kind in wire.frames}
    assert wire.frames[BOOTSTRAP] + wire.frames[ARP] / 3 >= 12 * seconds / 5 - 12, "one in 5 s of every node"
    assert share[BOOTSTRAP] + share.get(ARP, 0) < 0.01


def test_who_had_no_room_for_what_has_changed_is_told_of_it_later() -> None:
    world = grown(12)
    without_room(world, Op.STATE)
    world.add(next(iter(world.nodes)))
    world.run(5)
    with pytest.raises(AssertionError):
        assert_right(world, set(world.nodes))
    with_room(world)
    world.run(1)
    assert_right(world, set(world.nodes))


@pytest.mark.parametrize(("lost", "mended_s"), [(Op.REPORT, 4), (Op.SUBSCRIBE, 4), (Op.UNSUBSCRIBE, REFRESH + 4)])
def test_what_there_was_no_room_for_in_a_tree_is_mended(lost: Op, mended_s: float) -> None:
    world, leave = grown(12), lost is Op.UNSUBSCRIBE
    ids = list(world.nodes)
    if leave:
        join(world, ids)
        world.run(2)
    without_room(world, lost)
    if leave:
        for one in ids[::2]:
            world.nodes[one].overlay.trees.leave(GROUP)
    else:
        join(world, ids)
    world.run(2)
    with_room(world)
    world.run(mended_s)
    parents = dict(edges(world))
    assert set(ids[1::2] if leave else ids) <= {*parents, *parents.values()}
    groups = {one: node.overlay.trees.groups.get(GROUP) for one, node in world.nodes.items()}
    for one, known in groups.items():
        for neighbour in world.nodes[one].overlay.trees.neighbours(GROUP):
            other = groups[neighbour]
            assert known is not None
            assert other is not None
            assert known.capacities[neighbour] == other.beyond(one) > 0


@pytest.mark.parametrize("who", [0, 1], ids=["child", "parent"])
def test_when_only_one_side_has_lost_its_session_a_new_one_makes_the_tree_whole_at_once(who: int) -> None:
    world = grown(12, seed=3)
    join(world, list(world.nodes))
    world.run(3)
    for edge in list(edges(world)):
        one, other = edge[who], edge[1 - who]
        world.cut(one, other)
        world.connect(one, other)
        world.run(0.05)
        assert_all_hear(world)


def test_who_sends_over_a_session_that_the_other_side_does_not_have_learns_that_it_is_over() -> None:
    world = grown(3)
    one, other, _ = world.nodes
    world.cut(one, other)
    here, there = (world.nodes[node].overlay.peers for node in (one, other))
    assert (other in here, one in there) == (False, True)
    world.nodes[other].send(one, frames.beat(True))
    world.run(2.5 * DELAY_S)
    assert (other in here, one in there) == (False, False)


def test_who_is_no_neighbour_is_told_so_and_given_nothing() -> None:
    world = grown(12)
    ids = sorted(world.nodes)
    join(world, ids[:2])
    world.run(2)
    inside = {*dict(edges(world)), *dict(edges(world)).values()}
    stranger = next(one for one in ids if one not in inside)
    before = world.counts[Op.UNSUBSCRIBE]
    world.nodes[stranger].send(ids[0], frames.report([(GROUP, 1000)]))
    world.run(0.1)
    assert world.counts[Op.UNSUBSCRIBE] == before + 1
    assert stranger not in world.nodes[ids[0]].overlay.trees.groups[GROUP].capacities


def test_a_node_that_is_lost_is_replaced_in_its_row() -> None:
    world = grown(64, seed=11)
    ids = sorted(world.nodes)
    for gone in ids[::9]:
        had = {one: shared(one, gone) for one, node in world.nodes.items() if gone in node.overlay.table.known}
        world.kill([gone])
        had.pop(gone, None)
        world.run(3)
        for one, row in had.items():
            cell = (row, digit(gone, row))
            others = [other for other in world.nodes if (shared(one, other), digit(other, row)) == cell]
            assert (world.nodes[one].overlay.table.cell(*cell) is not None) == bool(others)


@pytest.mark.parametrize("outage_s", [20.0, 40.0])
def test_nodes_that_have_all_lost_each_other_meet_again(outage_s: float) -> None:
    world = cold(12, by="scan")
    world.run(10)
    world.hold()
    world.run(outage_s)
    assert not any(node.overlay.peers for node in world.nodes.values())
    world.release()
    world.run(30)
    assert_right(world, set(world.nodes))
