"""How often the line may wake up, and how long it may look at the clock: on a clock that the test moves."""

from __future__ import annotations

from emulation.line.pace import QUANTUM_NS, Pace

SECOND = 10**9


def test_who_sleeps_rarely_never_sleeps_blindly() -> None:
    pace = Pace(0)
    assert [pace.pause_ns(number * 2 * QUANTUM_NS) for number in range(1000)] == [0] * 1000


def test_a_few_wakeups_in_a_row_are_free_and_then_there_is_one_in_a_quantum() -> None:
    pace, now, sleeps, free = Pace(0), 0, 0, 0
    while now < SECOND:
        pause = pace.pause_ns(now)
        free += not sleeps - free and not pause
        sleeps += 1
        now += pause + 5_000  # it wakes up, does something, and sleeps again
    assert 5 < free < 20
    assert sleeps * QUANTUM_NS <= SECOND * 1.06 + 20 * QUANTUM_NS


def test_the_clock_is_looked_at_for_a_tenth_of_the_time_at_most() -> None:
    pace, now, spun = Pace(0), 0, 0
    while now < SECOND:
        early = pace.early_ns(now)
        pace.spun(early)
        now, spun = now + (early or 10_000), spun + early
    assert 0.08 * SECOND < spun < 0.11 * SECOND


def test_where_frames_are_rare_it_is_awake_earlier_than_where_they_are_not() -> None:
    rare, frequent = Pace(0), Pace(0)
    found = []
    for pace, pause in ((rare, 5_000_000), (frequent, 1_000_000)):
        for number in range(1000):
            early = pace.early_ns(number * pause)
            pace.spun(early)
        found.append(early)
    assert found[0] > found[1] > 0
