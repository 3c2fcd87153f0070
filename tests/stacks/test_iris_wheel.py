"""The timer wheel: nothing early, nothing twice, nothing that was cancelled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stacks.iris.wheel import STEP_S, Wheel

MOMENTS = st.floats(0, 20)


@given(st.lists(MOMENTS, max_size=30), st.lists(MOMENTS, max_size=30).map(sorted), st.sets(st.integers(0, 29)))
def test_numbers_come_due_once_never_early_and_at_most_two_steps_late(
    times: list[float], looks: list[float], cancelled: set[int]
) -> None:
    wheel = Wheel(0.0)
    slots = [wheel.set(number, at) for number, at in enumerate(times)]
    for number in cancelled & set(range(len(times))):
        wheel.cancel(number, slots[number])
    came: dict[int, float] = {}
    for now in looks:
        for number in wheel.due(now):
            assert number not in came
            came[number] = now
    for number, at in enumerate(times):
        late = [now for now in looks if now >= at + 2 * STEP_S]
        if number in cancelled:
            assert number not in came
        elif late:
            assert came[number] <= late[0]
        if number in came:
            assert came[number] >= at
    assert len(wheel) == len(times) - len(came) - len(cancelled & set(range(len(times))))


def test_what_is_set_for_the_past_comes_with_the_next_look() -> None:
    wheel = Wheel(100.0)
    assert list(wheel.due(100.0)) == []
    wheel.set(1, 50.0)
    assert list(wheel.due(100.0 + 2 * STEP_S)) == [1]


def test_cancelling_leaves_nothing_behind() -> None:
    wheel = Wheel(0.0)
    for number in range(1000):
        wheel.cancel(number, wheel.set(number, 60.0))
    assert len(wheel) == 0
    assert not wheel._slots
    wheel.cancel(1, 12345)
