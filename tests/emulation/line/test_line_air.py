"""The line's capacity in virtual time, against recursions and sums written down independently of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.line.air import NEVER, Air, Price, Sender, price


@dataclass
class Lane:
    sender: Sender
    price: Price
    name: str = ""


@dataclass
class Ends:
    """What an air has finished: moment, lane's name, frame."""

    seen: list[tuple[int, str, bytes]] = field(default_factory=list)

    def __call__(self, now: int, lane: object, data: bytes) -> None:
        assert isinstance(lane, Lane)
        self.seen.append((now, lane.name, data))


def to_the_end(air: Air[Lane]) -> None:
    while (due := air.due()) != NEVER:
        air.advance(due)


def test_an_idle_air_takes_the_time_of_the_whole_frame() -> None:
    """100 bytes at 1 Mbit/s take 0.8 ms, a full frame 12.112 ms, and 0.3 ms of overhead come on top."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    plain, dear = (Lane(Sender(), price(1e6, overhead)) for overhead in (0.0, 300e-6))
    for now, lane, size in ((0, plain, 100), (10**9, plain, 1514), (2 * 10**9, dear, 100)):
        assert air.arrive(now, lane, bytes(size))
        to_the_end(air)
    assert [now for now, _, _ in ends.seen] == [800_000, 10**9 + 12_112_000, 2 * 10**9 + 1_100_000]


frames = st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(60, 1514)), min_size=1, max_size=60)


@given(frames, st.integers(100_000, 50_000_000), st.integers(0, 500_000))
def test_one_sender_obeys_lindleys_recursion(gaps: list[tuple[int, int]], rate: int, overhead: int) -> None:
    """Each frame ends its airtime after the later of its arrival and the end of the one before it (Lindley 1952)."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(), price(rate, overhead / 1e9))
    now, expected, before = 0, [], 0
    for gap, size in gaps:
        now += gap
        air.arrive(now, lane, bytes(size))
        before = max(now, before) + lane.price.of(size)
        expected.append(before)
    to_the_end(air)
    assert [moment for moment, _, _ in ends.seen] == expected


@given(frames, st.integers(1, 4), st.randoms(use_true_random=False), st.sampled_from(["packets", "airtime"]))
def test_no_frame_is_lost_doubled_or_overtaken_and_the_air_never_rests(
    gaps: list[tuple[int, int]], senders: int, random: Random, turns: str
) -> None:
    """Conservation: what arrived ends or had no room; in order for each sender; and the air is busy while one waits."""
    ends = Ends()
    air: Air[Lane] = Air(ends, turns=turns)  # type: ignore[arg-type]
    lanes = [Lane(Sender(limit_packets=5), price(1e6, 0.0), str(number)) for number in range(senders)]
    taken: dict[str, list[bytes]] = {lane.name: [] for lane in lanes}
    now = refused = 0
    arrivals, sizes = [], []
    for number, (gap, size) in enumerate(gaps):
        now += gap
        lane = random.choice(lanes)
        data = number.to_bytes(4, "big") + bytes(size - 4)
        if air.arrive(now, lane, data):
            taken[lane.name].append(data)
            arrivals.append(now)
            sizes.append(size)
        else:
            refused += 1
    to_the_end(air)
    assert air.overflowed == refused
    assert (air.sent, air.sent_bytes) == (len(ends.seen), sum(sizes))
    for lane in lanes:
        assert [data for _, name, data in ends.seen if name == lane.name] == taken[lane.name]
    # The same work in any order: the last frame ends when a single queue would have ended.
    end = 0
    for moment, size in zip(arrivals, sizes, strict=True):
        end = max(end, moment) + lanes[0].price.of(size)
    assert max((moment for moment, _, _ in ends.seen), default=0) == end


def test_what_waits_is_limited_in_bytes_or_in_packets_and_the_frame_on_air_does_not_wait() -> None:
    for sender, waiting in ((Sender(limit_bytes=3028), 2), (Sender(limit_packets=7), 7)):
        air: Air[Lane] = Air(Ends())
        lane = Lane(sender, price(1e6, 0.0))
        fitted = sum(air.arrive(0, lane, bytes(1514)) for _ in range(20))
        assert fitted == waiting + 1
        assert (air.overflowed, air.backlog_bytes()) == (20 - fitted, waiting * 1514)


def served(turns: str, sizes: tuple[int, ...], *, until: int) -> Counter[str]:
    """Bytes that senders with these sizes of frames, who always have some, get through in a time."""
    ends = Ends()
    air: Air[Lane] = Air(ends, turns=turns)  # type: ignore[arg-type]
    lanes = [Lane(Sender(limit_packets=2), price(1e6, 0.0), str(size)) for size in sizes]
    now = 0
    while now < until:
        for lane in lanes:
            while lane.sender.has_room(1):
                air.arrive(now, lane, bytes(int(lane.name)))
        now = air.due()
        air.advance(now)
    found: Counter[str] = Counter()
    for _, name, data in ends.seen:
        found[name] += len(data)
    return found


def test_senders_take_turns_by_packets_or_by_airtime() -> None:
    packets = served("packets", (1500, 500, 100), until=10**10)
    assert [packets[name] / int(name) for name in ("1500", "500", "100")] == pytest.approx(
        [packets["100"] / 100] * 3, abs=1.1
    )
    airtime = served("airtime", (1500, 500, 100), until=10**10)
    assert [airtime[name] for name in ("1500", "500", "100")] == pytest.approx([airtime["100"]] * 3, rel=0.01)


def test_who_comes_back_has_saved_nothing_up() -> None:
    """A sender that was away takes every second turn when it comes back, not all of them."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    first, second = (Lane(Sender(), price(1e6, 0.0), name) for name in ("first", "second"))
    for _ in range(200):
        air.arrive(0, first, bytes(125))
    air.advance(100 * 10**6)
    before = len(ends.seen)
    for _ in range(50):
        air.arrive(100 * 10**6, second, bytes(125))
    to_the_end(air)
    names = [name for _, name, _ in ends.seen[before + 1 : before + 41]]
    assert Counter(names) == {"first": 20, "second": 20}


def test_a_senders_own_capacity_limits_it_and_leaves_the_air_to_others() -> None:
    """One of 1 Mbit/s and one without a limit on an air of 10: 1 and 9 Mbit/s."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    slow = Lane(Sender(own=price(1e6, 0.0), limit_packets=3), price(10e6, 0.0), "slow")
    free = Lane(Sender(limit_packets=3), price(10e6, 0.0), "free")
    now = 0
    while now < 5 * 10**9:
        for lane in (slow, free):
            while lane.sender.has_room(1):
                air.arrive(now, lane, bytes(1250))
        now = air.due()
        air.advance(now)
    sizes = Counter(name for _, name, _ in ends.seen)
    assert sizes["slow"] * 10_000 / 5 == pytest.approx(1e6, rel=0.001)
    assert sizes["free"] * 10_000 / 5 == pytest.approx(9e6, rel=0.001)


def test_an_air_with_limited_senders_only_rests_until_one_is_ready() -> None:
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(own=price(1e6, 0.0)), price(100e6, 0.0))
    for _ in range(3):
        assert air.arrive(0, lane, bytes(1250))
    to_the_end(air)
    assert [now for now, _, _ in ends.seen] == [100_000, 10_100_000, 20_100_000]


def test_a_change_of_rate_in_mid_frame_is_shared_out() -> None:
    """Half a frame at 1 Mbit/s, the other half at 2; overhead that has begun is what it was."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(), price(1e6, 0.001))

    def faster() -> None:
        lane.price = price(2e6, 0.004)

    air.arrive(0, lane, bytes(1250))
    air.change(6_000_000, faster)  # 1 ms of overhead and 5 of 10 ms
    to_the_end(air)
    air.arrive(10**9, lane, bytes(1250))
    to_the_end(air)
    assert [now for now, _, _ in ends.seen] == [8_500_000, 10**9 + 9_000_000]


@given(st.lists(st.tuples(st.integers(1, 5_000_000), st.integers(100_000, 10_000_000)), min_size=1, max_size=20))
def test_however_often_the_rate_changes_the_bits_of_a_frame_are_sent_once(changes: list[tuple[int, int]]) -> None:
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(), price(1e6, 0.0))
    air.arrive(0, lane, bytes(1514))
    now, rate, left = 0, 1e6, 1514 * 8.0
    end = None
    for gap, new in changes:
        if end is None and left / rate * 1e9 <= gap:
            end = now + left / rate * 1e9
        left -= gap * rate / 1e9
        now, rate = now + gap, float(new)
        air.change(now, lambda rate=rate: setattr(lane, "price", price(rate, 0.0)))  # type: ignore[misc]
    to_the_end(air)
    expected = end if end is not None else now + left / rate * 1e9
    assert [moment for moment, _, _ in ends.seen] == [pytest.approx(expected, abs=len(changes) + 1)]


def test_a_held_air_keeps_what_it_has_and_goes_on_where_it_was() -> None:
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(), price(1e6, 0.0))
    for _ in range(2):
        air.arrive(0, lane, bytes(125))  # 1 ms each
    air.change(250_000, lambda: None, held=True)
    assert air.due() == NEVER
    air.arrive(3_000_000, lane, bytes(125))
    air.change(5_000_000, lambda: None)
    to_the_end(air)
    assert [now for now, _, _ in ends.seen] == [5_750_000, 6_750_000, 7_750_000]
    air.change(9_000_000, lambda: None, held=True)
    air.arrive(9_500_000, lane, bytes(125))
    air.change(10_000_000, lambda: None)
    to_the_end(air)
    assert ends.seen[-1][0] == 11_000_000


def test_an_unlimited_air_takes_no_time() -> None:
    ends = Ends()
    air: Air[Lane] = Air(ends)
    lane = Lane(Sender(), price(None, 0.0))
    for _ in range(3):
        air.arrive(7, lane, bytes(1514))
    to_the_end(air)
    assert [now for now, _, _ in ends.seen] == [7, 7, 7]


def test_a_sender_with_a_rate_of_its_own_has_it_among_others_too() -> None:
    """Its frames take 12 ms of its own and 1.2 of the air; three others have it wait for the air each time."""
    ends = Ends()
    air: Air[Lane] = Air(ends)
    slow = Lane(Sender(own=price(1e6, 0.0)), price(10e6, 0.0), "slow")
    others = [Lane(Sender(own=price(2.7e6, 0.0)), price(10e6, 0.0)) for _ in range(3)]
    for lane in (slow, *others):
        for _ in range(300):
            air.arrive(0, lane, bytes(1500))
    to_the_end(air)
    moments = [moment for moment, name, _ in ends.seen if name == "slow"]
    assert (moments[100] - moments[10]) / 90 == pytest.approx(12e6, rel=0.001)
