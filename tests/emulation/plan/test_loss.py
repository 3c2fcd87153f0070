from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan.loss import MAX_MODULUS, MIN_MODULUS, expand, modulus_for


def test_same_seed_same_packets() -> None:
    one, other = (expand(0.03, seed=7, direction="uplink", modulus=MIN_MODULUS) for _ in range(2))
    assert one.digest == other.digest
    assert one.indices.tolist() == other.indices.tolist()


def test_seeds_and_directions_differ() -> None:
    digests = {
        expand(0.03, seed=seed, direction=direction, modulus=MIN_MODULUS).digest
        for seed in range(3)
        for direction in ("uplink", "downlink")
    }
    assert len(digests) == 6


def test_the_list_is_the_same_on_every_machine() -> None:
    """Drawn by PCG64, whose stream numpy promises to keep (NEP 19)."""
    indices = expand(0.03, seed=5, direction="uplink", modulus=MIN_MODULUS).indices
    assert indices[:5].tolist() == [29, 31, 48, 88, 112]


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    short = expand(0.03, seed=1, direction="uplink", modulus=MIN_MODULUS).indices
    long = expand(0.03, seed=1, direction="uplink", modulus=MAX_MODULUS).indices
    assert np.array_equal(short, long[long < MIN_MODULUS])


@pytest.mark.parametrize("share", [0.001, 0.03, 0.5])
def test_the_share_is_inside_its_binomial_interval(share: float) -> None:
    losses = expand(share, seed=3, direction="downlink", modulus=MAX_MODULUS)
    deviation = abs(len(losses.indices) - share * MAX_MODULUS) / np.sqrt(share * (1 - share) * MAX_MODULUS)
    assert deviation < 4


def test_no_loss_is_an_empty_list() -> None:
    assert len(expand(0, seed=1, direction="uplink", modulus=MIN_MODULUS).indices) == 0


@given(seed=st.integers(0, 2**32), seen=st.integers(0, 3 * MIN_MODULUS))
def test_the_number_of_drops_is_counted_as_the_kernel_counts_it(seed: int, seen: int) -> None:
    losses = expand(0.01, seed=seed, direction="uplink", modulus=MIN_MODULUS)
    assert losses.dropped_of(seen) == int(np.isin(np.arange(seen) % MIN_MODULUS, losses.indices).sum())


def test_a_list_is_as_long_as_the_trial_can_send_packets() -> None:
    assert modulus_for(rate=1e6, seconds=10) == MIN_MODULUS
    assert modulus_for(rate=1e6, seconds=100) == 1 << 18
    assert modulus_for(rate=None, seconds=1) == MAX_MODULUS
