"""What a proof finds in a line in virtual time: nothing where it does as asked, and each fault where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulated_links import broken, profile
from hypothesis import given
from hypothesis import strategies as st
from simulated_line import STATION, Path, World, frame, prove

from emulation.line import fate, layout, medium
from emulation.line.layout import Line
from emulation.line.medium import Lane, Medium
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME
from emulation.proof.damage import differences, number_of
from emulation.proof.probe import MIN_FRAME
from emulation.proof.proof import Samples
from records.link import LinkCheck

SAMPLES = Samples(jitter=150, rate_s=0.3)
LATE = {"delay": 0.03, "jitter": 0.008}
BURSTS = {"model": "gilbert-elliott", "p": 0.02, "r": 0.25, "loss_bad": 0.8}
FAITHFUL: dict[str, dict[str, Any]] = {
    "rate": {"rate": 1e6},
    "slow": {"rate": 2e4},
    "shared, with overhead": {"rate": 1.1e7, "medium": "shared", "frame_overhead": 0.000974},
    "delay": {"delay": 0.03},
    **{f"{kind} jitter": LATE | {"jitter_distribution": kind} for kind in ("uniform", "normal", "pareto")},
    "a measured distribution": LATE | {"jitter_distribution": {"values": (-8192, -8192, -8192, 8192, 16384)}},
    "jitter without order": LATE | {"keep_order": False},
    "jitter that waits": LATE | {"rate": 1e6},
    "losses": {"loss": 0.1, "rate": 2e6},
    "bursts": {"loss": BURSTS},
    "a record": {"loss": {"model": "recorded", "packets": 50, "lost": (3, 4, 5, 49)}},
    "copies": {"duplicate": 0.05},
    "copies out of order": LATE | {"duplicate": 0.05, "keep_order": False},
    "overtaking": {"delay": 0.02, "reorder": 0.1, "rate": 4e6},
    "damage": {"corrupt": 0.05},
    "damage of what is copied": {"corrupt": 0.2, "duplicate": 0.2, "rate": 1e6},
    "everything": LATE | {"rate": 1e6, "loss": 0.05, "duplicate": 0.03, "corrupt": 0.03, "reorder": 0.05},
    "everything out of order": LATE
    | {"rate": 1e6, "loss": 0.05, "duplicate": 0.03, "corrupt": 0.03, "reorder": 0.05, "keep_order": False},
}


def planned(seed: int = 1, **settings: Any) -> LinkPlan:
    return linkplan.plan(profile(**settings), ["sta1"], seed=seed, seconds=10, timeline_s=10, made_by="line")


def proven(seed: int = 1, **settings: Any) -> list[LinkCheck]:
    return prove(planned(**settings), planned(seed, **settings), samples=SAMPLES)


@pytest.mark.parametrize("case", FAITHFUL)
def test_a_line_that_does_what_is_asked_differs_in_nothing(case: str) -> None:
    checks = proven(**FAITHFUL[case])
    assert broken(checks) == set(), [check for check in checks if not check.holds]
    exact = ("losses", "duplicates", "damage", "reordered")
    assert [(one.low, one.delivered) for one in checks if one.quantity in exact] == [
        (0, 0) for one in checks if one.quantity in exact
    ]


def test_every_impairment_is_held_against_its_fates() -> None:
    found = {one.quantity for one in proven(**FAITHFUL["everything"])}
    assert found == {"delay", "jitter", "fates", "rate", "reordered", "losses", "duplicates", "damage"}


def test_small_and_full_frames_pay_their_time_on_an_idle_link() -> None:
    """nistnet-80211, beside nothing else: 58 bytes in 0.464 ms, 1,514 in 12.112 ms."""
    found = [one for one in proven(rate=1e6, medium="shared") if one.quantity == "delay"]
    assert [(one.direction, round(one.delivered * 1e6)) for one in found] == [
        ("uplink", 464), ("uplink", 12112), ("downlink", 464), ("downlink", 12112),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"loss": 0.05}, ("losses",)),
        ({"loss": BURSTS}, ("losses",)),
        ({"duplicate": 0.05}, ("duplicates",)),
        ({"corrupt": 0.05}, ("losses", "damage")),
        (LATE, ("fates",)),
        (LATE | {"keep_order": False}, ("fates", "reordered")),
        (LATE | {"jitter_distribution": "pareto"}, ("fates",)),
        ({"delay": 0.02, "reorder": 0.1}, ("reordered",)),
        ({"delay": 0.02, "reorder": 0.01}, ("reordered",)),
    ],
    ids=str,
)
def test_another_seed_is_found_out_by_each_impairment(settings: dict[str, Any], found: set[str]) -> None:
    assert set(found) <= broken(proven(seed=2, **settings))


def skipping(number: int) -> Callable[[Medium, Lane, bytes], fate.Fate | None]:
    """A medium that leaves a number out."""
    usual = Medium._fate

    def faulty(self: Medium, lane: Lane, data: bytes) -> fate.Fate | None:
        if lane.losses.seen == number:
            lane.losses.seen += 1
        return usual(self, lane, data)

    return faulty


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"loss": 0.05}, "losses"),
        ({"duplicate": 0.05}, "duplicates"),
        ({"corrupt": 0.05}, "damage"),
        (LATE, "fates"),
        (LATE | {"keep_order": False}, "reordered"),
        ({"delay": 0.02, "reorder": 0.1}, "reordered"),
    ],
    ids=str,
)
def test_one_number_that_is_left_out_is_found_out(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], found: str
) -> None:
    monkeypatch.setattr(Medium, "_fate", skipping(20))
    assert found in broken(proven(**settings))


def test_another_bit_that_is_turned_over_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medium, "damaged", lambda data, draw: fate.damaged(data, draw + 1))
    assert broken(proven(corrupt=0.05)) == {"damage"}


def test_damage_that_nobody_asked_for_and_damage_that_does_not_come_are_found_out() -> None:
    asked, clean = planned(corrupt=0.05), planned()
    assert broken(prove(asked, clean, samples=SAMPLES)) == {"losses", "damage"}
    assert broken(prove(clean, asked, samples=SAMPLES)) == {"losses"}


def test_an_air_that_is_held_for_the_next_frame_only_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bucket does it: each frame passes when its transmission begins, the rate is right."""

    def early(self: layout.Line, now: int, lane: Lane, data: bytes) -> None:
        self.medium.left(now - lane.price.of(len(data)), lane, data)

    monkeypatch.setattr(layout.Line, "_left", early)
    found = [one for one in proven(rate=1e6) if not one.holds]
    assert {one.quantity for one in found} == {"delay"}
    assert len(found) == 4, "small and full frames, both ways"
    # Where it takes a full frame to tell.
    found = [one for one in proven(rate=6e6) if not one.holds]
    assert {(one.quantity, str(FULL_FRAME) in one.detail) for one in found} >= {("delay", True)}


def test_copies_that_are_twice_as_many_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Medium.left

    def twice(self: Medium, now: int, lane: Lane, data: bytes) -> None:
        usual(self, now, lane, data)
        if lane.losses.seen == 30:
            self._later(now, lane, 0, data)

    monkeypatch.setattr(Medium, "left", twice)
    assert broken(proven(duplicate=0.05)) == {"duplicates"}


def test_later_states_are_held_against_their_own_lists_from_their_first_packet_on() -> None:
    changes = [{"at": 1, "change": {"loss": 0.1, "duplicate": 0.1}}, {"at": 2, "change": LATE | {"corrupt": 0.1}}]
    plan = planned(rate=2e6, timeline=changes)
    states = [step.state for step in plan.steps]
    other = planned(2, rate=2e6, timeline=changes)
    for until in (1, 2):
        checks = prove(plan, samples=SAMPLES, states=states[:until])
        assert broken(checks) == set(), [check for check in checks if not check.holds]
        assert {"losses", "duplicates"} <= broken(prove(plan, other, samples=SAMPLES, states=states[:until]))
    assert broken(prove(plan, samples=SAMPLES)) == set()


def seen(seed: int, spacing_s: float, **settings: Any) -> tuple[list[int], list[int]]:
    """Packets that arrive of 400, each as often as it does, and which of them come with the bit of their fate off."""
    plan = planned(seed, **settings)
    world = World(Line(plan, {"sta1": STATION}))
    path = Path(world, "uplink")
    for number in range(400):
        world.sleep_until(101 + number * spacing_s)
        path.emit(1, MIN_FRAME)
    came = path.collect(400)
    fates = fate.fates(plan.first.sides[0].uplink, seed=seed, name="uplink", packets=400)
    bits = [(number, one.damage) for number, one in enumerate(fates) if one.damage is not None]
    off = [number for number, bit in bits for one in came.damaged if number_of(fate.damaged(one, bit)) == number]
    assert len(off) == len(came.damaged)
    return sorted(came.number.tolist()), off


def test_two_runs_of_one_seed_agree_in_every_fate_at_whatever_rate_they_are_sent() -> None:
    settings = LATE | {"loss": 0.05, "duplicate": 0.1, "corrupt": 0.1, "reorder": 0.1, "keep_order": False}
    slow, fast, other = seen(1, 0.01, **settings), seen(1, 0.0001, **settings), seen(2, 0.01, **settings)
    assert slow == fast
    assert len(slow[1]) > 10
    assert slow[0] != other[0]
    assert slow[1] != other[1]


@given(st.integers(0, 2**32 - 1), st.integers(0, 10**6), st.sampled_from((MIN_FRAME, 100, FULL_FRAME)))
def test_any_bit_behind_the_ethernet_header_that_is_turned_over_is_seen_and_which(
    draw: int, number: int, size: int
) -> None:
    sound = frame(number, 123, size, "uplink")
    off = fate.damaged(sound, draw)
    assert number_of(sound) == number
    assert number_of(off) is None
    assert differences([(number, draw)], [off]) == 0
    assert differences([(number, draw + 1)], [off]) == 2
    assert differences([(number + 1, draw)], [off]) == 2
    assert differences([], [off]) == differences([(number, draw)], []) == 1
