"""Fates by packet number: the same everywhere, in the shares asked for, and independent of one another's settings."""

from __future__ import annotations

from collections import Counter
from hashlib import shake_128
from itertools import pairwise
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.line.draws import WORDS, Draws, threshold
from emulation.line.fate import Fate, Odds, damaged, digest, fates
from emulation.profile.direction import DirectionProfile, JitterTable

RICH = DirectionProfile(
    delay=0.02, jitter=0.005, jitter_distribution="pareto", duplicate=0.02, corrupt=0.01, reorder=0.05
)


PINNED = "16c6644d5b28b40575922f8fa342fc2e222ac5136d7edbc3da2f0c8249118bb3"


def some(settings: DirectionProfile, packets: int = 20_000, seed: int = 7) -> list[Fate]:
    return list(fates(settings, seed=seed, name="sta1-uplink", packets=packets))


@given(st.integers(0, 2**63), st.integers(0, 10**7))
def test_a_packets_draws_depend_on_seed_name_and_number_alone(seed: int, number: int) -> None:
    """Written down a second time, from the docstring."""
    block = shake_128(f"airwire-line-1|{seed}|up|{number // 256}".encode()).digest(256 * WORDS * 4)
    at = number % 256 * WORDS * 4
    expected = tuple(int.from_bytes(block[at + 4 * k : at + 4 * k + 4], "little") for k in range(WORDS))
    draws = Draws(seed, "up")
    draws.of(number + 1000)
    assert draws.of(number) == expected


def test_the_fates_of_a_seed_are_the_same_on_every_machine() -> None:
    """The digest was computed once; another value means that recorded trials can no longer be replayed."""
    names = {"sta1-uplink": RICH, "sta1-downlink": DirectionProfile(delay=0.01)}
    assert digest(names, seed=1, packets=1000) == PINNED
    assert digest(names, seed=2, packets=1000) != PINNED


def test_each_thing_happens_as_often_as_asked() -> None:
    found = some(RICH, 100_000)
    for share, seen in (
        (0.02, sum(one.copy_ns is not None for one in found)),
        (0.01, sum(one.damage is not None for one in found)),
        (0.05, sum(one.overtakes for one in found)),
    ):
        deviation = (share * (1 - share) / len(found)) ** 0.5
        assert seen / len(found) == pytest.approx(share, abs=4 * deviation)


@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto", JitterTable(values=(-8192, 8192))])
def test_delays_have_the_mean_and_the_deviation_asked_for(distribution: str | JitterTable) -> None:
    settings = DirectionProfile(delay=0.05, jitter=0.004, jitter_distribution=distribution)  # type: ignore[arg-type]
    delays = [one.delay_ns / 1e9 for one in some(settings)]
    deviation = 0.004 / 3**0.5 if distribution == "uniform" else 0.004
    assert fmean(delays) == pytest.approx(0.05, abs=4 * deviation / len(delays) ** 0.5)
    assert pstdev(delays) == pytest.approx(deviation, rel=0.1 if distribution == "pareto" else 0.03)


def test_no_delay_is_negative() -> None:
    settings = DirectionProfile(delay=0.001, jitter=0.004, allow_jitter_beyond_delay=True)
    delays = [one.delay_ns for one in some(settings)]
    assert min(delays) == 0
    assert max(delays) <= 5_000_000


@pytest.mark.parametrize("change", [{"duplicate": 0.5}, {"corrupt": 0.5}, {"reorder": 0.0}, {"jitter": 0.001}])
def test_changing_one_setting_moves_no_other_draw(change: dict[str, float]) -> None:
    (changed,) = change
    mine = {"duplicate": "copy_ns", "corrupt": "damage", "reorder": "overtakes", "jitter": "delay_ns"}
    before, after = some(RICH, 3000), some(RICH.model_copy(update=change), 3000)
    assert before != after
    for one, other in zip(before, after, strict=True):
        for setting, field in mine.items():
            if setting == changed or (changed, setting) in (("reorder", "jitter"), ("jitter", "duplicate")):
                continue
            assert getattr(one, field) == getattr(other, field), setting


def test_packets_and_purposes_are_independent() -> None:
    found = some(DirectionProfile(delay=0.02, duplicate=0.5, corrupt=0.5), 40_000)
    both = Counter((one.copy_ns is not None, one.damage is not None) for one in found)
    assert [count / len(found) for count in both.values()] == pytest.approx([0.25] * 4, abs=0.01)
    again = sum(a.copy_ns is not None and b.copy_ns is not None for a, b in pairwise(found))
    assert again / len(found) == pytest.approx(0.25, abs=0.01)


def test_where_nothing_is_left_to_chance_nothing_is_drawn() -> None:
    odds = Odds(DirectionProfile(delay=0.02))
    assert odds.plain
    assert odds.fate(Draws(1, "x"), 5) == odds.usual == Fate(20_000_000)


@given(st.binary(min_size=0, max_size=200), st.integers(0, 2**32 - 1))
def test_damage_turns_over_one_bit_behind_the_ethernet_header(frame: bytes, draw: int) -> None:
    found = damaged(frame, draw)
    assert (len(found), found[:14]) == (len(frame), frame[:14])
    turned = sum((a ^ b).bit_count() for a, b in zip(found, frame, strict=True))
    assert turned == (1 if len(frame) > 14 else 0)


def test_thresholds_cover_nothing_and_all() -> None:
    assert (threshold(0.0), threshold(1.0), threshold(0.5)) == (0, 1 << 32, 1 << 31)
