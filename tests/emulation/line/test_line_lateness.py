"""How late a line is: counted without loss, and so that a stall shows as the share of the time that it took."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulation.kernel.namespace import KernelError
from emulation.line.alarm import Alarm
from emulation.line.lateness import BUCKET_NS, BUCKETS, Buckets, Lateness
from emulation.line.layout import Line
from emulation.line.loop import Carried, Loop
from emulation.plan import linkplan
from emulation.profile import library

MS = 1_000_000


@pytest.fixture
def ends() -> Iterator[list[socket.socket]]:
    """The line's side of two ports, and the kernel's."""
    wired, station = (socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
    for one in (*wired, *station):
        one.setblocking(False)
    yield [wired[0], station[0], wired[1], station[1]]
    for one in (*wired, *station):
        one.close()


@pytest.fixture
def link(ends: list[socket.socket]) -> Carried:
    plan = linkplan.plan(
        library.load("nistnet-80211"), ["sta1"], seed=1, seconds=1, timeline_s=1, made_by="line"
    )  # fmt: skip
    return Carried("cell1", Line(plan, {"sta1": bytes(6)}), [one.fileno() for one in ends[:2]])


@pytest.fixture
def loop(link: Carried) -> Iterator[Loop]:
    with closing(Alarm((), now_ns=0)) as alarm:
        found = Loop(alarm, control=-1, told=lambda: True)
        found.add(link)
        yield found


def beats(loop: Loop) -> Lateness:
    return Lateness.of(*loop.beats.taken())


def test_buckets_are_given_once_with_the_latest() -> None:
    buckets = Buckets()
    for late_ns in (0, BUCKET_NS - 1, BUCKET_NS, 3 * BUCKET_NS, 10**12):
        buckets.note(late_ns)
    assert buckets.taken() == ([(0, 2), (1, 1), (3, 1), (BUCKETS - 1, 1)], 10**12)
    assert buckets.taken() == ([], 0)
    buckets.note(5)
    assert buckets.taken() == ([(0, 1)], 5)


def test_a_quantile_is_exact_to_a_bucket_and_parts_add_up() -> None:
    early, late = Lateness.of([(0, 9989)], 7), Lateness.of([(100, 11)], 101 * BUCKET_NS - 1)
    both = early + late
    assert both.total == 10_000
    assert early.quantile_s(0.999) == 7e-9
    assert both.quantile_s(0.998) == pytest.approx(BUCKET_NS / 1e9)
    assert 100 * BUCKET_NS / 1e9 <= both.quantile_s(0.999) <= 101 * BUCKET_NS / 1e9


def test_what_is_later_than_all_buckets_is_bounded_by_the_latest() -> None:
    assert Lateness.of([(BUCKETS - 1, 3)], 5 * 10**9).quantile_s(0.5) == 5.0
    assert Lateness.of().quantile_s(0.999) == 0.0


def test_a_stall_is_as_many_late_beats_as_it_took_time(loop: Loop) -> None:
    assert loop._beat(0, 300 * MS) == 305 * MS
    stall = beats(loop)
    assert stall.total == 61
    assert stall.worst_ns == 300 * MS
    assert stall.quantile_s(0.01) <= BUCKET_NS / 1e9
    assert stall.quantile_s(0.5) > 0.005
    assert loop._beat(305 * MS, 305 * MS) == 310 * MS
    assert beats(loop).worst_ns == 0


def test_a_port_that_is_not_read_to_its_end_makes_beats_late(
    loop: Loop, link: Carried, ends: list[socket.socket]
) -> None:
    """A line that is too slow never sleeps, and is never late with a beat; frames wait before it all the same."""
    frame = bytes(12) + b"\x08\0" + bytes(50)
    wired, station = ends[0].fileno(), ends[1].fileno()
    for _ in range(70):
        ends[3].send(frame)
    assert loop._read(station)
    assert not loop._read(wired)
    (since,) = loop._unread.values()
    loop._beat(since + 8 * MS, since + 8 * MS)
    assert beats(loop).worst_ns == 8 * MS
    assert loop._read(station)
    assert list(loop._unread.values()) == [since], "it is behind since then"
    assert not loop._read(station)
    assert link.tally.read == [0, 70]
    loop._beat(since + 8 * MS, since + 8 * MS)
    assert beats(loop).worst_ns == 0


def test_a_frame_above_the_mtu_is_counted_with_its_size_and_goes_nowhere(
    loop: Loop, link: Carried, ends: list[socket.socket]
) -> None:
    for size in (1514, 1515, 4014, 2000):
        ends[3].send(bytes(12) + b"\x08\0" + bytes(size - 14))
    assert not loop._read(ends[1].fileno())
    assert (link.tally.too_large, link.tally.largest, link.tally.read) == (3, 4014, [0, 4])


def test_a_device_that_has_gone_is_told_by_its_name(loop: Loop, ends: list[socket.socket], tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)  # what cannot be read
    os.dup2(folder, ends[1].fileno())
    os.close(folder)
    with pytest.raises(KernelError, match=r"line-1, a device of the line at cell1, has gone \(Is a directory\)"):
        loop._read(ends[1].fileno())
