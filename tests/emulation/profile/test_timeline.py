from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.profile import timeline
from emulation.profile.timeline import Step, _named

MOMENT = st.floats(0, 100).map(lambda s: round(s, 3))
SPAN = st.floats(0.01, 5).map(lambda s: round(s, 3))
EVENT = st.one_of(
    st.fixed_dictionaries({"at": MOMENT, "outage": SPAN}),
    st.fixed_dictionaries({"at": MOMENT, "change": st.fixed_dictionaries({"rate": st.integers(10_000, 10**7)})}),
    st.fixed_dictionaries({"at": MOMENT, "handover": st.fixed_dictionaries({"lasts": SPAN, "extra_delay": SPAN})}),
)


def apart(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without outages and handovers that begin before another of their kind has ended."""
    free, found = {"outage": -1.0, "handover": -1.0}, []
    for event in sorted(events, key=lambda one: one["at"]):
        kind = next((one for one in free if one in event), None)
        if kind is not None:
            if event["at"] <= free[kind] + 1e-6:
                continue
            free[kind] = event["at"] + (event[kind] if kind == "outage" else event[kind]["lasts"])
        found.append(event)
    return found


EVENTS = st.lists(EVENT, max_size=8).map(apart)


def steps(*events: dict[str, Any], until_s: float = 100, **settings: Any) -> tuple[Step, ...]:
    return timeline.states(profile(timeline=events, **settings), until_s=until_s)


@given(EVENTS)
def test_steps_come_in_order_and_the_last_one_is_light(events: list[dict[str, Any]]) -> None:
    found = steps(*events, rate=1e6, until_s=1000)
    assert all(first.at_s <= second.at_s for first, second in pairwise(found))
    assert len(found) == sum(1 if "change" in event else 2 for event in events)
    assert not found or not found[-1].state.dark


@pytest.mark.parametrize("kind", [{"outage": 2}, {"handover": {"lasts": 2}}])
@pytest.mark.parametrize("second", [0.5, 1.0, 2.0, 3.0])
def test_two_of_a_kind_at_once_are_refused(kind: dict[str, Any], second: float) -> None:
    with pytest.raises(ValidationError, match="and another begins at"):
        steps({"at": 1, **kind}, {"at": second, **kind})


def test_stations_go_out_and_come_back_each_in_its_own_time() -> None:
    events = [{"at": at, "outage": 5, "stations": [name]} for at, name in ((5, "sta1"), (7, "sta2"))]
    assert [(step.at_s, sorted(step.state.out)) for step in steps(*events)] == [
        (5, ["sta1"]),
        (7, ["sta1", "sta2"]),
        (10, ["sta2"]),
        (12, []),
    ]


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="changes nothing"):
        steps({"at": 1, "change": {}})


def test_a_rate_cannot_be_changed_beside_a_trace() -> None:
    trace = {"at": 0, "trace": {"uplink": {"opportunities_ms": [1, 2]}}}
    with pytest.raises(ValidationError, match="a trace sets the rate"):
        steps(trace, {"at": 1, "change": {"rate": 1e6}}, rate=1e6)


@given(EVENTS, st.floats(0, 100))
def test_what_is_not_reached_is_no_step(events: list[dict[str, Any]], until_s: float) -> None:
    whole = steps(*events, rate=1e6, until_s=1000)
    assert steps(*events, rate=1e6, until_s=until_s) == tuple(step for step in whole if step.at_s <= until_s)


def test_an_outage_is_dark_and_ends() -> None:
    assert [(step.at_s, step.state.dark) for step in steps({"at": 1, "outage": 0.5})] == [(1, True), (1.5, False)]


def test_an_outage_can_be_of_some_stations_alone() -> None:
    found = steps({"at": 1, "outage": 0.5, "stations": ["sta3", "sta4"]})
    assert [(step.state.dark, step.state.out) for step in found] == [(False, {"sta3", "sta4"}), (False, set())]
    assert [step.label for step in found] == ["outage of sta3, sta4 begins", "outage of sta3, sta4 ends"]
    with pytest.raises(ValueError, match=r"another begins at 1\.2 s"):
        steps({"at": 1, "outage": 0.5, "stations": ["sta3"]}, {"at": 1.2, "outage": 0.5})
    with pytest.raises(ValueError, match="stations: sta3: only an outage can be of some stations alone"):
        steps({"at": 1, "change": {"rate": "1 Mbit/s"}, "stations": ["sta3"]})


def test_a_handover_adds_its_delay_and_ends_in_what_it_leads_to() -> None:
    handover = {"lasts": 0.1, "loss": 0.2, "extra_delay": 0.05, "to": {"delay": 0.03}}
    during, after = steps({"at": 1, "handover": handover}, delay=0.02, loss=0.01)
    assert (during.state.sides[0].uplink.delay, during.state.sides[0].uplink.loss) == (pytest.approx(0.07), 0.2)
    assert (after.state.sides[0].uplink.delay, after.state.sides[0].uplink.loss) == (0.03, 0.01)


def test_a_change_during_a_handover_holds_after_it() -> None:
    found = steps(
        {"at": 1, "handover": {"lasts": 1, "extra_delay": 0.05}}, {"at": 1.5, "change": {"delay": 0.04}}, delay=0.02
    )
    assert [step.state.sides[0].uplink.delay for step in found] == pytest.approx([0.07, 0.09, 0.04])


def test_a_change_of_one_direction_leaves_the_other() -> None:
    (step,) = steps({"at": 1, "change": {"uplink": {"rate": 2e6}}}, rate=1e6)
    assert (step.state.sides[0].uplink.rate, step.state.sides[0].downlink.rate) == (2e6, 1e6)
    assert step.label == "uplink rate 2000000.0"


def test_the_name_of_a_change_has_no_files_in_it() -> None:
    def named(*values: int) -> str:
        change = {"jitter_distribution": {"values": list(values)}, "jitter": 0.001, "delay": 0.01}
        return _named(change)

    one, other = named(*range(4096)), named(*range(1, 4097))
    assert len(one) < 120
    assert "4096 values" in one
    assert one != other
    assert named(1, 2, 3) == "jitter_distribution {'values': [1, 2, 3]}, jitter 0.001, delay 0.01"


def test_a_trace_sets_the_rate_of_its_direction_and_holds_the_queue_in_its_gaps() -> None:
    times = [*range(10, 110, 10), 300]
    found = steps({"at": 2, "trace": {"downlink": {"opportunities_ms": times}}}, rate=1e6, until_s=2.25)
    assert [round(step.at_s, 3) for step in found] == [2, 2.05, 2.1, 2.15, 2.2]
    assert [step.label for step in found] == ["trace begins", "", "", "", ""]
    assert [sorted(step.state.held) for step in found[:3]] == [[], [], []]
    assert found[4].state.held == {"downlink"}
    assert {step.state.sides[0].uplink.rate for step in found} == {1e6}


def test_a_gap_is_held_once_whatever_else_changes_in_its_step() -> None:
    times = [*range(10, 110, 10), 300]
    trace = {"at": 2, "trace": {"downlink": {"opportunities_ms": times}}}
    (held,) = (step.at_s for step in steps(trace, rate=1e6, until_s=2.25) if step.state.holds)
    beside = {"at": held, "change": {"delay": 0.01}}
    found = steps(trace, beside, rate=1e6, delay=0.02, until_s=2.25)
    assert len(found) == 6
    assert [step.at_s for step in found if step.state.holds] == [held]


def test_a_change_of_overhead_cannot_go_with_a_trace() -> None:
    trace = {"at": 2, "trace": {"uplink": {"opportunities_ms": [1, 100]}}}
    with pytest.raises(ValidationError, match="overhead and all: no change sets frame_overhead"):
        steps(trace, {"at": 3, "change": {"frame_overhead": 0.001}}, rate=1e6)


@pytest.mark.parametrize(
    ("event", "settings", "message"),
    [
        ({"at": 1, "change": {"rate": 10}}, {"rate": 1e6}, "at 1 s: rate 10: .*has to be 8000 or more"),
        ({"at": 1, "change": {"speed": 10}}, {}, "unknown key 'speed'"),
        ({"at": 1, "change": {"rate": 1e6}}, {}, "can change, but not come or go"),
        ({"at": 1, "change": {"queue_packets": 9}}, {"rate": 1e6}, "counts packets cannot begin"),
        ({"at": 1, "change": {"uplink": {"rate": 2e6}}}, {"rate": 1e6, "medium": "shared"}, "one rate"),
        ({"at": 1}, {}, "this one is none"),
        ({"at": 1, "outage": 1, "change": {}}, {}, "outage and change"),
        ({"at": 1, "trace": {}}, {"rate": 1e6}, "a trace is of the uplink, the downlink or both"),
        ({"at": 1, "trace": {"uplink": {"opportunities_ms": [1]}}}, {}, "which has none to begin with"),
        (
            {"at": 1, "trace": {"uplink": {"opportunities_ms": [1]}}},
            {"rate": 1e6, "frame_overhead": 0.001},
            "leave frame_overhead out",
        ),
        (
            {"at": 1, "trace": {"uplink": {"opportunities_ms": [1]}}},
            {"rate": 1e6, "medium": "shared"},
            "same for both directions",
        ),
        (
            {"at": 1, "trace": {"uplink": {"opportunities_ms": [1]}}},
            {"rate": 1e6, "stations": {"sta1": {"rate": 2e6}}},
            "some have a rate of their own",
        ),
    ],
)
def test_an_event_that_cannot_be_is_refused(event: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        profile(timeline=[event], **settings)
