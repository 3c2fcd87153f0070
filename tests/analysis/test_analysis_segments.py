"""The array tools against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tcp.segments import earliest_cover, first_at_least, latest
from analysis.tcp.series import covered_share

numbers = st.integers(0, 30)


@given(values=st.lists(numbers, max_size=70), queries=st.lists(st.tuples(st.integers(0, 75), numbers), max_size=20))
def test_the_first_value_that_reaches_a_bound_is_found(values: list[int], queries: list[tuple[int, int]]) -> None:
    start, bound = (np.array([query[part] for query in queries], dtype=np.int64) for part in (0, 1))
    found = first_at_least(np.array(values, dtype=np.int64), start=start, bound=bound)
    assert found.tolist() == [
        next((at for at in range(first, len(values)) if values[at] >= least), len(values)) for first, least in queries
    ]


@given(ranges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25))
def test_each_place_goes_to_the_first_range_over_it(ranges: list[tuple[int, int]]) -> None:
    low, high = (np.array([one[part] for one in ranges], dtype=np.int64) for part in (0, 1))
    found = earliest_cover(low, high, number=np.arange(len(ranges)) * 3, count=41)
    assert found.tolist() == [
        next((3 * number for number, (a, b) in enumerate(ranges) if a <= place < b), -1) for place in range(41)
    ]


@given(marks=st.lists(st.booleans(), max_size=30))
def test_the_latest_mark_is_found(marks: list[bool]) -> None:
    found = latest(np.array(marks, dtype=bool)).tolist()
    assert found == [max((i for i in range(row + 1) if marks[i]), default=0) for row in range(len(marks))]


@given(
    intervals=st.lists(st.tuples(st.integers(-5, 40), st.integers(0, 20)), max_size=12),
    edges=st.lists(st.integers(0, 40), min_size=2, max_size=8, unique=True),
)
def test_a_share_of_time_is_covered_however_intervals_overlap(
    intervals: list[tuple[int, int]], edges: list[int]
) -> None:
    edges.sort()
    spans = np.array([(start, start + length) for start, length in intervals], dtype=np.int64).reshape(-1, 2)
    inside = {at for start, length in intervals for at in range(start, start + length)}
    expected = [len(inside & set(range(a, b))) / (b - a) for a, b in pairwise(edges)]
    assert covered_share(spans, np.array(edges)).tolist() == pytest.approx(expected)
