"""What link.json tells of a link over time, and that older trials' manifests tell the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.plan import linkplan
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.trial import linkcourse
from records import older
from records.link import LinkInterruption, LinkState

STATIONS = ["sta1", "sta2", "sta3"]
BASE = {"name": "made", "description": "d", "source": "s", "medium": "duplex", "rate": 1e6}


def profile(**settings: Any) -> LinkProfile:
    return LinkProfile.model_validate(BASE | settings)


def course(link: LinkProfile) -> tuple[tuple[LinkState, ...], tuple[LinkInterruption, ...]]:
    until_s = max((event.ends for event in link.timeline), default=0) + 1
    plan = linkplan.plan(link, STATIONS, seed=1, seconds=1, timeline_s=until_s)
    return linkcourse.states(plan), tuple(linkcourse.interruptions(plan))


def test_a_link_without_a_timeline_has_one_state() -> None:
    (only,), interruptions = course(profile(frame_overhead="100 us", stations={"sta2": {"downlink": {"corrupt": 0.1}}}))
    assert only.since_s is None
    assert [group.stations for group in only.groups] == [("sta1", "sta3"), ("sta2",)]
    assert {way.overhead for way in only.directions} == {1e-4}
    assert [way.corrupt for way in only.directions] == [0, 0, 0, 0.1]
    assert interruptions == ()


def test_changes_and_handovers_are_states_and_outages_interrupt_their_stations() -> None:
    handover = {"at": 6, "handover": {"lasts": 0.5, "to": {"rate": 3e6, "corrupt": "1 %"}}}
    outage = {"at": 8, "outage": 2, "stations": ["sta2"]}
    states, interruptions = course(profile(timeline=[{"at": 2, "change": {"rate": "2 Mbit/s"}}, handover, outage]))
    told = [(one.since_s, one.label, one.groups[0].uplink.rate, one.groups[0].uplink.corrupt) for one in states]
    assert told == [
        (None, "", 1e6, 0),
        (2, "rate 2 Mbit/s", 2e6, 0),
        (6, "handover begins", 2e6, 0),
        (6.5, "handover ends", 3e6, 0.01),
        (8, "outage of sta2 begins", 3e6, 0.01),
        (10, "outage of sta2 ends", 3e6, 0.01),
    ]
    assert interruptions == (
        LinkInterruption(at_s=6, lasts_s=0.5, stations=("sta1", "sta2", "sta3")),
        LinkInterruption(at_s=8, lasts_s=2, stations=("sta2",)),
    )


def test_a_recorded_trace_is_told_by_its_beginning() -> None:
    states, _ = course(library.load("stepped-trace"))
    assert [one.label for one in states] == ["", "trace begins"]


def asked(states: tuple[LinkState, ...]) -> list[Any]:
    """Each state that differs from the one before it, without its name."""
    found = [(one.since_s, one.groups) for one in states]
    return [one for number, one in enumerate(found) if not number or one[1] != found[number - 1][1]]


change = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.sampled_from(["2 Mbit/s", 3e6]),
        "frame_overhead": st.sampled_from(["100 us", 0.0]),
        "corrupt": st.sampled_from(["1 %", 0.2]),
        "downlink": st.fixed_dictionaries({}, optional={"corrupt": st.just(0.3), "rate": st.just(5e6)}),
    },
).filter(bool)
events = st.lists(
    st.one_of(
        st.builds(lambda one: {"change": one}, change),
        st.builds(lambda one: {"handover": {"lasts": "500 ms", "to": one}}, change),
        st.just({"outage": "1 s"}),
        st.just({"outage": 1, "stations": ["sta2"]}),
    ),
    max_size=5,
)


@settings(max_examples=30)
@given(events=events, own=st.booleans())
def test_an_older_trials_profile_tells_what_is_recorded_today(events: list[dict[str, Any]], own: bool) -> None:
    timeline = [{"at": 3 * number} | event for number, event in enumerate(events)]
    made = profile(timeline=timeline, stations={"sta2": {"uplink": {"corrupt": 0.1}}} if own else {})
    states, interruptions = course(made)
    told = older.link(json.loads(made.model_dump_json()), STATIONS)
    assert asked(tuple(map(LinkState.model_validate, told["states"]))) == asked(states)
    assert tuple(map(LinkInterruption.model_validate, told["interruptions"])) == interruptions


@pytest.mark.parametrize("name", ["leo-satellite", "vehicle-handover"])
def test_timelines_of_the_library_are_told_alike(name: str) -> None:
    made = library.load(name)
    states, interruptions = course(made)
    told = older.link(made.model_dump(mode="json"), STATIONS)
    assert asked(tuple(map(LinkState.model_validate, told["states"]))) == asked(states)
    assert tuple(map(LinkInterruption.model_validate, told["interruptions"])) == interruptions
