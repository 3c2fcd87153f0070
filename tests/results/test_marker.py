from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import marker
from results.marker import Marker, NotAMarker

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(producer=U32, seq=U64, t_send_ns=U64, rest=st.binary(max_size=64))
def test_a_marker_is_read_back_from_the_start_of_a_body(producer: int, seq: int, t_send_ns: int, rest: bytes) -> None:
    body = bytearray(marker.SIZE) + rest
    marker.pack_into(body, Marker(producer, seq, t_send_ns))
    assert marker.unpack(body) == (producer, seq, t_send_ns)
    assert bytes(body[marker.SIZE :]) == rest


def test_a_marker_takes_24_bytes() -> None:
    assert marker.SIZE == 24


@given(st.binary(max_size=100).filter(lambda body: not body.startswith(marker.MAGIC)))
def test_other_bytes_are_not_a_marker(body: bytes) -> None:
    with pytest.raises(NotAMarker):
        marker.unpack(body)


def test_a_body_shorter_than_a_marker_is_not_one() -> None:
    with pytest.raises(NotAMarker, match="23 bytes"):
        marker.unpack(marker.MAGIC + bytes(19))
