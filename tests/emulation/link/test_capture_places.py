"""Where captures see packets: at a station's port before the air on their way up and behind it on their way down."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulated_links import link, path

from emulation.link.capture import SETTLE_S, PortCapture, Tap, captured
from emulation.profile.direction import FULL_FRAME
from records.directions import DIRECTIONS, Direction
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

FRAMES, RATE = 10, 1e6
AIRTIME_S = FULL_FRAME * 8 / RATE


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=1, congestion_control="reno") as built:
        yield built


def seen(network: Network, folder: Path, direction: Direction, rate: float | None) -> tuple[float, float]:
    """From the first to the last of a burst's frames (s), where they come in and where they go out."""
    station, wired = network.ports.stations["sta1"], network.ports.wired
    ports = (station, wired) if direction == "uplink" else (wired, station)
    taps = [Tap(pid=network.ports.pid, port=port) for port in ports]
    with (
        link(network, rate=rate),
        captured(taps, folder, logs=folder, snap_bytes=64) as captures,
        path(network, direction) as probe,
    ):
        probe.send([FULL_FRAME] * FRAMES)
        time.sleep(SETTLE_S)
    came, went = (stamps(one) for one in captures)
    assert len(came) == len(went) == FRAMES, "each once, before and behind the air"
    return came[-1] - came[0], went[-1] - went[0]


def stamps(capture: PortCapture) -> list[float]:
    """When each packet passed, in seconds."""
    data, at, found = capture.path.read_bytes(), 24, []
    while at < len(data):
        seconds, nanoseconds, size, _ = struct.unpack_from("<IIII", data, at)
        found.append(seconds + nanoseconds / 1e9)
        at += 16 + size
    return found


def are_before_and_behind(came: float, went: float) -> bool:
    # Two frames pass at once, and one more while a burst is being sent that a stall makes long.
    return came < 3 * AIRTIME_S and went > (FRAMES - 4) * AIRTIME_S


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_burst_is_together_where_it_comes_in_and_apart_where_it_goes_out(
    network: Network, tmp_path: Path, direction: Direction
) -> None:
    found: list[tuple[float, float]] = []
    while len(found) < 5 and not (found and are_before_and_behind(*found[-1])):
        found.append(seen(network, tmp_path, direction, RATE))
    assert are_before_and_behind(*found[-1]), found


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_an_air_it_is_together_at_both(network: Network, tmp_path: Path, direction: Direction) -> None:
    assert not are_before_and_behind(*seen(network, tmp_path, direction, None))
