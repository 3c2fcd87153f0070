"""Quantities as people read and write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import quantities


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (quantities.rate(77.5787e6), "77.5787 Mbit/s"),
        (quantities.rate(0), "0 bit/s"),
        (quantities.rate(-2e9), "-2 Gbit/s"),
        (quantities.time(0.02008), "20.08 ms"),
        (quantities.time(2e-7), "0.2 us"),
        (quantities.time(math.inf), "inf s"),
        (quantities.share(0.03), "3 %"),
    ],
)
def test_it_is_said_in_the_largest_unit_that_is_not_larger(said: str, text: str) -> None:
    assert said == text


@given(st.floats(1e-9, 1e12))
def test_what_is_said_can_be_read(value: float) -> None:
    for say, parse in (
        (quantities.rate, quantities.parse_rate),
        (quantities.time, quantities.parse_time),
        (quantities.share, quantities.parse_share),
    ):
        if "e" not in (text := say(value)):
            assert parse(text) == pytest.approx(value, rel=1e-5)
