"""A connection that knows a shorter round trip than its link has is found and named."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from good_evidence import GOOD

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import CheckSettings
from experiments.trial.checks.health import judge
from experiments.trial.checks.path_rtt import BARE, least_rtt_s, path_rtt
from records.manifest import Connecting, ConnectionEnd
from records.verdict import Check, Health, State

FAR = {"delay": 0.03}


def plan_of(profile: LinkProfile) -> LinkPlan:
    return linkplan.plan(profile, ["sta1", "sta2"], seed=1, seconds=10, timeline_s=10)


def plan(**settings: Any) -> LinkPlan:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex"}
    return plan_of(LinkProfile.model_validate(base | settings))


def judged(known: Connecting, link: LinkPlan, *, expected: bool) -> tuple[float | None, str]:
    return path_rtt(known, partial(least_rtt_s, link), expected=expected)


def end(min_rtt_ms: float | None, *, station: str = "sta1", port: int = 40000, of: str = "client") -> ConnectionEnd:
    known = None if min_rtt_ms is None else min_rtt_ms / 1e3
    return ConnectionEnd.model_validate(
        {
            "end": of, "station": station, "port": port, "rtt_s": known, "min_rtt_s": known, "rto_s": 1, "cwnd": 10,
            "ssthresh": None, "congestion_control": "cubic",
        }
    )  # fmt: skip


def connecting(*ends: ConnectionEnd) -> Connecting:
    return Connecting(over="link", seconds=1, quiet=True, ends=ends)


@pytest.mark.parametrize(
    ("profile", "least_ms"),
    [("geo-satellite", (527, 529)), ("lte", (40, 51)), ("nistnet-80211", (0, 0)), ("wireline-100m", (0, 0))],
)
def test_the_least_round_trip_of_links_of_the_library(profile: str, least_ms: tuple[float, float]) -> None:
    low, high = least_ms
    assert low <= least_rtt_s(plan_of(library.load(profile)), "sta1") * 1e3 <= high


@pytest.mark.parametrize(
    ("settings", "least_ms"),
    [
        (FAR, 60),
        ({"uplink": {"delay": 0.03}, "downlink": {"delay": 0.01}}, 40),
        (FAR | {"jitter": 0.004}, 52),  # uniform: half the width below
        (FAR | {"jitter": 0.004, "jitter_distribution": {"values": (-4096, 4096)}}, 56),
        (FAR | {"jitter": 0.05, "allow_jitter_beyond_delay": True}, 0),
        (FAR | {"reorder": 0.1}, 0),  # those that overtake do not wait
        (FAR | {"stations": {"sta2": {"delay": 0.001}}}, 60),
        (FAR | {"timeline": [{"at": 0, "change": {"uplink": {"delay": 0.01}}}]}, 40),
        (FAR | {"timeline": [{"at": 2, "change": {"delay": 0.001}}]}, 60),  # not before the window
    ],
)
def test_the_least_round_trip_is_what_delay_and_jitter_allow(settings: dict[str, Any], least_ms: float) -> None:
    assert least_rtt_s(plan(**settings), "sta1") * 1e3 == pytest.approx(least_ms, abs=0.01)


def test_a_station_of_its_own_has_a_round_trip_of_its_own() -> None:
    apart = plan(**FAR, stations={"sta2": {"delay": 0.001}})
    assert least_rtt_s(apart, "sta2") * 1e3 == pytest.approx(2)
    known = connecting(end(60.1), end(2.1, station="sta2"))
    assert judged(known, apart, expected=True)[0] == 0
    count, said = judged(connecting(end(2.1), end(2.1, station="sta2")), apart, expected=True)
    assert count == 1
    assert "the link allows 2 or 60 ms" in said
    assert "the client's end of sta1:40000 knows 2.1 ms" in said


def test_one_connection_that_learnt_the_wire_is_named_among_the_others() -> None:
    known = connecting(end(540.2), end(540.9, port=40001), end(0.05, port=40002, of="server"))
    count, said = judged(known, plan(delay=0.27), expected=True)
    assert count == 1
    assert "1 of 3 ends of connections, whose least round trip is 0.05 ms; the link allows 540 ms" in said
    assert said.endswith("the server's end of sta1:40002 knows 0.05 ms")


def test_many_that_did_are_counted_and_some_named() -> None:
    known = connecting(*(end(0.1, port=port) for port in range(40000, 40010)))
    count, said = judged(known, plan(**FAR), expected=True)
    assert count == 10
    assert said.count("knows") == 3
    assert said.endswith("and 7 more")


def test_what_tcp_counts_in_milliseconds_may_be_one_short() -> None:
    assert judged(connecting(end(59.2)), plan(**FAR), expected=True)[0] == 0
    assert judged(connecting(end(58.8)), plan(**FAR), expected=True)[0] == 1


def test_without_a_sample_nothing_was_learnt_and_without_connections_nothing_is_known() -> None:
    assert judged(connecting(end(None), end(61, port=2)), plan(**FAR), expected=True)[0] == 0
    for nothing in (connecting(), connecting(end(None))):
        assert judged(nothing, plan(**FAR), expected=True)[0] is None
    assert judged(connecting(), plan(**FAR), expected=False)[0] == 0


def test_a_scenario_that_says_bare_has_waived_it_by_that() -> None:
    evidence = {name: getattr(GOOD, name) for name in GOOD.__dataclass_fields__}
    short = type(GOOD)(**evidence | {"path_rtt": (4, "4 of 4 ends"), "bare": True})
    verdict = judge(short, CheckSettings(), {})
    assert verdict.state is State.VALID
    (found,) = [one for one in verdict.checks if one.check is Check.PATH_RTT]
    assert (found.health, found.measured) == (Health.WAIVED, 4)
    assert BARE in found.detail
    assert "connect: bare" in verdict.reasons()[0]
