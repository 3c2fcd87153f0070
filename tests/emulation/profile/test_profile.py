from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.profile.profile import LinkProfile
from emulation.profile.units import MAX_RATE, MIN_RATE
from records.quantities import parse_rate, parse_time


def profile(**settings: object) -> LinkProfile:
    base = {"name": "p", "description": "d", "source": "s", "medium": "duplex"}
    return LinkProfile.model_validate(base | settings)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 Mbit/s", 1e6), ("5.5 Mbit/s", 5.5e6), ("100kbit/s", 1e5), ("2 Gbit/s", 2e9), ("9600 bit/s", 9600.0)],
)
def test_a_rate_may_have_a_unit(text: str, value: float) -> None:
    assert parse_rate(text) == value


@pytest.mark.parametrize("text", ["1 mbit/s", "1 MB/s", "fast", "", "-1 Mbit/s", "1e6 bit/s"])
def test_other_words_are_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        parse_rate(text)


def test_a_time_may_have_a_unit() -> None:
    assert parse_time("20 ms") == pytest.approx(0.02)


def test_common_settings_hold_for_both_directions_and_one_may_differ() -> None:
    one = profile(rate="1 Mbit/s", loss=0.03, downlink={"rate": "2 Mbit/s"})
    assert (one.uplink.rate, one.downlink.rate) == (1e6, 2e6)
    assert (one.uplink.loss, one.downlink.loss) == (0.03, 0.03)


def test_a_shared_medium_has_one_rate() -> None:
    with pytest.raises(ValidationError, match="one capacity"):
        profile(medium="shared", rate="1 Mbit/s", downlink={"rate": "2 Mbit/s"})


@given(st.one_of(st.floats(max_value=-1e-9), st.floats(min_value=1.0), st.just(float("nan"))))
def test_an_impossible_loss_is_refused_by_name(loss: float) -> None:
    with pytest.raises(ValidationError, match="loss"):
        profile(loss=loss)


@given(
    st.one_of(st.floats(max_value=MIN_RATE - 1), st.floats(min_value=MAX_RATE * 2), st.just(0), st.just(float("nan")))
)
def test_an_impossible_rate_is_refused_by_name(rate: float) -> None:
    with pytest.raises(ValidationError, match="rate"):
        profile(rate=rate)


def test_an_overhead_that_the_kernel_cannot_express_is_refused() -> None:
    assert profile(rate="1 Gbit/s", frame_overhead="500 us").uplink.frame_overhead == 0.0005
    with pytest.raises(ValidationError, match=r"125000 bytes .* schedulers know at most 65535"):
        profile(rate="1 Gbit/s", frame_overhead="1 ms")
