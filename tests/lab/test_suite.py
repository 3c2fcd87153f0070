"""The suite of tests itself: every test is run, and none twice."""

from __future__ import annotations

from itertools import combinations

from _pytest.mark.expression import Expression
from groups import MARKS
from run import ALL


def test_a_test_with_whatever_marks_is_in_one_part() -> None:
    words = [options[options.index("-m") + 1] for parts in ALL.values() for options in parts.values()]
    taken = [Expression.compile(one) for one in words]
    for count in range(len(MARKS) + 1):
        for marks in combinations(MARKS, count):
            assert sum(one.evaluate(lambda name, marks=marks, **_: name in marks) for one in taken) == 1, marks
