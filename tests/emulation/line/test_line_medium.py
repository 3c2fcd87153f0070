"""Frames through the line's medium in virtual time: queue, air, losses, delay, order, copies, from port to port."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from emulation.line.air import NEVER, Air, Price, Sender, price
from emulation.line.medium import WIRED, Counted, Lane, Medium
from emulation.plan.loss import SeededLosses
from emulation.profile.direction import DirectionProfile

MS = 10**6
SERVER = bytes([2, 0, 0, 0, 1, 0])


def mac(station: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, station])


def frame(to: bytes, size: int = 125, number: int = 0, kind: bytes = b"\x08\x00") -> bytes:
    return to + bytes(6) + kind + number.to_bytes(4, "big") + bytes(size - 18)


class World:
    """A medium of two stations whose lanes have settings of their own; a rate of None in all: no air."""

    def __init__(
        self, *, shared: bool = True, lost: tuple[int, ...] = (), stations: int = 2, **settings: object
    ) -> None:
        self.settings = DirectionProfile.model_validate({"rate": 1e6} | settings)
        airs: list[Air[Lane]] = []

        def air() -> Air[Lane]:
            airs.append(Air(lambda now, lane, data: self.medium.left(now, lane, data)))  # noqa: PLW0108 - there is no medium yet
            return airs[-1]

        self.lists: dict[str, Counted] = {}
        one, queue = (air() if shared else None), Sender(limit_bytes=150_000)
        self.lanes: dict[str, list[Lane]] = {"up": [], "down": []}
        for way, lanes in self.lanes.items():
            for station in range(1, stations + 1):
                name = way if shared else f"{way}-{station}"
                if name not in self.lists:
                    self.lists[name] = Counted(
                        SeededLosses(direction="uplink", model="made", share=0, seed=1, modulus=100, station=name,
                                     indices=np.array(lost, dtype=np.int64))
                    )  # fmt: skip
                lane = Lane(
                    station=station, port=WIRED if way == "up" else station, air=one or air(),
                    sender=queue if shared else Sender(limit_bytes=150_000),
                )  # fmt: skip
                lane.set(self.settings, self.price(), self.lists[name], dark=False)
                lanes.append(lane)
        self.medium = Medium(
            up=self.lanes["up"], down=self.lanes["down"], airs=airs,
            stations={mac(station): station for station in range(1, stations + 1)},
        )  # fmt: skip
        self.airs = airs

    def darken(self, dark: bool) -> None:
        for lane in self.lanes["up"]:
            lane.dark = dark

    def price(self) -> Price:
        return price(self.settings.rate, self.settings.frame_overhead)

    def run(self, until: int = NEVER - 1) -> list[tuple[int, int, bytes]]:
        """What comes out until a moment, or until nothing is left."""
        found: list[tuple[int, int, bytes]] = []
        while (due := self.medium.due()) <= until:
            self.medium.advance(due)
            found += self.medium.come_out(due)
        return found


def test_up_and_down_a_frame_pays_its_time_and_its_delay() -> None:
    world = World(delay=0.005)
    world.medium.arrive(0, 1, frame(SERVER))
    world.medium.arrive(0, WIRED, frame(mac(2)))
    assert [(now, port) for now, port, _ in world.run()] == [(6 * MS, WIRED), (7 * MS, 2)]


def test_on_a_duplex_link_no_direction_and_no_station_waits_for_another() -> None:
    world = World(shared=False)
    for port, to in ((1, SERVER), (2, SERVER), (WIRED, mac(1)), (WIRED, mac(2))):
        world.medium.arrive(0, port, frame(to))
    assert {now for now, _, _ in world.run()} == {MS}


def test_from_station_to_station_a_frame_goes_up_and_down_and_pays_both() -> None:
    world = World(delay=0.005)
    world.medium.arrive(0, 1, frame(mac(2)))
    assert [(now, port) for now, port, _ in world.run()] == [(12 * MS, 2)]
    assert world.airs[0].sent == 2


def test_what_goes_down_again_waits_behind_what_came_before_it_and_not_behind_what_comes_after() -> None:
    """A late caller: the frame from the wired side arrives at 20 ms, when the one from station 1 was long on air."""
    world = World(delay=0.005)
    world.medium.arrive(0, 1, frame(mac(2), number=1))
    world.medium.arrive(20 * MS, WIRED, frame(mac(2), number=2))
    assert [now for now, _, _ in world.run()] == [12 * MS, 26 * MS]


def test_a_group_hears_a_frame_all_but_who_sent_it() -> None:
    world = World(stations=3)
    world.medium.arrive(0, 1, frame(bytes([255] * 6), kind=b"\x08\x06"))
    world.medium.arrive(10 * MS, WIRED, frame(bytes([255] * 6), kind=b"\x08\x06"))
    assert Counter(port for _, port, _ in world.run()) == {WIRED: 1, 2: 2, 3: 2, 1: 1}


def test_a_frame_to_who_is_not_there_is_for_the_wired_side() -> None:
    world = World()
    world.medium.arrive(0, 1, frame(bytes([2, 9, 9, 9, 9, 9])))
    world.medium.arrive(0, WIRED, frame(bytes([2, 9, 9, 9, 9, 9])))
    assert [port for _, port, _ in world.run()] == [WIRED]


@pytest.mark.parametrize("shared", [True, False])
def test_the_packets_of_the_list_are_lost_and_what_found_the_queue_full_has_no_number(shared: bool) -> None:
    world = World(shared=shared, lost=(0, 3, 4), queue_packets=2, rate=1e6)
    for lane in world.lanes["up"]:
        lane.sender.limit_packets, lane.sender.limit_bytes = 5, None
    for number in range(9):
        world.medium.arrive(0, 1, frame(SERVER, number=number))
    came = [int.from_bytes(data[14:18], "big") for _, _, data in world.run()]
    assert came == [1, 2, 5]
    count = world.lists["up" if shared else "up-1"]
    assert (count.seen, count.dropped, world.lanes["up"][0].air.overflowed) == (6, 3, 3)  # type: ignore[union-attr]


def test_an_outage_counts_and_loses_everything() -> None:
    world = World(lost=(7,))
    for number in range(10):
        world.medium.arrive(number * 2 * MS, 1, frame(SERVER, number=number))
        if number in (2, 6):
            dark = number == 2
            world.medium.change(
                (number * 2 + 1) * MS + 1,
                partial(world.darken, dark),
                {},
            )
    came = [int.from_bytes(data[14:18], "big") for _, _, data in world.run()]
    assert came == [0, 1, 2, 8, 9]
    count = world.lists["up"]
    assert (count.seen, count.dark, count.dropped) == (10, 4, 1)


def test_other_frames_than_ip_are_not_numbered_and_not_lost() -> None:
    world = World(lost=tuple(range(100)))
    world.medium.arrive(0, 1, frame(SERVER, kind=b"\x08\x06"))
    assert len(world.run()) == 1
    assert world.lists["up"].seen == 0


def moments(world: World, packets: int) -> list[tuple[int, int]]:
    for number in range(packets):
        world.medium.arrive(number * 2 * MS, 1, frame(SERVER, number=number))
    return [(now, int.from_bytes(data[14:18], "big")) for now, _, data in world.run()]


def test_order_is_kept_or_not_as_asked() -> None:
    kept = moments(World(delay=0.02, jitter=0.02), 300)
    free = moments(World(delay=0.02, jitter=0.02, keep_order=False), 300)
    assert [number for _, number in kept] == list(range(300))
    assert [number for _, number in free] != list(range(300))
    assert sorted(number for _, number in free) == list(range(300))
    # Keeping order makes packets later, never sooner.
    assert all(
        now >= then for (now, _), then in zip(kept, (one for one, _ in sorted(free, key=lambda x: x[1])), strict=True)
    )


def test_copies_and_those_that_overtake_arrive() -> None:
    came = moments(World(delay=0.05, duplicate=0.2, reorder=0.2), 500)
    seen = Counter(number for _, number in came)
    assert set(seen) == set(range(500))
    assert set(seen.values()) == {1, 2}
    at_once = {number for now, number in came if now == number * 2 * MS + MS}
    assert len(at_once) == pytest.approx(100, abs=40)


def test_two_runs_agree_in_everything_whatever_the_pace_of_the_caller() -> None:
    """The same arrivals; once the caller looks at every event, once only when the next frame arrives."""
    settings: dict[str, Any] = {"delay": 0.02, "jitter": 0.01, "duplicate": 0.1, "corrupt": 0.1, "keep_order": False}
    lazy = World(lost=(3, 50), **settings)
    eager = World(lost=(3, 50), **settings)
    found = []
    for number in range(200):
        now = number * 3 * MS
        lazy.medium.arrive(now, 1 + number % 2, frame(mac(1 + (number + 1) % 2), number=number))
        found += eager.run(now - 1)
        eager.medium.arrive(now, 1 + number % 2, frame(mac(1 + (number + 1) % 2), number=number))
    found += eager.run()
    assert found == lazy.run()
    assert len(found) > 180
