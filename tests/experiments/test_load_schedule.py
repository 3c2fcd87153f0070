"""Schedules, properties and padding follow from the seed."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.load.schedule import constant, padding, poisson, properties
from results.marker import MAGIC


@given(rate=st.floats(0.01, 1e5), producer=st.integers(0, 2**31 - 1), index=st.integers(0, 500))
def test_constant_gaps_add_up_to_the_rate(rate: float, producer: int, index: int) -> None:
    first, *_, last = islice(constant(rate=rate, producer=producer), index + 2)
    assert abs((last - first) - (index + 1) / rate * 1e9) <= 1 + 1e-6 * (last - first)
    assert 0 <= first <= 1e9 / rate


def test_producers_are_spread_over_the_period() -> None:
    phases = sorted(next(constant(rate=1, producer=producer)) / 1e9 for producer in range(10))
    gaps = np.diff([*phases, phases[0] + 1])
    assert gaps.min() > 0.05


def test_poisson_has_the_rate_and_exponential_gaps() -> None:
    offsets = np.array(list(islice(poisson(rate=50, producer=1, seed=3), 20_000))) / 1e9
    gaps = np.diff(offsets)
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)
    assert (gaps >= 0).all()


def test_the_seed_and_the_producer_decide() -> None:
    def drawn(seed: int, producer: int) -> tuple[list[int], list[int | None], bytes]:
        return (
            list(islice(poisson(rate=50, producer=producer, seed=seed), 50)),
            list(islice(properties(upper=100, producer=producer, seed=seed), 50)),
            padding(size=50, producer=producer, seed=seed),
        )

    assert drawn(1, 2) == drawn(1, 2)
    for other in (drawn(2, 2), drawn(1, 3)):
        assert all(mine != theirs for mine, theirs in zip(drawn(1, 2), other, strict=True))


def test_properties_are_uniform_below_their_upper_end() -> None:
    counts = np.bincount(list(islice(properties(upper=10, producer=0, seed=0), 20_000)), minlength=10)
    assert len(counts) == 10
    assert counts.min() > 1800


def test_without_a_range_there_are_no_properties() -> None:
    assert list(islice(properties(upper=None, producer=0, seed=0), 3)) == [None] * 3


def test_padding_never_looks_like_a_marker() -> None:
    assert not MAGIC.islower()
    assert padding(size=5000, producer=0, seed=0).islower()
