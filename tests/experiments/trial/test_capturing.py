from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from unbuilt import unbuilt

from emulation.plan import linkplan
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import CaptureSettings
from experiments.trial.capturing import CapturePlan, capture_plan, highest_rate, why_not_kept


def link(count: int, /, **settings: Any) -> linkplan.LinkPlan:
    profile = LinkProfile.model_validate(
        {"name": "p", "description": "d", "source": "s", "medium": "duplex"} | settings
    )
    names = [f"sta{number}" for number in range(1, count + 1)]
    return linkplan.plan(profile, names, seed=1, seconds=10, timeline_s=10)


def planned(stations: int = 2, capture: dict[str, Any] | None = None, **settings: Any) -> CapturePlan:
    return capture_plan(CaptureSettings.model_validate(capture or {}), (link(stations, **settings),), unbuilt(stations))


def test_a_slow_link_is_recorded_whole_at_every_port() -> None:
    plan = planned(medium="shared", rate=20e6)
    assert (plan.snap_bytes, plan.rate) == (65_535, 20e6)
    found = [(place.point, place.node, place.tap.pid, place.tap.port) for place in plan.places]
    assert found == [
        ("wired", "server", 2, "wired"),
        ("server", "server", 100, "server-eth"),
        ("station", "sta1", 2, "port-sta1"),
        ("client", "sta1", 101, "sta1-eth"),
        ("station", "sta2", 2, "port-sta2"),
        ("client", "sta2", 102, "sta2-eth"),
    ]
    assert plan.place("port-sta2").node == "sta2"


@pytest.mark.parametrize("settings", [{"medium": "shared", "rate": 21e6}, {"medium": "shared"}, {"rate": 11e6}])
def test_a_faster_link_is_recorded_at_the_access_point_and_cut(settings: dict[str, Any]) -> None:
    plan = planned(**settings)
    assert plan.snap_bytes == 384
    assert {place.point for place in plan.places} == {"station", "wired"}


def test_many_stations_are_recorded_at_the_access_point_only() -> None:
    plan = planned(17, medium="shared", rate=1e6)
    assert {place.point for place in plan.places} == {"station", "wired", "server"}


def test_what_the_scenario_says_holds() -> None:
    plan = planned(capture={"snap_bytes": 96, "points": "wired, server"}, medium="shared", rate=1e6)
    assert (plan.snap_bytes, {place.point for place in plan.places}) == (96, {"wired", "server"})
    again = CaptureSettings.model_validate(CaptureSettings(points=("wired",)).model_dump(mode="json"))
    assert again.points == ("wired",)


@pytest.mark.parametrize("points", ["", "air", "wired, air", []])
def test_points_that_are_none_are_refused(points: object) -> None:
    with pytest.raises(ValidationError, match="station, wired, client, server"):
        CaptureSettings.model_validate({"points": points})


def test_the_rate_of_a_link_is_the_most_it_ever_has_in_a_direction() -> None:
    assert highest_rate(link(3, medium="shared", rate=1e6)) == 1e6
    assert highest_rate(link(3, rate=1e6, downlink={"rate": 2e6})) == 6e6
    assert highest_rate(link(2, rate=1e6, stations={"sta2": {"rate": 4e6}})) == 5e6
    assert highest_rate(link(1, rate=1e6, timeline=[{"at": "2 s", "change": {"rate": 9e6}}])) == 9e6
    own = {"sta1": {"rate": 1e6}, "sta2": {"rate": 2e6}}  # nobody has the profile's own settings
    assert highest_rate(link(2, medium="shared", rate=54e6, stations=own)) == 54e6
    assert highest_rate(link(1, uplink={"rate": 1e6})) is None


def said(**capture: Any) -> CaptureSettings:
    return CaptureSettings.model_validate(capture)


@pytest.mark.parametrize(
    ("keep_mb", "stay"), [(None, True), (2, True), (3.0, True), (1.999, False), (0, False)], ids=str
)
def test_captures_stay_up_to_what_is_wanted(keep_mb: float | None, *, stay: bool) -> None:
    why = why_not_kept(said(keep_mb=keep_mb), trial=1, sizes=[500_000, 1_500_000])
    assert (why == "") is stay
    assert stay or "captures of 2.0 MB were not kept" in why


def test_captures_of_every_third_trial_stay() -> None:
    whys = [why_not_kept(said(keep_every=3), trial=trial, sizes=[1]) for trial in range(1, 8)]
    assert [not why for why in whys] == [True, False, False, True, False, False, True]
    assert whys[1] == "captures are kept of one trial in 3 (capture.keep_every), and not of this one"
    assert why_not_kept(said(keep_every=3, keep_mb=1), trial=4, sizes=[2_000_000]), "too large, even of a fourth trial"


@pytest.mark.parametrize("word", [False, "off", {"enabled": False}])
def test_capture_can_be_off(word: object) -> None:
    settings = CaptureSettings.model_validate(word)
    assert capture_plan(settings, [link(2, rate=1e6)], unbuilt(2)).places == ()
    assert why_not_kept(settings, trial=1, sizes=[]) == "nothing was captured: the scenario has capture off"
    assert CaptureSettings.model_validate(settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"enabled": False, "keep_mb": 5}, "nothing is captured (off)"),
        ({"enabled": False, "keep_every": 2}, "nothing is captured (off)"),
        ("sometimes", "either off, or a mapping of enabled, snap_bytes, points, keep_mb, keep_every"),
        (0, "either off, or a mapping"),
        ({"keep_every": 0}, "greater than or equal to 1"),
    ],
)
def test_what_capture_cannot_be_is_told(wrong: object, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CaptureSettings.model_validate(wrong)
    assert told in str(caught.value)
