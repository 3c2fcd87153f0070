from __future__ import annotations

from itertools import pairwise
from math import cos, radians, sin, sqrt
from pathlib import Path

import pytest

from emulation.profile import library
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.library import ProfileError
from emulation.profile.lossmodel import GilbertElliott
from emulation.profile.timeline import states

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIGHT_KM_S = 299_792.458
SHARED = {
    "nistnet-80211",
    "80211b-1m",
    "80211b-2m",
    "80211b-5.5m",
    "80211b-11m",
    "80211g-good",
    "80211g-poor",
    "80211n-good",
    "80211n-poor",
    "bluetooth-le",
    "bursty-interference",
}
CELLULAR = ("gprs", "edge", "3g", "lte", "5g")  # by age
DUPLEX = {
    "wireline-10m",
    "wireline-100m",
    "wireline-1g",
    *CELLULAR,
    "geo-satellite",
    "leo-satellite",
    "vehicle-handover",
    "transcontinental-wire",
    "stepped-trace",
}


def both(name: str) -> tuple[DirectionProfile, DirectionProfile]:
    profile = library.load(name)
    return profile.uplink, profile.downlink


def throughput_mbit_s(name: str, frame_bytes: int = FULL_FRAME) -> float:
    return frame_bytes * 8 / library.load(name).downlink.airtime(frame_bytes) / 1e6


def test_the_library_is_complete() -> None:
    assert set(library.names()) >= SHARED | DUPLEX


@pytest.mark.parametrize("name", library.names())
def test_every_profile_of_the_library_is_sound_and_says_where_its_figures_come_from(name: str) -> None:
    profile = library.load(name)
    assert profile.name == name
    assert len(profile.source) > 20
    assert "\n" not in profile.description
    assert len(profile.description) <= 110
    for sides in profile.all_sides().values():
        assert max(sides.uplink.loss_share, sides.downlink.loss_share) < 0.2
        assert max(sides.uplink.delay, sides.downlink.delay) < 1


@pytest.mark.parametrize("name", library.names())
def test_every_profile_of_the_library_says_what_its_queue_is(name: str) -> None:
    for side in both(name):
        assert side.rate is not None
        assert {"queue_bytes", "queue_packets", "queue_time"} & side.model_fields_set
        assert side.queue_limit_bytes * 8 / side.rate <= 5, "seconds of queue"


@pytest.mark.parametrize("name", sorted(SHARED | DUPLEX))
def test_radio_channels_are_shared_and_links_with_two_channels_are_not(name: str) -> None:
    assert library.load(name).medium == ("shared" if name in SHARED else "duplex")


def test_the_study_channel_is_as_published() -> None:
    profile = library.load("nistnet-80211")
    assert profile.medium == "shared"
    for side in (profile.uplink, profile.downlink):
        assert (side.rate, side.loss, side.delay) == (1e6, 0.03, 0)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("wireline-10m", 9.8, 9.9),
        ("wireline-1g", 980, 990),
        ("80211b-1m", 0.9, 0.94),
        ("80211b-2m", 1.7, 1.8),
        ("80211b-5.5m", 3.8, 4.1),
        ("80211b-11m", 5.5, 6.5),
        ("80211g-good", 29, 32),
        ("80211g-poor", 4, 5),
        ("80211n-good", 100, 120),
        ("80211n-poor", 10, 11),
        ("bluetooth-le", 0.6, 0.8),
    ],
)
def test_full_frames_reach_the_throughput_of_the_textbook(name: str, least: float, most: float) -> None:
    assert least < throughput_mbit_s(name) < most


def test_small_frames_waste_the_channel() -> None:
    assert throughput_mbit_s("80211b-11m", 64) < 0.1 * 11


@pytest.mark.parametrize(
    ("name", "rate", "ack_us"), [("1m", 1, 304), ("2m", 2, 248), ("5.5m", 5.5, 248), ("11m", 11, 248)]
)
def test_802_11b_pays_for_waiting_preamble_headers_and_acknowledgement(name: str, rate: float, ack_us: float) -> None:
    difs, backoff, preamble, headers, sifs = 50, 31 / 2 * 20, 192, 22 * 8 / rate, 10
    (side, _) = both(f"80211b-{name}")
    assert side.rate == rate * 1e6
    assert side.frame_overhead == pytest.approx((difs + backoff + preamble + headers + sifs + ack_us) * 1e-6, abs=1e-6)


def test_retries_of_a_poor_cell_are_paid_in_air_time_and_seldom_in_loss() -> None:
    attempts, failing = 7, 0.5
    (side, _) = both("80211g-poor")
    made = [failing**retry for retry in range(attempts)]
    backoffs = [min(16 << retry, 1024) - 1 for retry in range(attempts)]
    fixed = 28 + 20 + (22 + 22 * 8) / 12 + 2 + 6 + 10 + 38
    overhead = sum(chance * (fixed + window / 2 * 9) for chance, window in zip(made, backoffs, strict=True))
    assert side.rate == pytest.approx(12e6 / sum(made), rel=1e-3)
    assert side.frame_overhead == pytest.approx(overhead * 1e-6, rel=1e-3)
    assert side.loss_share == pytest.approx(failing**attempts, rel=0.05)


def test_newer_cellular_links_are_faster_and_nearer_and_lose_no_more() -> None:
    for older, newer in pairwise(CELLULAR):
        for was, now in zip(both(older), both(newer), strict=True):
            assert was.rate is not None
            assert now.rate is not None
            assert now.rate > 2 * was.rate
            assert now.delay < was.delay
            assert now.loss_share <= was.loss_share


@pytest.mark.parametrize("name", CELLULAR)
def test_cellular_links_are_asymmetric_and_repair_their_losses(name: str) -> None:
    up, down = both(name)
    assert up.rate is not None
    assert down.rate is not None
    assert up.rate < down.rate
    assert up.delay >= down.delay
    assert down.loss_share <= 1e-3


def slant_km(altitude_km: float, elevation_degrees: float, radius_km: float) -> float:
    across = radius_km * cos(radians(elevation_degrees))
    return sqrt((radius_km + altitude_km) ** 2 - across**2) - radius_km * sin(radians(elevation_degrees))


def test_a_geostationary_satellite_is_as_far_as_light_says() -> None:
    for side in both("geo-satellite"):
        assert side.delay > 2 * 35_786 / LIGHT_KM_S
        assert side.delay - 2 * slant_km(35_786, 30, 6378) / LIGHT_KM_S == pytest.approx(0.0124, abs=1e-4)


def test_a_new_low_satellite_comes_every_15_seconds() -> None:
    profile = library.load("leo-satellite")
    assert [event.at for event in profile.timeline] == [12 + 15 * number for number in range(20)]
    ends = [step for step in states(profile, until_s=45) if step.label == "handover ends"]
    assert [step.state.sides[0].downlink.delay for step in ends] == [0.023, 0.020, 0.023]
    farther = 2 * (slant_km(550, 25, 6371) - slant_km(550, 60, 6371)) / LIGHT_KM_S
    assert farther == pytest.approx(0.003, abs=0.0005)


def test_a_vehicle_keeps_its_link_but_for_one_gap() -> None:
    profile = library.load("vehicle-handover")
    assert (profile.uplink, profile.downlink) == both("lte")
    steps = states(profile, until_s=90)
    dark = [(step.at_s, step.state.dark) for step in steps if step.label.startswith("outage")]
    assert dark == [(38, True), (pytest.approx(45.2), False)]
    assert sum(step.label == "handover begins" for step in steps) == 4
    assert {step.state.sides[0].downlink.rate for step in steps} == {6e6, 30e6}
    assert steps[-1].state.sides[0] == profile.sides()


def test_interference_comes_in_bursts_on_an_otherwise_good_channel() -> None:
    (side, _), (good, _) = both("bursty-interference"), both("80211g-good")
    assert (side.rate, side.frame_overhead) == (good.rate, good.frame_overhead)
    assert isinstance(side.loss, GilbertElliott)
    mean_packets_of_a_burst = 1 / side.loss.r
    assert mean_packets_of_a_burst * side.airtime(FULL_FRAME) == pytest.approx(0.010, rel=0.05)
    assert side.loss_share == pytest.approx(0.024, abs=0.001)


def test_fibre_is_as_long_as_its_delay() -> None:
    for side in both("transcontinental-wire"):
        assert side.delay == pytest.approx(1.3 * 6200 * 5e-6, abs=1e-4)


def test_the_stepped_trace_is_what_its_formula_says() -> None:
    event = library.load("stepped-trace").timeline[0]
    assert event.trace is not None
    assert event.trace.downlink is not None
    expected = []
    for number, spacing in enumerate((2, 4, 10, 20, 10, 4)):
        expected += [3000 * number + spacing * chance for chance in range(1, 3000 // spacing + 1)]
    assert list(event.trace.downlink.opportunities_ms) == expected
    counts = event.trace.downlink.counts(step_s=3, until_s=18)
    assert [round(count * 1500 * 8 / 3e6, 1) for count in counts] == [6, 3, 1.2, 0.6, 1.2, 3]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="wireline-100m"):
        library.load("wireline")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("profile-loss-above-one", r"profile\.yaml:6: loss: 1\.01: .*less than 1$"),
        ("profile-rate-zero", r":5: rate: 0: has to be 8000 or more"),
        ("profile-misspelt-key", r":5: los: 0\.03: unknown key; known are .*loss"),
        ("profile-not-yaml", r"profile\.yaml:2: not YAML"),
    ],
)
def test_a_bad_profile_is_refused_with_file_key_and_value(folder: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        library.load("profile.yaml", beside=FIXTURES / folder)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ProfileError, match=r"nowhere\.yaml: No such file"):
        library.load("nowhere.yaml")


HEAD = "name: mine\ndescription: d\nsource: s\nmedium: duplex\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate: 1 Mbit/s\nuplink:\n  rate: fast", r":7: uplink\.rate: 'fast': .* is not a rate such as '1 Mbit/s'"),
        ("uplink: {delay: 1}\ndelay: -1", r":6: delay: -1: .*has to be 0 or more$"),
        ("stations:\n  sta2:\n    loss: 2", r":7: stations\.sta2\.loss: 2: .*less than 1$"),
        ("stations:\n  sta2:\n    downlink: {loss: 2}", r":7: stations\.sta2\.downlink\.loss: 2: .*less than 1$"),
        ("loss:\n  model: gilbert-elliott\n  p: 0.1\n  r: 0", r":8: loss\.r: 0: has to be more than 0$"),
        (
            "timeline:\n  - {at: 1, outage: 1}\n  - {at: 5, outage: 0}",
            r":7: timeline\.1\.outage: 0: has to be more than 0$",
        ),
        ("rate: 1 Mbit/s\nrate: 2 Mbit/s", r":6: the key 'rate' is given twice$"),
        ("2005-02-30: 1", r":5: '2005-02-30': day is out of range for month; put it in quotes if it is text$"),
        ("rate: !!int x", r":5: 'x': .*invalid literal"),
        ("rate: !!bool maybe", r":5: 'maybe': .*put it in quotes"),
        ("uplink:\n  delay: 1\n  delay: 2", r":7: the key 'delay' is given twice$"),
        ("loss:\n  lost: no.txt\n  model: recorded\n  packets: 9", r":5: loss: .*no\.txt: No such file or directory$"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + text)
    with pytest.raises(ProfileError, match=rf"^{path}{message}"):
        library.read(path)


def test_each_mistake_has_a_line_of_its_own_and_a_common_one_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + "loss: 2\ndelay: -1\n")
    with pytest.raises(ProfileError) as caught:
        library.read(path)
    assert [line.split(": ")[:2] for line in str(caught.value).splitlines()] == [
        [f"{path}:5", "loss"],
        [f"{path}:6", "delay"],
    ]


def test_a_mistake_in_a_profile_that_a_handover_leads_to_is_told_with_both_lines(tmp_path: Path) -> None:
    (tmp_path / "next.yaml").write_text(HEAD + "loss: 2\n")
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + "timeline:\n  - at: 1\n    handover: {lasts: 1, to: next.yaml}\n")
    with pytest.raises(ProfileError, match=rf"^{path}:7: timeline\.0\.handover: {tmp_path}/next\.yaml:5: loss: 2"):
        library.read(path)
