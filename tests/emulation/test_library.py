from __future__ import annotations

from pathlib import Path

import pytest

from emulation import library
from emulation.library import ProfileError

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("name", library.names())
def test_every_profile_of_the_library_is_sound_and_says_where_its_figures_come_from(name: str) -> None:
    profile = library.load(name)
    assert profile.name == name
    assert len(profile.source) > 20


def test_the_study_channel_is_as_published() -> None:
    profile = library.load("nistnet-80211")
    assert profile.medium == "shared"
    for side in (profile.uplink, profile.downlink):
        assert (side.rate, side.loss, side.delay) == (1e6, 0.03, 0)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="wireline-100m"):
        library.load("wireline")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("profile-loss-above-one", r"profile\.yaml: uplink\.loss: 1\.01: .*less than 1"),
        ("profile-rate-zero", r"uplink\.rate: 0: .*greater than or equal to 8000"),
        ("profile-misspelt-key", r"los: 0\.03: unknown key; known are .*loss"),
        ("profile-not-yaml", r"not YAML"),
    ],
)
def test_a_bad_profile_is_refused_with_file_key_and_value(folder: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        library.load("profile.yaml", beside=FIXTURES / folder)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ProfileError, match=r"nowhere\.yaml: No such file"):
        library.load("nowhere.yaml")
