from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from records import marker
from records.marker import Marker

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(producer=U32, seq=U64, t_send_ns=U64, rest=st.binary(max_size=64))
def test_a_marker_is_read_back_from_the_start_of_a_body(producer: int, seq: int, t_send_ns: int, rest: bytes) -> None:
    body = bytearray(marker.SIZE) + rest
    marker.pack_into(body, Marker(producer, seq, t_send_ns))
    assert np.frombuffer(body, marker.MANY, count=1)[0].tolist() == (marker.MAGIC, producer, seq, t_send_ns)
    assert bytes(body[marker.SIZE :]) == rest


def test_a_marker_takes_24_bytes() -> None:
    assert marker.SIZE == 24


@given(st.lists(st.tuples(U32, U64, U64), min_size=1, max_size=5), st.binary(max_size=50))
def test_markers_inside_texts_are_found_as_long_as_they_are(markers: list[tuple[int, int, int]], rest: bytes) -> None:
    """Java's modified UTF-8 of Latin-1 characters is UTF-8 but for NUL, which takes two bytes."""
    written, at = b"", []
    for one in markers:
        body = bytearray(marker.SIZE)
        marker.pack_into(body, Marker(*one))
        at.append(len(written))
        written += body.decode("latin-1").encode().replace(b"\0", b"\xc0\x80")
    data = np.frombuffer(written + rest, dtype=np.uint8)
    found, size = marker.decoded(data, np.array(at))
    assert [tuple(one)[1:] for one in found.tolist()] == markers
    columns = dict(
        zip(
            ("producer", "seq", "t_send_ns"),
            (np.array(one, dtype=np.uint64) for one in zip(*markers, strict=True)),
            strict=True,
        )
    )
    assert size.tolist() == marker.encoded_bytes(**columns).tolist()
    assert sum(size) == len(written)


def test_a_marker_that_the_data_cuts_off_takes_more_than_is_left() -> None:
    data = np.frombuffer(marker.MAGIC + bytes(3), dtype=np.uint8)
    _, size = marker.decoded(data, np.array([0]))
    assert size[0] > len(data)
