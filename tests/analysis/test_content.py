"""A capture's bytes of which some runs are here only, and the others are zeros."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.capture.content import Sparse, pieces, whole

SIZE = 60
SPANS = st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=12)


@given(st.binary(min_size=SIZE, max_size=SIZE), SPANS, SPANS)
def test_pieces_are_those_of_the_bytes_with_zeros_for_what_is_not_here(
    content: bytes, runs: list[list[int]], asked: list[list[int]]
) -> None:
    known = bytearray(SIZE)
    for low, high in runs:
        known[low:high] = content[low:high]
    start, stop = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    held = np.frombuffer(b"".join(content[low:high] for low, high in runs), dtype=np.uint8)
    sparse = Sparse.of(start, stop, held, size=SIZE)
    begin, end = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    wanted = [bytes(known[low:high]) for low, high in asked]
    assert [bytes(one) for one in pieces(sparse, begin, end)] == wanted
    assert [bytes(one) for one in pieces(np.frombuffer(known, dtype=np.uint8), begin, end)] == wanted
    assert whole(sparse).tobytes() == bytes(known)
    assert len(sparse.held) >= int((sparse.stop - sparse.start).sum())
