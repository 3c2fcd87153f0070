from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan, queues
from records.directions import DIRECTIONS

STATIONS = ["sta1", "sta2", "sta3"]


def plan(names: list[str] = STATIONS, *, seed: int = 1, **settings: Any) -> LinkPlan:
    return linkplan.plan(profile(**settings), names, seed=seed, seconds=10, timeline_s=10)


def test_a_shared_medium_has_one_queue_that_all_lead_into() -> None:
    (air,) = queues(plan(medium="shared", rate=1e6))
    assert (air.name, air.groups, air.traced) == ("air", (0,), False)
    assert set(air.hooks) == {(station, direction) for station in STATIONS for direction in DIRECTIONS}


def test_a_duplex_medium_has_two_queues_a_station() -> None:
    found = queues(plan(rate=1e6, stations={"sta2": {"rate": 2e6}}))
    assert [queue.name for queue in found] == [f"{way}-{n}" for n in range(3) for way in DIRECTIONS]
    assert [queue.groups for queue in found] == [(0,), (0,), (1,), (1,), (0,), (0,)]
    assert all(len(queue.hooks) == 1 for queue in found)


def test_a_direction_without_a_rate_has_no_queue() -> None:
    assert [queue.name for queue in queues(plan(["sta1"], uplink={"rate": 1e6}))] == ["uplink-0"]
    assert queues(plan(medium="shared")) == ()


def test_stations_are_in_the_order_of_their_numbers() -> None:
    found = queues(plan([f"sta{number}" for number in range(1, 13)], uplink={"rate": 1e6}))
    assert [queue.hooks[0][0] for queue in found] == [f"sta{number}" for number in range(1, 13)]


def test_only_the_direction_of_a_trace_is_traced() -> None:
    event = {"at": 0, "trace": {"uplink": {"opportunities_ms": [1, 100]}}}
    assert [queue.traced for queue in queues(plan(["sta1"], rate=1e6, timeline=[event]))] == [True, False]


def test_a_profile_that_speaks_of_a_station_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="settings or events for sta9, and there are 3 stations"):
        plan(stations={"sta9": {"loss": 0.1}})


def test_a_slower_station_alone_on_a_shared_medium_is_refused() -> None:
    slow: dict[str, Any] = {"medium": "shared", "rate": 11e6, "stations": {"sta1": {"rate": 1e6}}}
    with pytest.raises(ValueError, match="sta1 is alone on a shared medium and has a rate of its own"):
        plan(["sta1"], **slow)
    assert len(plan(["sta1", "sta2"], **slow).groups) == 2
    plan(["sta1"], **slow, station_rate="phy")
    plan(["sta1"], medium="shared", rate=1e6, stations={"sta1": {"loss": 0.1}})


def test_each_group_direction_and_loss_model_of_the_timeline_has_a_list() -> None:
    events = [{"at": 1, "handover": {"lasts": 1, "loss": 0.5}}, {"at": 5, "change": {"loss": 0.03}}]
    made = plan(loss=0.03, timeline=events, stations={"sta3": {"loss": 0.1}})
    assert {(one.group, one.direction, one.state) for one in made.losses} == {
        (group, direction, state)
        for group, states in ((0, 2), (1, 3))
        for direction in DIRECTIONS
        for state in range(states)
    }
    during = made.steps[0].state
    assert made.in_force(during, 0, "uplink").share == 0.5
    assert made.in_force(made.steps[-1].state, 0, "uplink") is made.in_force(made.first, 0, "uplink")


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"rate": "1 Mbit/s"}, 1514 * 8 / 1e6),
        ({"rate": "1 Mbit/s", "frame_overhead": "500 us"}, 1514 * 8 / 1e6 + 0.0005),
        ({"medium": "duplex", "uplink": {"rate": "1 Mbit/s"}, "downlink": {"rate": "4 Mbit/s"}}, 1514 * 8 / 4e6),
        ({"medium": "duplex", "uplink": {"rate": "1 Mbit/s"}, "downlink": {"delay": "5 ms"}}, 0.0),
        ({"rate": "1 Mbit/s", "timeline": [{"at": 1, "change": {"rate": "2 Mbit/s"}}]}, 1514 * 8 / 2e6),
        ({"rate": "1 Mbit/s", "timeline": [{"at": 1, "outage": 1}]}, 1514 * 8 / 1e6),
        ({"rate": "2 Mbit/s", "stations": {"sta2": {"rate": "1 Mbit/s"}}}, 1514 * 8 / 2e6),
    ],
)
def test_a_full_frame_is_timed_where_and_while_the_link_is_fastest(settings: dict[str, Any], seconds: float) -> None:
    assert linkplan.shortest_full_frame_s(plan(**settings)) == pytest.approx(seconds, rel=1e-3)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.03]))
def test_the_same_seed_gives_the_same_plan(seed: int, share: float) -> None:
    one, other = (plan(seed=seed, rate=1e6, loss=share) for _ in range(2))
    assert [loss.digest for loss in one.losses] == [loss.digest for loss in other.losses]


def test_other_stations_do_not_change_a_groups_losses() -> None:
    few, many = plan(["sta1"], loss=0.03), plan(loss=0.03)
    assert [loss.digest for loss in few.losses] == [loss.digest for loss in many.losses]


def test_what_is_late_at_any_time_is_late_from_the_beginning() -> None:
    made = plan(timeline=[{"at": 1, "change": {"uplink": {"delay": 0.01}}}])
    assert (made.ever_late(0, "uplink"), made.ever_late(0, "downlink")) == (True, False)


@pytest.mark.parametrize(
    "settings",
    [{"burst_bytes": 20_000}, {"timeline": [{"at": 1, "change": {"downlink": {"burst_bytes": 20_000}}}]}],
    ids=["always", "from a change on"],
)
def test_on_an_idle_link_no_frame_pays_where_some_may_pass_at_once(settings: dict[str, Any]) -> None:
    for one, pays in ((plan(rate=1e6), True), (plan(rate=1e6, **settings), False)):
        assert replace(one, times_frames=True).pays_for_frames is pays
        assert replace(one, times_frames=False).pays_for_frames is False
