"""The suite of tests itself: every test is run, and none twice but what a stall of the machine can have failed."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from _pytest.mark.expression import Expression
from groups import MARKS
from run import ALL, once_more


def test_a_test_with_whatever_marks_is_in_one_part() -> None:
    words = [options[options.index("-m") + 1] for parts in ALL.values() for options in parts.values()]
    taken = [Expression.compile(one) for one in words]
    for count in range(len(MARKS) + 1):
        for marks in combinations(MARKS, count):
            assert sum(one.evaluate(lambda name, marks=marks, **_: name in marks) for one in taken) == 1, marks


def result(test: str, outcome: str = "failed") -> str:
    return json.dumps([test, 1.0, outcome])


def test_what_failed_is_run_once_more() -> None:
    results = [result("one", "passed"), result("two"), result("two"), result("three", "passed")]
    assert once_more([0, 1, 5], results) == ["two"]
    assert once_more([0, 0], [result("one", "passed")]) == []


@pytest.mark.parametrize(
    ("statuses", "results"),
    [
        ([1], [result(str(number)) for number in range(6)]),
        ([1, 2], [result("one")]),
        ([1, 3], [result("one")]),
    ],
    ids=["too many", "not collected", "pytest itself"],
)
def test_what_no_stall_explains_is_not(statuses: list[int], results: list[str]) -> None:
    assert once_more(statuses, results) == []
