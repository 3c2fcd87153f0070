"""Where a body ends in a packet, held against what writes it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import marker
from records.body import extents
from records.marker import Marker
from records.messaging import BodyType
from stacks.openwire import bodies


@pytest.mark.parametrize("kind", list(BodyType))
@given(
    size=st.integers(marker.SIZE, 12_000),
    of=st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**40), st.integers(0, 2**62)),
)
def test_a_body_ends_where_its_type_says(kind: BodyType, size: int, of: tuple[int, int, int]) -> None:
    body = bytearray(marker.SIZE) + b"x" * (size - marker.SIZE)
    marker.pack_into(body, Marker(*of))
    content = bodies.content(kind, body)
    producer, seq, t_send_ns = (np.array([one]) for one in of)
    found = extents(kind.value, np.array([size]), producer=producer, seq=seq, t_send_ns=t_send_ns)
    behind = 1 if kind is BodyType.OBJECT else 0  # a reset of Java's object stream
    assert found.tolist() == [len(content) - behind - content.index(marker.MAGIC)]
