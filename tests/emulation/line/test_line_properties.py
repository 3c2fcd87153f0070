"""What holds for any profile and any arrivals: nothing is lost unseen, doubled, overtaken, or sent too fast."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from emulation.line.layout import Line
from emulation.line.medium import WIRED
from emulation.plan.linkplan import plan
from emulation.profile.profile import LinkProfile
from emulation.profile.timeline import Step

S = 10**9
STATIONS = ("sta1", "sta2", "sta3")
MACS = {station: bytes([2, 0, 0, 0, 0, number]) for number, station in enumerate(STATIONS, 1)}
SERVER = bytes([2, 0, 0, 0, 1, 0])
HEADER = 14

events = st.lists(
    st.one_of(
        st.fixed_dictionaries({"outage": st.sampled_from([0.01, 0.05])}),
        st.fixed_dictionaries({"outage": st.sampled_from([0.01, 0.05]), "stations": st.just(["sta2"])}),
        st.fixed_dictionaries({"change": st.fixed_dictionaries({"rate": st.integers(200_000, 20_000_000)})}),
        st.fixed_dictionaries({"change": st.fixed_dictionaries({"delay": st.sampled_from([0.02, 0.012])})}),
    ),
    max_size=4,
)
turns = st.sampled_from(
    [
        {"medium": "duplex"},
        {"medium": "duplex", "loss_channel": "station"},
        {"medium": "shared"},
        {"medium": "shared", "stations": {"sta1": {"rate": 200_000}}},
        {"medium": "shared", "stations": {"sta1": {"rate": 200_000}}, "station_rate": "phy"},
        {"medium": "shared", "turns": "packets"},
        {"medium": "shared", "turns": "airtime", "stations": {"sta1": {"rate": 200_000}}, "station_rate": "phy"},
    ]
)
limits = st.sampled_from([{}, {"queue_packets": 4}, {"queue_bytes": 6000}])
late = st.sampled_from([{}, {"delay": 0.02, "jitter": 0.01}, {"delay": 0.012, "jitter": 0.01, "keep_order": False}])
losses = st.sampled_from([0.0, 0.2, {"model": "gilbert-elliott", "p": 0.1, "r": 0.3}])


@st.composite
def profiles(draw: st.DrawFn) -> LinkProfile:
    settings: dict[str, Any] = {"name": "made", "description": "made", "source": "made", "rate": 1e6}
    for one in (turns, limits, late):
        settings |= draw(one)
    timeline = [{"at": 0.1 + 0.1 * number, **one} for number, one in enumerate(draw(events))]
    return LinkProfile.model_validate(settings | {"loss": draw(losses), "timeline": timeline})


# gap, where it comes in, where it goes to (0 = the wired side), size
arrivals = st.lists(
    st.tuples(st.integers(0, 20_000_000), st.integers(0, 3), st.integers(0, 3), st.integers(60, 1514)),
    min_size=1,
    max_size=80,
)


class Run:
    """Arrivals through a line, with its timeline; whatever came out.

    At `until` the line is left as it is, else it is emptied.
    """

    def __init__(self, profile: LinkProfile, came: list[tuple[int, int, int, int]], until: int | None = None) -> None:
        made = plan(profile, STATIONS, seed=5, seconds=5, timeline_s=5, made_by="line")
        self.line = Line(made, MACS)
        self.sent: list[tuple[int, int, int, int]] = []  # moment, from, to, size, by number
        self.out: list[tuple[int, int, int]] = []  # moment, port, number
        self._steps: list[Step] = list(made.steps)
        now = 0
        for gap, port, to, size in came:
            if port == to or (until is not None and now + gap > until):
                continue
            now += gap
            self._play(now)
            address = SERVER if to == WIRED else MACS[f"sta{to}"]
            data = address + bytes(6) + b"\x08\x00" + len(self.sent).to_bytes(4, "big")
            self.line.medium.arrive(now, port, data + bytes(size - len(data)))
            self.sent.append((now, port, to, size))
            self._take(now)
        end = 1000 * S if until is None else until
        self._play(end)
        self.line.medium.advance(end)
        self._take(end)

    def _play(self, now: int) -> None:
        while self._steps and round(self._steps[0].at_s * S) <= now:
            step = self._steps.pop(0)
            self.line.enter(round(step.at_s * S), step.state)

    def _take(self, now: int) -> None:
        for moment, port, data in self.line.medium.come_out(now):
            self.out.append((moment, port, int.from_bytes(data[HEADER : HEADER + 4], "big")))

    def counted(self) -> Counter[str]:
        """seen, dropped and dark of all lists, and overflowed."""
        found = Counter({"overflowed": sum(air.overflowed for air in self.line.airs.values())})
        for one in self.line.lists.values():
            found += Counter(seen=one.seen, dropped=one.dropped, dark=one.dark)
        return found


@given(profiles(), arrivals)
def test_in_the_end_every_frame_is_out_where_it_should_be_or_counted_as_lost(
    profile: LinkProfile, came: list[tuple[int, int, int, int]]
) -> None:
    run = Run(profile, came)
    places = {number: port for _, port, number in run.out}
    assert len(places) == len(run.out), "none twice"
    assert all(run.sent[number][2] == port for number, port in places.items())
    assert all(run.sent[number][0] <= moment for moment, _, number in run.out)
    count = run.counted()
    assert len(run.sent) - len(run.out) == count["overflowed"] + count["dropped"] + count["dark"]


@given(profiles(), arrivals, st.integers(0, S))
def test_at_any_time_every_frame_is_out_lost_waiting_being_sent_or_on_its_way(
    profile: LinkProfile, came: list[tuple[int, int, int, int]], until: int
) -> None:
    run = Run(profile, [one for one in came if WIRED in one[1:3]], until)
    senders = {lane.sender for lane in (*run.line.up, *run.line.down)}
    waiting = sum(len(sender.queue) for sender in senders)
    count = run.counted()
    being_sent = sum(air.sent for air in run.line.airs.values()) - count["seen"]
    assert 0 <= being_sent <= len(run.line.airs)
    assert len(run.sent) == count["overflowed"] + waiting + being_sent + count["seen"]
    on_the_way = run.line.medium.on_the_way()
    assert count["seen"] == count["dropped"] + count["dark"] + len(run.out) + on_the_way
    assert run.line.medium.due() > until


@given(profiles(), arrivals)
def test_where_order_is_kept_no_frame_overtakes_another_of_its_way(
    profile: LinkProfile, came: list[tuple[int, int, int, int]]
) -> None:
    run = Run(profile, came)
    if not profile.uplink.keep_order:
        return
    ways: dict[tuple[int, int], list[int]] = {}
    for _, _, number in run.out:
        ways.setdefault(run.sent[number][1:3], []).append(number)
    assert all(numbers == sorted(numbers) for numbers in ways.values())


@given(
    st.sampled_from(["arrival", "packets", "airtime"]),
    st.integers(100_000, 50_000_000),
    st.sampled_from([0, 300e-6]),
    arrivals,
)
def test_the_rate_is_what_was_asked_to_a_thousandth_whenever_frames_wait(
    way: str, rate: int, overhead: float, came: list[tuple[int, int, int, int]]
) -> None:
    """A busy time is from a frame that finds nothing to when nothing is left: it takes its frames' airtime."""
    about = {"name": "made", "description": "made", "source": "made", "medium": "shared", "queue_packets": 1000}
    profile = LinkProfile.model_validate(about | {"rate": rate, "frame_overhead": overhead, "turns": way})
    run = Run(profile, [one for one in came if WIRED in one[1:3]])
    assert len(run.out) == len(run.sent)
    ends = sorted(moment for moment, _, _ in run.out)
    begun, bits, frames, free = 0, 0, 0, -1
    numbers = [number for _, _, number in run.out]
    assert ends == [moment for moment, _, _ in run.out]
    for (before, end), number in zip(pairwise([-1, *ends]), numbers, strict=True):
        size = run.sent[number][3]
        alone = end - round(size * 8e9 / rate + overhead * 1e9)
        if alone > before + 1:  # nothing was left when it came
            assert alone >= run.sent[number][0] - 1, "a frame takes its airtime on an idle link, too"
            begun, bits, frames = alone, 0, 0
        bits, frames, free = bits + size * 8, frames + 1, end
        took = (free - begun) / 1e9 - frames * overhead
        assert abs(bits / took / rate - 1) < 1e-3
        assert alone <= max(before + 1, *(at for at, _, _, _ in run.sent)), "nothing rests while something waits"
