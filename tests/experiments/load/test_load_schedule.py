"""Schedules, properties and padding follow from the seed."""

from collections.abc import Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan import loss
from experiments.load.patterns.request_reply import service_times
from experiments.load.schedule import bodies, properties, schedule
from records.directions import DIRECTIONS
from records.marker import MAGIC
from records.sending import Sending
from records.workload import ServiceTime

WINDOW_S = (2.0, 12.0)


def load(**settings: Any) -> Sending:
    return Sending.model_validate({"body_bytes": 100, "loop": "open", "rate": 50} | settings)


def offsets(number: int, *, producer: int = 0, seed: int = 0, **settings: Any) -> list[int]:
    made = schedule(load(**settings), producer=producer, seed=seed, window_s=WINDOW_S)
    return list(islice(made, number))


@given(rate=st.floats(0.01, 1e5), producer=st.integers(0, 2**31 - 1), index=st.integers(0, 500))
def test_constant_gaps_add_up_to_the_rate(rate: float, producer: int, index: int) -> None:
    first, *_, last = offsets(index + 2, producer=producer, rate=rate)
    assert abs((last - first) - (index + 1) / rate * 1e9) <= 1 + 1e-6 * (last - first)
    assert 0 <= first <= 1e9 / rate


def test_producers_are_spread_over_the_period() -> None:
    phases = sorted(offsets(1, rate=1, producer=producer)[0] / 1e9 for producer in range(10))
    gaps = np.diff([*phases, phases[0] + 1])
    assert gaps.min() > 0.05


def test_poisson_has_the_rate_and_exponential_gaps() -> None:
    gaps = np.diff(offsets(20_000, producer=1, seed=3, arrivals="poisson")) / 1e9
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)
    assert (gaps >= 0).all()


@given(
    rate=st.floats(0.1, 1e3),
    messages=st.integers(1, 20),
    pause_s=st.floats(0.01, 10),
    producer=st.integers(0, 99),
    arrivals=st.sampled_from(["constant", "poisson"]),
)
def test_bursts_are_the_plain_schedule_with_a_pause_after_every_so_many(
    rate: float, messages: int, pause_s: float, producer: int, arrivals: str
) -> None:
    bursts = {"messages": messages, "pause_s": pause_s}
    plain = offsets(100, rate=rate, producer=producer, arrivals=arrivals)
    paused = offsets(100, rate=rate, producer=producer, arrivals=arrivals, bursts=bursts)
    for number, (one, other) in enumerate(zip(plain, paused, strict=True)):
        assert other - one == pytest.approx(number // messages * pause_s * 1e9, abs=2)


@given(rate=st.floats(0.5, 500), to=st.floats(0.5, 500), producer=st.integers(0, 99))
def test_a_ramp_has_its_rates_before_in_and_after_the_window(rate: float, to: float, producer: int) -> None:
    start_s, end_s = WINDOW_S
    during = (rate + to) / 2 * (end_s - start_s)
    every = offsets(round(rate * start_s + during + 3 * to) + 3, rate=rate, ramp={"to": to}, producer=producer)
    t_s = np.array(every) / 1e9
    assert (np.diff(t_s) > 0).all()

    def by(t: float) -> float:
        """Messages that are due until then: the area below the rate."""
        into = min(max(t - start_s, 0), end_s - start_s)
        change = (to - rate) * into**2 / (2 * (end_s - start_s))
        return rate * (start_s + into) + change + to * max(t - end_s, 0)

    for t in np.linspace(start_s, end_s + 1, 23):
        assert abs(np.count_nonzero(t_s <= t) - by(t)) <= 1.001


def test_a_ramp_to_the_same_rate_changes_nothing() -> None:
    assert offsets(1000, ramp={"to": 50}) == pytest.approx(offsets(1000), abs=2)


def test_a_poisson_ramp_has_as_many_messages_as_its_rate_has_area() -> None:
    start_s, end_s = WINDOW_S
    t_s = np.array(offsets(60_000, rate=100, arrivals="poisson", ramp={"to": 9_900}, seed=5)) / 1e9
    halves, _ = np.histogram(t_s, [start_s, (start_s + end_s) / 2, end_s])
    assert halves == pytest.approx([12_750, 37_250], rel=0.05)


def test_the_seed_and_the_producer_decide() -> None:
    def drawn(seed: int, producer: int) -> tuple[list[Any], ...]:
        mix = bodies({50: 0.5, 60: 0.5}, producer=producer, seed=seed)
        return (
            offsets(50, producer=producer, seed=seed, arrivals="poisson"),
            list(islice(properties(upper=100, producer=producer, seed=seed), 50)),
            [bytes(one) for one in islice(mix, 50)],
            [len(one) for one in islice(mix, 50)],
        )

    assert drawn(1, 2) == drawn(1, 2)
    for other in (drawn(2, 2), drawn(1, 3)):
        assert all(mine != theirs for mine, theirs in zip(drawn(1, 2), other, strict=True))


@given(
    shares=st.dictionaries(st.integers(24, 9000), st.integers(1, 20), min_size=1, max_size=4), seed=st.integers(0, 99)
)
def test_bodies_have_the_sizes_of_a_mix_by_their_shares(shares: dict[int, int], seed: int) -> None:
    mix = {size: share / sum(shares.values()) for size, share in shares.items()}
    drawn = [len(one) for one in islice(bodies(mix, producer=0, seed=seed), 4000)]
    assert set(drawn) <= set(mix)
    for size, share in mix.items():
        assert drawn.count(size) / 4000 == pytest.approx(share, abs=0.05)


def test_properties_are_uniform_below_their_upper_end() -> None:
    counts = np.bincount(list(islice(properties(upper=10, producer=0, seed=0), 20_000)), minlength=10)
    assert len(counts) == 10
    assert counts.min() > 1800


def test_without_a_range_there_are_no_properties() -> None:
    assert list(islice(properties(upper=None, producer=0, seed=0), 3)) == [None] * 3


def test_bodies_never_look_like_a_marker() -> None:
    assert not MAGIC.islower()
    assert next(bodies({5000: 1.0}, producer=0, seed=0)).islower()


def test_nothing_of_a_load_is_drawn_as_the_losses_of_its_link_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared are the uniform numbers that each stream begins with; a link's losses have the trial's seed, too."""
    of_loads, of_losses = list[tuple[float, ...]](), list[tuple[float, ...]]()
    words_of, generator_of = np.random.SeedSequence, np.random.default_rng

    def begins(words: Sequence[int]) -> tuple[float, ...]:
        return tuple(np.random.Generator(np.random.PCG64(words_of(words))).random(4).tolist())

    def of_load(words: Sequence[int]) -> np.random.Generator:
        of_loads.append(begins(words))
        return generator_of(words)

    def of_loss(words: Sequence[int]) -> np.random.SeedSequence:
        of_losses.append(begins(words))
        return words_of(words)

    monkeypatch.setattr(np.random, "default_rng", of_load)
    monkeypatch.setattr(np.random, "SeedSequence", of_loss)
    for one in range(4):
        offsets(1, producer=one, seed=7, arrivals="poisson")
        next(properties(upper=9, producer=one, seed=7))
        next(bodies({50: 0.5, 60: 0.5}, producer=one, seed=7))
        next(service_times(ServiceTime(mean_s=1, distribution="exponential"), service=one, seed=7))
    for way, group, state, station in product(DIRECTIONS, range(6), range(4), ("", "sta1")):
        loss.expand(0.5, seed=7, direction=way, modulus=8, group=group, state=state, station=station)
    assert (len(of_loads), len(of_losses)) == (4 * 5, 2 * 6 * 4 * 2)
    assert len({*of_loads, *of_losses}) == len(of_loads) + len(of_losses)
