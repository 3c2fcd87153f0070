from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from emulation.plan.loss import MAX_MODULUS, MIN_MODULUS, expand
from emulation.profile.lossmodel import GilbertElliott, LossModel, RecordedLosses, describe, share_of
from emulation.proof import expectation

MODEL: TypeAdapter[LossModel] = TypeAdapter(LossModel)
CHANCE = st.floats(0.01, 1)
BURSTS = st.builds(GilbertElliott, p=CHANCE, r=CHANCE, loss_good=st.floats(0, 0.5), loss_bad=CHANCE)


def listed(model: Any, modulus: int, seed: int = 1) -> np.ndarray:
    return expand(model, seed=seed, direction="uplink", modulus=modulus).indices


def test_models_are_told_apart_by_their_shape() -> None:
    assert MODEL.validate_python("3 %") == 0.03
    assert isinstance(MODEL.validate_python({"model": "gilbert-elliott", "p": 0.1, "r": "50 %"}), GilbertElliott)
    assert isinstance(MODEL.validate_python({"model": "recorded", "packets": 10, "lost": [1]}), RecordedLosses)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"model": "gilbert-elliott", "p": 0, "r": 0.5}, "greater than 0"),
        ({"model": "gilbert-elliott", "p": 0.1}, "Field required"),
        ({"model": "recorded", "packets": 10, "lost": [10]}, "packet 10 is lost, but the record has only 10"),
        ({"model": "burst", "p": 0.1}, "burst"),
        ({"p": 0.1, "r": 0.1}, "without a model"),
        (1.0, "less than 1"),
    ],
)
def test_an_impossible_model_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MODEL.validate_python(value)


@given(BURSTS, st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_bursts_lose_their_share_in_the_long_run(model: GilbertElliott, seed: int) -> None:
    found = len(listed(model, MIN_MODULUS, seed)) / MIN_MODULUS
    bad = model.p / (model.p + model.r)
    memory = 1 - model.p - model.r
    independent = model.share * (1 - model.share)
    bunched = 2 * (model.loss_bad - model.loss_good) ** 2 * bad * (1 - bad) * memory / (1 - memory)
    deviation = np.sqrt(max(independent + bunched, 0) / MIN_MODULUS)
    assert abs(found - model.share) <= 6 * deviation + 3 / MIN_MODULUS / min(model.p, model.r)


def test_bursts_are_as_long_as_the_model_says() -> None:
    lost = listed(GilbertElliott(p=0.01, r=0.2), MAX_MODULUS)
    runs = np.diff(np.flatnonzero(np.diff(lost, prepend=-9, append=10**9) != 1))
    assert runs.mean() == pytest.approx(5, rel=0.05)
    assert runs.std() == pytest.approx(np.sqrt(0.8) / 0.2, rel=0.08)


@given(BURSTS, st.integers(10, 5000), st.integers(1, 5000))
@settings(max_examples=30, deadline=None)
def test_a_longer_list_of_bursts_begins_with_the_shorter_one(model: GilbertElliott, short: int, more: int) -> None:
    longer = listed(model, short + more)
    assert np.array_equal(listed(model, short), longer[longer < short])


@given(st.integers(2, 500), st.data())
def test_a_record_is_repeated_as_it_is(packets: int, data: st.DataObject) -> None:
    lost = data.draw(st.lists(st.integers(0, packets - 1)))
    losses = expand(RecordedLosses(packets=packets, lost=tuple(lost)), seed=1, direction="uplink", modulus=MIN_MODULUS)
    numbers = np.arange(3 * packets)
    assert losses.modulus == packets
    assert set(numbers[losses.lists(numbers)] % packets) == set(lost)
    assert losses.dropped_of(3 * packets) == 3 * len(set(lost))


@pytest.fixture(scope="module")
def few_runs() -> Iterator[None]:
    """The fewer, the narrower an interval is, and the likelier it misses a share that it should contain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectation, "_REPLICATES", 200)
        yield


@pytest.mark.usefixtures("few_runs")
@given(st.one_of(st.floats(0, 0.9), BURSTS), st.integers(1, 4000))
@settings(max_examples=20, deadline=None)
def test_what_is_expected_contains_the_share(model: LossModel, packets: int) -> None:
    interval = expectation.losses(model, packets)
    assert 0 <= interval.low <= interval.high <= packets
    assert interval.low <= share_of(model) * packets + 3 * np.sqrt(packets)
    assert describe(model)


def test_of_a_record_it_is_certain_what_is_lost() -> None:
    interval = expectation.losses(RecordedLosses(packets=10, lost=(1, 5)), 25)
    assert (interval.low, interval.high) == (5, 5)


def test_groups_and_states_have_lists_of_their_own() -> None:
    first = expand(0.1, seed=1, direction="uplink", modulus=MIN_MODULUS)
    group = expand(0.1, seed=1, direction="uplink", modulus=MIN_MODULUS, group=1)
    state = expand(0.1, seed=1, direction="uplink", modulus=MIN_MODULUS, state=1)
    assert len({one.digest for one in (first, group, state)}) == 3
    assert [one.name for one in (first, group, state)] == ["uplink", "uplink-1-0", "uplink-0-1"]
