"""Identifiers that are made of addresses: the same stations are roots in every trial."""

from __future__ import annotations

from pathlib import Path

from free_ports import LOOPBACK
from iris_nodes import KEY, nodes_here, run

from experiments.scenario.scenario import load
from experiments.scenario.segments import topology_plan
from records.workload import PubSub
from stacks.iris.ids import id_of, nearest
from stacks.iris.node import Node, Settings
from stacks.iris.patterns import groups_of

CHURN = Path(__file__).parents[2] / "experiments" / "scenarios" / "iris-churn.yaml"


def test_a_node_has_the_identifier_that_it_was_given_and_draws_one_otherwise() -> None:
    async def talk() -> None:
        async with nodes_here(2, identifier=id_of(LOOPBACK)) as world:
            assert [node.own.id for node in world.nodes] == [id_of(LOOPBACK)] * 2
        drawn = {Node(Settings(address=LOOPBACK, port=1, key=KEY, network="test")).own.id for _ in range(3)}
        assert len(drawn) == 3

    run(talk)


def test_what_is_done_to_a_root_is_done_to_the_root() -> None:
    cells = [one.settings for one in load(CHURN).cells if one.levels["case"].startswith("root-")]
    assert len(cells) == 4
    for cell in cells:
        plan = topology_plan(cell)
        ids = {id_of(plan.address(host.name)): host.name for host in plan.hosts}
        assert isinstance(cell.workload, PubSub)
        assert cell.knobs["iris"]["splits"] == 1
        (group,) = groups_of("t", *cell.workload.clients.channels, 1)
        assert [one.node for one in cell.nodes] == [ids[nearest(ids, group)]]
