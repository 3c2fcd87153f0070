"""What frames cost: the same for a frame at any time, and what a busy medium carried is what it could."""

from __future__ import annotations

import numpy as np
import pytest
from busy_medium import saturated
from hypothesis import given
from hypothesis import strategies as st

from records.airtime import Steps, airtime, capacity, carried, constant

FULL, ACK = 1514, 66
# 802.11b at 11 Mbit/s with 826 us a frame, that becomes 2 Mbit/s, and then has less of an overhead.
CHANGING = Steps(np.array([-1.0, 2.0, 4.0]), np.array([11e6, 2e6, 2e6]), np.array([826e-6, 826e-6, 100e-6]))


def test_a_frame_takes_the_time_of_its_bits_and_its_own() -> None:
    assert airtime(FULL, rate=11e6, overhead=826e-6) == pytest.approx(826e-6 + FULL * 8 / 11e6)
    assert airtime(FULL, rate=0.0, overhead=0.0) == np.inf


@pytest.mark.parametrize("sizes", [(FULL,), (ACK,), (FULL, ACK), (FULL, FULL, ACK)], ids=str)
@pytest.mark.parametrize("every_s", [0.25, 0.7])
def test_a_busy_medium_carried_what_it_could(sizes: tuple[int, ...], every_s: float) -> None:
    t_s, sent_bytes, frames = saturated(CHANGING, sizes, until_s=6.3, every_s=every_s)
    could = capacity(CHANGING, t_s) - capacity(CHANGING, t_s[:1])
    assert carried(CHANGING, t_s, sent_bytes, frames)[1:] / could[1:] == pytest.approx(1, abs=0.01)


def test_frames_that_change_their_size_with_the_rate_cost_what_they_took() -> None:
    before, after = (Steps(np.zeros(1), np.array([r]), np.array([826e-6])) for r in (11e6, 2e6))
    first, second = (saturated(*one, until_s=2.0, every_s=0.25) for one in ((before, (ACK,)), (after, (FULL,))))
    t_s = np.concatenate([first[0], second[0][1:] + 2])
    sent_bytes, frames = (np.concatenate([first[n], second[n][1:] + first[n][-1]]) for n in (1, 2))
    steps = Steps(np.array([0.0, 2.0]), np.array([11e6, 2e6]), np.array([826e-6] * 2))
    could = capacity(steps, t_s)
    assert carried(steps, t_s, sent_bytes, frames)[1:] / could[1:] == pytest.approx(1, abs=0.01)


@given(
    st.lists(st.tuples(st.floats(0.01, 3), st.integers(0, 10**6), st.integers(1, 1000)), min_size=1, max_size=20),
    st.lists(st.tuples(st.floats(-5, 50), st.floats(1e3, 1e9)), min_size=1, max_size=8),
)
def test_without_overhead_what_was_carried_is_what_was_sent(
    readings: list[tuple[float, int, int]], rates: list[tuple[float, float]]
) -> None:
    t_s, sent, frames = (np.cumsum([0, *column]) for column in zip(*readings, strict=True))
    since_s, rate = map(np.array, zip(*sorted(rates), strict=True))
    assert carried(Steps(since_s, rate), t_s, sent, frames) == pytest.approx(sent * 8.0, rel=1e-6)


def test_at_a_constant_rate_each_frame_adds_its_overhead_however_readings_lie() -> None:
    steps, sent_bytes, frames = constant(1e6, 0.02), np.array([0, 5_000, 450_000]), np.array([0, 1, 100])
    for t_s in ([0.0, 3.0, 8.0], [0.0, 0.0, 8.0]):
        found = carried(steps, np.array(t_s), sent_bytes, frames)[-1]
        assert found == pytest.approx(450_000 * 8 + 100 * 0.02 * 1e6, rel=0.02 if t_s[1] == 0 else 1e-9)


def test_what_passes_while_nothing_may_counts_in_full() -> None:
    steps = Steps(np.array([0.0]), np.array([0.0]))
    assert carried(steps, np.array([0.0, 1.0]), np.array([0, 1000]), np.array([0, 1]))[-1] == 8000
    assert carried(steps, np.array([1.0]), np.array([7]), np.array([1])).tolist() == [0.0]
