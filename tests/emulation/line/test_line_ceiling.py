"""What a profile asks of the line, and what that carries."""

from __future__ import annotations

from typing import Any

import pytest

from emulation.line import ceiling
from emulation.line.ceiling import (
    CEILING_BIT_S,
    CEILING_DRAWN_FRAMES_S,
    CEILING_FRAMES_S,
    Asked,
    Load,
    asked,
    most_stations,
)
from emulation.profile import library
from emulation.profile.profile import LinkProfile


def profile(**settings: Any) -> LinkProfile:
    plain = {"name": "made", "description": "for tests", "source": "made for tests", "medium": "duplex"}
    return LinkProfile.model_validate(plain | {"rate": 10e6} | settings)


def asked_of(one: LinkProfile, stations: int) -> Asked:
    return asked(Load(one, stations))


def test_full_frames_and_their_acknowledgements_are_counted_both_ways_for_each_station_of_a_duplex_link() -> None:
    each_way = 1.5 * 10e6 / (1514 * 8)
    assert asked_of(profile(), 1).frames_s == pytest.approx(2 * each_way)
    assert asked_of(profile(), 20).frames_s == pytest.approx(40 * each_way)
    assert asked_of(profile(downlink={"rate": 20e6}), 3).frames_s == pytest.approx(9 * each_way)


def test_a_shared_air_is_counted_once_whoever_uses_it() -> None:
    air = profile(medium="shared", frame_overhead=0.001)
    full, answer = 0.001 + 1514 * 8 / 10e6, 0.001 + 66 * 8 / 10e6
    assert asked_of(air, 1).frames_s == asked_of(air, 200).frames_s == pytest.approx(3 / (2 * full + answer))


def test_stations_with_settings_of_their_own_count_with_these() -> None:
    mixed = profile(stations={"sta2": {"rate": 1e6}})
    assert asked_of(mixed, 3).frames_s == pytest.approx(
        asked_of(profile(), 2).frames_s + asked_of(profile(rate=1e6), 1).frames_s
    )


def test_the_busiest_state_of_a_timeline_counts() -> None:
    faster = profile(timeline=[{"at": 5, "change": {"rate": 40e6}}, {"at": 6, "change": {"rate": 1e6}}])
    assert asked_of(faster, 1).frames_s == pytest.approx(asked_of(profile(rate=40e6), 1).frames_s)
    assert asked_of(faster, 1).rate == 40e6


def test_of_a_recorded_trace_the_fastest_step_counts() -> None:
    found = asked_of(library.load("stepped-trace"), 1)
    assert found.rate == pytest.approx(6.056e6)
    assert found.fits


@pytest.mark.parametrize(
    "drawn",
    [
        {"delay": 0.02, "jitter": 0.001},
        {"delay": 0.02, "reorder": 0.01},
        {"duplicate": 0.01},
        {"corrupt": 0.01},
        {"timeline": [{"at": 5, "change": {"corrupt": 0.1}}]},
        {"stations": {"sta1": {"duplicate": 0.1}}},
    ],
)
def test_where_fates_are_drawn_less_is_carried(drawn: dict[str, Any]) -> None:
    assert asked_of(profile(**drawn), 2).limit_frames_s == CEILING_DRAWN_FRAMES_S


@pytest.mark.parametrize(
    "listed", [{}, {"delay": 0.02}, {"loss": 0.05}, {"loss": {"model": "gilbert-elliott", "p": 0.02, "r": 0.3}}]
)
def test_losses_and_constant_delays_are_not_drawn(listed: dict[str, Any]) -> None:
    assert asked_of(profile(**listed), 2).limit_frames_s == CEILING_FRAMES_S


def test_what_has_no_rate_asks_for_more_than_can_be_carried() -> None:
    without = profile(rate=None)
    assert (asked_of(without, 1).frames_s, asked_of(without, 1).fits) == (None, False)
    assert "one without limit" in ceiling.why_not(Load(without, 1))
    assert "one without limit" in ceiling.why_not(Load(profile(uplink={"rate": None}), 1))
    assert most_stations(without) == 0


def test_stations_are_carried_up_to_the_ceiling_and_not_one_more() -> None:
    for name in library.names():
        one, most = library.load(name), most_stations(library.load(name))
        if most:
            assert asked_of(one, most).fits, name
        if most < ceiling.MOST_STATIONS:
            assert not asked_of(one, most + 1).fits, name


def test_all_of_the_library_but_the_fastest_is_carried_for_a_station() -> None:
    assert [name for name in library.names() if not most_stations(library.load(name))] == ["wireline-1g"]


def test_the_default_experiments_links_are_carried_for_its_two_stations() -> None:
    for name in ("nistnet-80211", "wireline-100m"):
        assert ceiling.why_not(Load(library.load(name), 2)) == ""


def test_too_many_frames_are_told_with_both_figures_and_the_way_out() -> None:
    assert ceiling.why_not(Load(library.load("wireline-100m"), 4)) == (
        "the line carries 50,000 frames/s at most, and profile 'wireline-100m' with 4 stations has up to 99,075 (full "
        "frames and their acknowledgements, of all stations, both ways): use 2 stations at most, or medium tc"
    )
    drawn = ceiling.why_not(Load(library.load("5g"), 2))
    assert "carries 30,000 frames/s at most where jitter, order, copies or damage are drawn" in drawn
    assert "has up to 37,153" in drawn
    assert "use 1 station at most" in drawn


def test_a_rate_above_what_was_measured_is_told_with_both_figures() -> None:
    fast = profile(medium="shared", rate=2 * CEILING_BIT_S, frame_overhead=0.001)
    assert asked_of(fast, 1).frames_s < CEILING_FRAMES_S
    assert "carries 150 Mbit/s at most, and profile 'made' with 1 station has 300 Mbit/s" in ceiling.why_not(
        Load(fast, 1)
    )


def test_trials_side_by_side_share_the_processors() -> None:
    wire = library.load("wireline-100m")
    assert ceiling.has_room(Load(wire, 1), trials=2)
    assert not ceiling.has_room(Load(wire, 1), trials=3)
    assert not ceiling.has_room(Load(profile(rate=None), 1), trials=1)


def test_all_links_of_a_trial_are_counted_together() -> None:
    wire, slow = Load(library.load("wireline-100m"), 1), Load(profile(), 1)
    both = asked(wire, slow, slow)
    assert both.frames_s == pytest.approx(sum(asked(one).frames_s or 0 for one in (wire, slow, slow)))
    assert both.rate == asked(wire).rate
    assert ceiling.why_not(wire, slow) == ""
    assert ceiling.why_not(wire, wire, slow) == (
        "the line, one process for a trial, carries 50,000 frames/s at most, and the trial's 3 links have up to 52,015 "
        "together (2 of profile 'wireline-100m' with 1 station, each: 24,769, profile 'made' with 1 station: 2,477; "
        "full frames and their acknowledgements, of all stations, both ways): use fewer links, slower profiles, or "
        "medium tc"
    )


def test_one_link_that_is_too_much_by_itself_is_told_alone() -> None:
    assert ceiling.why_not(Load(profile(), 1), Load(profile(rate=None), 1)) == ceiling.why_not(
        Load(profile(rate=None), 1)
    )


def test_links_of_which_some_are_drawn_use_their_shares_up() -> None:
    plain, drawn = Load(profile(), 10), Load(profile(delay=0.02, jitter=0.001), 6)
    together = asked(plain, drawn)
    assert together.share == pytest.approx(asked(plain).share + asked(drawn).share)
    assert CEILING_DRAWN_FRAMES_S < together.limit_frames_s < CEILING_FRAMES_S
    assert together.fits
    assert not asked(plain, plain, drawn).fits
    assert "where jitter, order, copies or damage are drawn" in ceiling.why_not(plain, plain, drawn)


def test_what_is_heavy_is_all_links_together() -> None:
    wire = Load(library.load("wireline-100m"), 1)
    assert not ceiling.is_heavy(wire)
    assert ceiling.is_heavy(wire, wire)


def test_nothing_to_carry_is_no_load() -> None:
    assert asked() == Asked(frames_s=0, rate=0.0, drawn=False, share=0)
    assert (asked().fits, asked().limit_frames_s, ceiling.why_not()) == (True, CEILING_FRAMES_S, "")


def test_copies_of_frames_to_a_group_are_counted_where_one_takes_the_air_for_all() -> None:
    air = profile(medium="shared")
    full_s = 1514 * 8 / 10e6
    plain, copied = asked(Load(air, 40)), asked(Load(air, 40, group_frames=True))
    assert copied.frames_s == pytest.approx(40 / full_s)
    assert plain.frames_s == asked(Load(air, 1, group_frames=True)).frames_s, "one copy is no more than a frame"
    wires = profile()
    assert asked(Load(wires, 40, group_frames=True)) == asked(Load(wires, 40)), "each copy takes its receiver's time"
    told = ceiling.why_not(Load(air, 100, group_frames=True))
    assert "has up to 82,563 (full frames" in told
    assert "both ways, and a copy for each station of frames to a group): use 60 stations at most" in told
