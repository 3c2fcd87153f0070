"""The line's sleep, on the machine's own clock: it ends for a descriptor, and for a moment not much too soon."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from emulation.line.alarm import Alarm

MS = 10**6
LONG = 3600 * 10**9
EARLIEST_NS = 200_000  # see pace: so long before something is due it is awake


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_readable_descriptor_ends_the_sleep_and_says_when(pipe: tuple[int, int]) -> None:
    with closing(Alarm([pipe[0]], time.monotonic_ns())) as alarm:
        os.write(pipe[1], b"x")
        before = time.monotonic_ns()
        assert [handle for handle, _ in alarm.wait(before + LONG, before + LONG)] == [pipe[0]]
        assert before <= alarm.woke_ns <= time.monotonic_ns()
        assert alarm.wakes == 1


@pytest.mark.parametrize("distance_ns", [50_000, 5 * MS])
def test_it_is_awake_for_a_moment_and_not_much_before(pipe: tuple[int, int], distance_ns: int) -> None:
    with closing(Alarm([pipe[0]], time.monotonic_ns())) as alarm:
        due = time.monotonic_ns() + distance_ns
        while (now := time.monotonic_ns()) < due:
            assert pipe[0] not in dict(alarm.wait(due, now + LONG))
            assert time.monotonic_ns() >= due - EARLIEST_NS
        assert alarm.wakes <= 1


def test_a_beat_ends_the_sleep_too(pipe: tuple[int, int]) -> None:
    with closing(Alarm([pipe[0]], time.monotonic_ns())) as alarm:
        beat = time.monotonic_ns() + 3 * MS
        alarm.wait(beat + LONG, beat)
        assert time.monotonic_ns() >= beat


def test_what_is_overdue_is_not_waited_for(pipe: tuple[int, int]) -> None:
    with closing(Alarm([pipe[0]], time.monotonic_ns())) as alarm:
        now = time.monotonic_ns()
        assert alarm.wait(now - 1, now + LONG) == []
        assert (alarm.wakes, alarm.woke_ns) == (0, 0)


def test_woken_again_and_again_it_sleeps_blindly_and_takes_all_that_came(pipe: tuple[int, int]) -> None:
    with closing(Alarm([pipe[0]], time.monotonic_ns())) as alarm:
        os.write(pipe[1], b"x")
        blind = 0
        for _ in range(1000):
            now = time.monotonic_ns()
            assert [handle for handle, _ in alarm.wait(now + LONG, now + LONG)] == [pipe[0]]
            blind += not alarm.woke_ns
            if blind:
                break
        assert blind
