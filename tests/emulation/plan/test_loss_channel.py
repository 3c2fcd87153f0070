"""Whose packets a burst of losses hits: one station's in a row, or those of all that share a channel."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.plan.loss import MAX_MODULUS, MIN_MODULUS, expand, modulus_for
from emulation.profile import library
from emulation.profile.library import ProfileError
from emulation.profile.lossmodel import GilbertElliott
from emulation.profile.profile import LinkProfile
from records.directions import Direction

BURSTS = {"model": "gilbert-elliott", "p": 0.002, "r": 0.1, "loss_bad": 1.0}
STATIONS = [f"sta{number}" for number in range(1, 6)]
FILE = {"name": "made", "description": "d", "source": "s", "loss": BURSTS}


def planned(names: list[str] = STATIONS, *, seed: int = 7, **settings: Any) -> LinkPlan:
    return linkplan.plan(profile(**settings), names, seed=seed, seconds=10, timeline_s=10)


def longest_runs(plan: LinkPlan, *, rounds: int) -> list[int]:
    """The longest row of its own packets that each station loses, where all take turns packet by packet."""
    order = [station for _ in range(rounds) for station in STATIONS]
    numbered: dict[str, itertools.count[int]] = {}
    lost: dict[str, list[bool]] = {station: [] for station in STATIONS}
    lists = {name: plan.in_force(plan.first, 0, "uplink", name) for name in STATIONS}
    dropped = {one.name: one.lists(np.arange(len(order))) for one in lists.values()}
    for station in order:
        name = lists[station].name
        lost[station].append(bool(dropped[name][next(numbered.setdefault(name, itertools.count()))]))
    return [max(sum(run) for _, run in itertools.groupby(fate)) for fate in lost.values()]


def test_a_burst_hits_one_stations_packets_in_a_row_where_each_has_its_own_channel() -> None:
    own = longest_runs(planned(loss=BURSTS, loss_channel="station"), rounds=5000)
    one = longest_runs(planned(loss=BURSTS, loss_channel="shared"), rounds=5000)
    # Bursts of ten in the mean, the longest of some ten at each station; where five take turns each loses a fifth.
    assert min(own) > 10
    assert max(one) <= 10
    assert np.mean(own) > 2 * np.mean(one)


def test_each_station_has_a_list_of_its_own_whoever_else_is_there() -> None:
    many, two = (planned(some, loss=BURSTS, loss_channel="station") for some in (STATIONS, STATIONS[2:4]))
    assert len({one.digest for one in many.losses}) == len({one.name for one in many.losses}) == 10
    assert many.losses[0].name == "uplink-0-0-sta1"
    directions: tuple[Direction, Direction] = ("uplink", "downlink")
    for station, way in itertools.product(STATIONS[2:4], directions):
        longer, shorter = two.in_force(two.first, 0, way, station), many.in_force(many.first, 0, way, station)
        common = min(longer.modulus, shorter.modulus)
        assert [index for index in longer.indices if index < common] == [n for n in shorter.indices if n < common]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"loss": 0.03}, {"uplink", "downlink"}),
        ({"loss": 0.03, "uplink": {"loss": BURSTS}}, {*(f"uplink-0-0-{one}" for one in STATIONS), "downlink"}),
        (
            {"timeline": [{"at": 1, "change": {"downlink": {"loss": BURSTS}}}]},
            {"uplink", "downlink", *(f"downlink-0-1-{one}" for one in STATIONS)},
        ),
        (
            {"loss": BURSTS, "stations": {one: {} for one in STATIONS[1:]}},
            {"uplink", "downlink", *(f"{way}-{n}-0" for n in range(1, 5) for way in ("uplink", "downlink"))},
        ),
    ],
    ids=["without memory", "one direction", "later", "stations with settings of their own"],
)
def test_only_losses_with_a_memory_are_numbered_by_station(settings: dict[str, Any], names: set[str]) -> None:
    plan = planned(**settings, loss_channel="station")
    assert {one.name for one in plan.losses} == names
    for state, station in itertools.product(plan.states(), STATIONS):
        group = next(number for number, members in enumerate(plan.groups) if station in members)
        assert plan.in_force(state, group, "uplink", station).name in names


def test_a_station_alone_has_the_list_of_its_group() -> None:
    alone, shared = (planned(["sta1"], loss=BURSTS, loss_channel=channel) for channel in ("station", "shared"))
    assert [(one.name, one.digest) for one in alone.losses] == [(one.name, one.digest) for one in shared.losses]


def test_lists_of_earlier_records_are_expanded_as_they_were() -> None:
    """Digests from before there was a choice, whose profiles do not say whose packets losses follow."""
    model = GilbertElliott(p=0.002, r=0.1, loss_bad=0.5)
    lists = [
        expand(model, seed=7, direction="downlink", modulus=MIN_MODULUS, group=group, state=state)
        for group, state in ((0, 0), (1, 2))
    ]
    assert [(one.name, one.digest[:16]) for one in lists] == [
        ("downlink", "76abdb269557fcdb"),
        ("downlink-1-2", "b158c1d55403b34f"),
    ]
    record = profile(loss=BURSTS).model_dump(mode="json")
    assert "loss_channel" not in record
    again = LinkProfile.model_validate(record)
    assert again.loss_channel == "shared"
    plan = linkplan.plan(again, STATIONS, seed=7, seconds=10, timeline_s=10)
    assert [one.name for one in plan.losses] == ["uplink", "downlink"]


def test_a_record_keeps_a_choice_that_was_made() -> None:
    record = profile(loss=BURSTS, loss_channel="station").model_dump(mode="json")
    assert LinkProfile.model_validate(record).loss_channel == "station"


@pytest.mark.parametrize(
    ("settings", "channel"),
    [
        ({"medium": "duplex"}, "station"),
        ({"medium": "shared"}, "shared"),
        ({"medium": "duplex", "loss_channel": "shared"}, "shared"),
        ({"medium": "shared", "loss_channel": "station"}, "station"),
        ({"medium": "duplex", "loss": 0.01}, "shared"),
        ({"medium": "duplex", "loss": 0, "timeline": [{"at": 1, "change": {"loss": BURSTS}}]}, "station"),
    ],
    ids=str,
)
def test_a_file_that_leaves_it_open_means_what_its_medium_is(
    tmp_path: Path, settings: dict[str, Any], channel: str
) -> None:
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(FILE | settings))
    assert library.load(str(tmp_path / "made.yaml")).loss_channel == channel


def test_another_word_is_refused_with_the_choices(tmp_path: Path) -> None:
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(FILE | {"medium": "duplex", "loss_channel": "each"}))
    with pytest.raises(ProfileError, match=r"loss_channel: 'each': has to be 'shared' or 'station'"):
        library.load(str(tmp_path / "made.yaml"))


def test_profiles_of_the_library_with_bursts_say_whose_they_are() -> None:
    bursty = {name: library.read(library.FOLDER / f"{name}.yaml") for name in library.names()}
    found = {name: one.loss_channel for name, one in bursty.items() if one.loss_has_memory}
    assert found == {"bursty-interference": "shared", "leo-satellite": "station"}
    for name in found:
        assert "loss_channel" in yaml.safe_load((library.FOLDER / f"{name}.yaml").read_text())


@given(st.integers(1, 1000), st.sampled_from([None, 1e6, 1e9]))
def test_lists_of_many_stations_stay_small_together(lists: int, rate: float | None) -> None:
    each = modulus_for(rate=rate, seconds=3600, lists=lists)
    assert MIN_MODULUS <= each <= MAX_MODULUS
    assert each == MIN_MODULUS or each * lists <= 2 * MAX_MODULUS
    assert modulus_for(rate=rate, seconds=3600, lists=2) == modulus_for(rate=rate, seconds=3600)
