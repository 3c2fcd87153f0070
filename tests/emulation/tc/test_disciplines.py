from __future__ import annotations

import struct
from typing import Any

import pytest
from emulated_links import profile

from emulation.kernel.accesspoint import Ports
from emulation.kernel.qdisc import Discipline
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan, queues
from emulation.tc import disciplines, netems

STATIONS = ["sta1", "sta2"]
PORTS = Ports(
    pid=1,
    stations={name: f"port-{name}" for name in STATIONS},
    wired="wired",
    addresses={"sta1": "10.0.0.1", "sta2": "10.0.0.2"},
)


def plan(**settings: Any) -> LinkPlan:
    return linkplan.plan(profile(**settings), STATIONS, seed=1, seconds=10, timeline_s=10)


def names(found: list[Discipline]) -> list[str]:
    return [str(one) for one in found]


def test_a_queue_is_a_class_and_a_fifo() -> None:
    made = plan(medium="shared", rate=1e6)
    (queue,) = queues(made)
    found = disciplines.of_queue(queue, made.first)
    assert names(found) == ["qdisc htb 1:0 on air", "class htb 1:1 on air", "qdisc bfifo 2:0 on air"]
    assert disciplines.counted(queue) == (found[-1].handle,)


def test_stations_with_settings_of_their_own_have_a_class_below_the_mediums() -> None:
    made = plan(medium="shared", rate=1e6, queue_packets=50, stations={"sta2": {"rate": 5e5}})
    (queue,) = queues(made)
    found = disciplines.of_queue(queue, made.first)
    assert [hex(one.handle) for one in found if one.is_class] == ["0x10001", "0x10010", "0x10011"]
    assert {hex(one.parent) for one in found if one.handle in (0x10010, 0x10011)} == {"0x10001"}
    assert [one.kind for one in found].count("pfifo") == len(disciplines.counted(queue)) == 2
    assert [disciplines.lane_of(queue, group) for group in (0, 1)] == [0x10010, 0x10011]


def test_a_slow_stations_class_has_no_more_at_once_than_its_own_rate_allows() -> None:
    made = plan(medium="shared", rate=54e6, stations={"sta2": {"rate": 1e6}})
    found = disciplines.of_queue(queues(made)[0], made.first)
    lane = next(one for one in found if one.handle == disciplines.lane_of(queues(made)[0], 1))
    alone = disciplines.of_queue(queues(plan(medium="shared", rate=1e6))[0], plan(medium="shared", rate=1e6).first)[1]
    ceilings = [struct.unpack_from("IIIII", one.options, len(one.options) - 20)[1] for one in (lane, alone)]
    assert ceilings[0] == ceilings[1]


def test_what_classes_are_guaranteed_is_less_than_the_medium_has() -> None:
    many = [f"sta{number}" for number in range(1, 41)]
    own = {name: {"loss": 0.01 * number} for number, name in enumerate(many, start=1)}
    made = linkplan.plan(profile(medium="shared", rate=250e3, stations=own), many, seed=1, seconds=10, timeline_s=10)
    (queue,) = queues(made)
    lanes = [one for one in disciplines.of_queue(queue, made.first) if one.is_class][1:]
    rates = [struct.unpack_from("I", one.options, 4 + 8)[0] * 8 for one in lanes]  # struct tc_ratespec ends with it
    assert len(lanes) == 40
    assert sum(rates) <= 1.01 * 250e3 / 2  # whole bytes per second


def test_a_traced_queue_has_a_lane_that_uses_the_medium_up() -> None:
    event = {"at": 0, "trace": {"uplink": {"opportunities_ms": [1, 100]}}}
    made = plan(uplink={"rate": 1e6}, timeline=[event])
    found = disciplines.of_queue(queues(made)[0], made.first)
    assert disciplines.HOLDING_CLASS in [one.handle for one in found if one.is_class]
    assert found[-1].parent != disciplines.HOLDING_CLASS


@pytest.mark.parametrize("event", [{"change": {"rate": 2e6}}, {"outage": 1}, {"handover": {"lasts": 1}}], ids=str)
def test_all_states_have_the_same_disciplines(event: dict[str, Any]) -> None:
    made = plan(rate=1e6, delay=0.01, timeline=[{"at": 1, **event}])
    shapes = {
        tuple(
            names([*disciplines.of_queue(queue, state), *netems.disciplines(made, netems.netems(made, PORTS), state)])
        )
        for queue in queues(made)
        for state in made.states()
        if queue.name == "uplink-0"
    }
    assert len(shapes) == 1
