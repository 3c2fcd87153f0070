"""Faults as words, and what each does to the way to one subscriber."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.reference.faults import FaultError, Faults, Lane, parse


def through(faults: Faults, count: int) -> list[int]:
    lane: Lane[int] = Lane(faults)
    return [item for number in range(1, count + 1) for item in lane.route(number)] + lane.release()


def test_words_become_faults() -> None:
    asked = parse(["drop=10", "stall=100:2.5", "crash=7"])
    assert asked == Faults(drop=10, stall_after=100, stall_s=2.5, crash_after=7)


@pytest.mark.parametrize(
    "word", ["drop", "drop=0", "drop=-1", "drop=x", "stall=5", "stall=5:-1", "lose=3", "", "drop=1 "]
)
def test_a_word_that_is_no_fault_is_named_with_what_is_allowed(word: str) -> None:
    with pytest.raises(FaultError, match=r"is not one of drop=K") as caught:
        parse([word])
    assert repr(word) in str(caught.value)


def test_drop_takes_every_kth() -> None:
    assert through(Faults(drop=3), 9) == [1, 2, 4, 5, 7, 8]


def test_duplicate_doubles_every_kth() -> None:
    assert through(Faults(duplicate=3), 6) == [1, 2, 3, 3, 4, 5, 6, 6]


def test_reorder_holds_every_kth_behind_its_successor() -> None:
    assert through(Faults(reorder=3), 8) == [1, 2, 4, 3, 5, 7, 6, 8]


def test_the_last_message_is_held_only_until_it_is_released() -> None:
    assert through(Faults(reorder=3), 3) == [1, 2, 3]


@given(every=st.integers(1, 9), count=st.integers(0, 60))
def test_reordering_neither_loses_nor_invents(every: int, count: int) -> None:
    assert sorted(through(Faults(reorder=every), count)) == list(range(1, count + 1))


@given(drop=st.integers(0, 9), duplicate=st.integers(0, 9), reorder=st.integers(0, 9), count=st.integers(0, 60))
def test_faults_together_lose_only_what_drop_loses(drop: int, duplicate: int, reorder: int, count: int) -> None:
    sent = through(Faults(drop=drop, duplicate=duplicate, reorder=reorder), count)
    dropped = {number for number in range(1, count + 1) if drop and number % drop == 0}
    assert set(sent) == set(range(1, count + 1)) - dropped
