"""What a proof finds on ways between stations, in virtual time: nothing where all is as asked, else each fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from emulated_links import broken, profile
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_line import Path, World

from emulation.line.layout import Line
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via
from emulation.proof.between import asked_between
from emulation.proof.foretold import foretell
from emulation.proof.peerproof import PeerEnds, rounds, uses
from emulation.proof.probe import MIN_FRAME
from emulation.proof.proof import End, Samples, probe_direction
from emulation.proof.sidebyside import Lane, run
from records.link import LinkCheck

SAMPLES = Samples(jitter=150, rate_s=0.3)
MACS = {f"sta{number}": bytes([2, 0, 0, 0, 0, number]) for number in (1, 2, 3)}
VIAS: tuple[Via, ...] = ("access-point", "ad-hoc")
LATE = {"delay": 0.03, "jitter": 0.008}
BURSTS = {"model": "gilbert-elliott", "p": 0.02, "r": 0.25, "loss_bad": 0.8}
SHARED = {"medium": "shared", "rate": 1e6}
SLOW = {"stations": {"sta2": {"rate": "0.5 Mbit/s", "delay": "4 ms"}}}
FAITHFUL: dict[str, dict[str, Any]] = {
    "shared": {"medium": "shared", "rate": 1e6, "frame_overhead": 0.0003},
    "duplex": {"uplink": {"rate": 2e6}, "downlink": {"rate": 1e6}},
    "one direction has a rate": {"uplink": {"rate": 2e6}},
    "a delay each way": {"medium": "shared", "rate": 2e6, "uplink": {"delay": 0.03}, "downlink": {"delay": 0.005}},
    "losses each way": {"medium": "shared", "rate": 2e6, "uplink": {"loss": 0.1}, "downlink": {"loss": BURSTS}},
    "jitter": {"rate": 2e6} | LATE,
    "jitter up, without order": {"uplink": LATE | {"keep_order": False}, "downlink": {"loss": 0.1}},
    "copies": {"medium": "shared", "rate": 2e6, "duplicate": 0.1, "loss": 0.1},
    "damage": {"corrupt": 0.05, "loss": 0.1},
    "overtaking": {"delay": 0.02, "reorder": 0.1, "rate": 4e6, "loss": 0.05},
    "a station apart": {"rate": 2e6, "medium": "shared"} | SLOW,
    "a station apart, by its own rate": {"rate": 2e6, "medium": "shared", "station_rate": "phy"} | SLOW,
    "turns": {"medium": "shared", "rate": 2e6, "turns": "airtime"},
    "turns by packets": {"medium": "shared", "rate": 2e6, "turns": "packets", "queue_packets": 20},
    "turns by packets, overtaking": SHARED | {"turns": "packets", "delay": 0.02, "reorder": 0.05, "loss": 0.05},
    "small queues": {"uplink": {"rate": 1e7, "queue_packets": 20}, "downlink": {"rate": 1e6, "queue_bytes": 60_000}},
}
FAULTY: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "no delay up": ({"uplink": {"delay": 0.02}}, {}, {"delay"}),
    "no delay down": ({"downlink": {"delay": 0.02}}, {}, {"delay"}),
    "losses of another seed up": ({"uplink": {"loss": 0.1}}, {"uplink": {"loss": 0.11}}, {"losses"}),
    "no losses down": ({"downlink": {"loss": 0.1}}, {}, {"losses"}),
    "losses up instead of down": ({"downlink": {"loss": 0.1}}, {"uplink": {"loss": 0.1}}, {"losses"}),
    "a rate that is 3 % less": ({"medium": "shared", "rate": 1e6}, {"medium": "shared", "rate": 0.97e6}, {"rate"}),
    "a slow downlink": ({"rate": 2e6}, {"uplink": {"rate": 2e6}, "downlink": {"rate": 1.9e6}}, {"rate"}),
    "one air is two": ({"medium": "shared", "rate": 1e6}, {"medium": "duplex", "rate": 1e6}, {"rate"}),
    "no copies": ({"duplicate": 0.1}, {}, {"duplicates"}),
    "jitter that keeps no order": (LATE, LATE | {"keep_order": False}, {"reordered"}),
    "damage that nobody asked for": ({}, {"corrupt": 0.1}, {"losses"}),
}


def planned(via: Via, **settings: Any) -> LinkPlan:
    return linkplan.plan(
        profile(**settings), list(MACS), seed=1, seconds=10, timeline_s=10, made_by="line", via=via
    )  # fmt: skip


def by_tc(plan: LinkPlan) -> LinkPlan:
    return replace(plan, made_by="tc", times_frames=True)


def pair(sender: str, receiver: str) -> PeerEnds:
    return PeerEnds(sender=sender, receiver=receiver, sends=End(1, ""), receives=End(1, ""))


def prove(asked: LinkPlan, made: LinkPlan, sender: str = "sta1", receiver: str = "sta2") -> list[LinkCheck]:
    world, number = World(Line(made, MACS)), {name: port for port, name in enumerate(MACS, 1)}
    way = asked_between(asked, asked.first, sender, receiver)
    path = Path(world, "uplink", ports=(number[sender], number[receiver]), ends=MACS[receiver] + MACS[sender])
    (checks,) = run([Lane(path, probe_direction(way, SAMPLES), uses(asked, way))], clock=world)
    return checks


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize("case", FAITHFUL)
def test_a_way_that_does_what_is_asked_differs_in_nothing(case: str, via: Via) -> None:
    plan = planned(via, **FAITHFUL[case])
    for sender, receiver in (("sta1", "sta3"), ("sta1", "sta2"), ("sta2", "sta1")):
        checks = prove(plan, plan, sender, receiver)
        assert [str(check) for check in checks if not check.holds] == []
        assert {"delay", "losses"} <= {check.quantity for check in checks}


@pytest.mark.parametrize("case", FAITHFUL)
def test_nor_is_it_refused_where_only_losses_are_known_beforehand_as_by_tc(case: str) -> None:
    plan = planned("access-point", **FAITHFUL[case])
    checks = prove(by_tc(plan), plan, "sta2", "sta1")
    assert [str(check) for check in checks if not check.holds] == []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("case", FAULTY)
def test_a_way_that_does_something_else_is_found_out(case: str, known: bool) -> None:
    """known: whether all of a packet's fate is, or by tc losses alone."""
    asked, made, expected = FAULTY[case]
    plan = planned("access-point", **asked)
    assert expected <= broken(prove(plan if known else by_tc(plan), planned("access-point", **made)))


@pytest.mark.parametrize("fault", [{"loss": 0.02}, {"loss": 0.5}, {"loss": 0.2, "duplicate": 0.4}])
def test_by_tc_losses_behind_copies_are_as_many_as_chance_allows(fault: dict[str, Any]) -> None:
    copied = {"duplicate": 0.1}
    asked = by_tc(planned("access-point", uplink=copied, downlink={"loss": 0.2}))
    expected = {"duplicates"} if "duplicate" in fault else {"losses"}
    made = planned("access-point", uplink=copied | {"duplicate": fault.get("duplicate", 0.1)}, downlink=fault)
    assert broken(prove(asked, made)) & {"losses", "duplicates"} >= expected


@pytest.mark.parametrize("via", VIAS)
def test_the_other_way_of_going_is_found_out(via: Via) -> None:
    (other,) = set(VIAS) - {via}
    same: dict[str, Any] = {"medium": "shared", "rate": 1e6, "delay": 0.005, "loss": 0.1}
    found = broken(prove(planned(via, **same), planned(other, **same)))
    assert found >= {"delay", "rate", "losses"}


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize(("via", "late_s", "refused"), [
    ("access-point", 0.0015, set()), ("access-point", 0.0025, {"delay"}), ("ad-hoc", 0.0015, {"delay"}),
])  # fmt: skip
def test_each_direction_of_a_way_may_be_a_millisecond_late(
    via: Via, late_s: float, refused: set[str], seeded: bool
) -> None:
    asked, made = (planned(via, rate=2e6, uplink={"delay": delay}) for delay in (0.02, 0.02 + late_s))
    assert broken(prove(asked if seeded else by_tc(asked), made)) == refused


def test_on_one_air_two_ways_take_twice_the_time_and_ad_hoc_one() -> None:
    both, once = (
        asked_between(plan, plan.first, "sta1", "sta2")
        for plan in (planned(via, medium="shared", rate=1e6, frame_overhead=0.001) for via in VIAS)
    )
    frame_s = MIN_FRAME * 8 / 1e6 + 0.001
    assert both.side.airtime(MIN_FRAME) == both.air.airtime(MIN_FRAME) == pytest.approx(2 * frame_s)
    assert once.side.airtime(MIN_FRAME) == pytest.approx(frame_s)


def test_on_cables_of_their_own_the_slower_one_says_how_fast_and_both_how_late() -> None:
    plan = planned("access-point", uplink={"rate": 2e6}, downlink={"rate": 1e6})
    way = asked_between(plan, plan.first, "sta1", "sta2")
    assert way.side.airtime(MIN_FRAME) == pytest.approx(MIN_FRAME * 8 / 1e6)
    assert way.air.airtime(MIN_FRAME) == pytest.approx(MIN_FRAME * 8 * (1 / 1e6 + 1 / 2e6))


def test_ways_that_share_a_list_of_losses_are_probed_one_after_the_other() -> None:
    own = {"stations": {"sta2": {"loss": 0.2}, "sta3": {"loss": 0.3}}}
    for stations, asked, expected in (
        ({}, [("sta1", "sta2"), ("sta2", "sta1")], 2),
        (own, [("sta1", "sta2"), ("sta2", "sta3"), ("sta3", "sta1")], 1),
        (own, [("sta1", "sta2"), ("sta1", "sta3"), ("sta2", "sta1")], 2),
        (own | SHARED, [("sta1", "sta2"), ("sta2", "sta3"), ("sta3", "sta1")], 1),
        (own | SHARED | LATE, [("sta1", "sta2"), ("sta2", "sta3"), ("sta3", "sta1")], 3),
        (own | SHARED | {"duplicate": 0.1}, [("sta1", "sta2"), ("sta2", "sta3")], 2),
        ({"stations": {"sta3": LATE}} | SHARED, [("sta1", "sta2"), ("sta3", "sta1")], 2),
    ):
        plan = planned("access-point", loss=0.1, **stations)
        found = list(rounds(plan, plan.first, [pair(*one) for one in asked]))
        assert len(found) == expected
        assert sum(map(len, found)) == len(asked)


DIRECTION = st.fixed_dictionaries(
    {
        "delay": st.sampled_from([0.0, 0.0031, 0.0173]),
        "loss": st.sampled_from([0.0, 0.2]),
        "duplicate": st.sampled_from([0.0, 0.2]),
        "corrupt": st.sampled_from([0.0, 0.2]),
        "reorder": st.sampled_from([0.0, 0.2]),
    }
).map(lambda one: one if one["delay"] else one | {"reorder": 0.0})


@settings(max_examples=40, deadline=None)
@given(
    via=st.sampled_from(VIAS),
    medium=st.fixed_dictionaries(
        {"medium": st.sampled_from(["shared", "duplex"]), "rate": st.sampled_from([1e6, 3.3e6])}
    ),
    turns=st.sampled_from(["arrival", "packets"]),
    ways=st.fixed_dictionaries({"uplink": DIRECTION, "downlink": DIRECTION}),
    frames=st.lists(st.tuples(st.integers(60, 1514), st.integers(1, 7_000_001)), min_size=1, max_size=30),
)
def test_what_is_foretold_of_a_way_is_what_the_line_does(
    via: Via, medium: dict[str, Any], turns: str, ways: dict[str, Any], frames: list[tuple[int, int]]
) -> None:
    """To the nanosecond, however frames of different sizes meet on one air: two programs of one model."""
    taken = {"turns": turns} if medium["medium"] == "shared" else {}
    plan = planned(via, queue_packets=1000, **medium, **taken, **ways)
    world = World(Line(plan, MACS))
    path = Path(world, "uplink", ports=(1, 2), ends=MACS["sta2"] + MACS["sta1"])
    for size, gap_ns in frames:
        world.sleep_until(world.time + gap_ns / 1e9)
        path.emit(1, size)
    came = path.collect(len(frames))
    due = foretell(asked_between(plan, plan.first, "sta1", "sta2"), came).received()
    assert sorted(zip(due.number.tolist(), due.at_ns.tolist(), strict=True)) == sorted(
        zip(came.number.tolist(), came.received_ns.tolist(), strict=True)
    )
