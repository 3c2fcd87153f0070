from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.schedule import may_share, next_turn
from experiments.scenario.repeats import SideBySide
from records.campaign import Planned


def plan(*rounds: str) -> list[Planned]:
    """A letter per cell; capitals are cells that may share the machine."""
    return [Planned(cell=cell, trial=number, seed=number) for number, one in enumerate(rounds, 1) for cell in one]


def turns(left: list[Planned], most: int, slow: str = "", heavy: str = "") -> list[str]:
    """All turns of a campaign, as words.  slow, heavy: cells whose trials take longer, and more of the processors."""
    found = []
    while left:
        turn = next_turn(
            left,
            most=most,
            shares=lambda one: one.cell.isupper(),
            seconds=lambda one: 9.0 if one.cell in slow else 1.0,
            load=lambda one: 0.2 if one.cell in heavy else 0.1,
        )
        found.append("".join(one.cell for one in turn))
        left = [one for one in left if one not in turn]
    return found


@pytest.mark.parametrize(
    ("rounds", "most", "expected"),
    [
        (("aBC", "BaC"), 1, ["a", "B", "C", "B", "a", "C"]),
        (("ABCD",), 2, ["AB", "CD"]),
        (("ABC", "CAB"), 2, ["AB", "C", "CA", "B"]),  # rounds are not mixed
        (("aBcD",), 2, ["a", "BD", "c"]),
        (("abc",), 4, ["a", "b", "c"]),
        (("AbCD",), 3, ["ACD", "b"]),
    ],
)
def test_trials_that_may_share_run_together_inside_their_round(
    rounds: tuple[str, ...], most: int, expected: list[str]
) -> None:
    assert turns(plan(*rounds), most) == expected


@pytest.mark.parametrize(
    ("rounds", "most", "slow", "expected"),
    [
        (("ABCD",), 2, "AC", ["AC", "BD"]),
        (("ABCDEF",), 3, "BDF", ["ACE", "BDF"]),
        (("FEDCBA",), 2, "BDF", ["FD", "EC", "BA"]),
        (("AbcD", "DA"), 2, "A", ["AD", "b", "c", "DA"]),
    ],
)
def test_trials_go_together_that_take_about_as_long(
    rounds: tuple[str, ...], most: int, slow: str, expected: list[str]
) -> None:
    assert turns(plan(*rounds), most, slow) == expected


@pytest.mark.parametrize(
    ("rounds", "most", "heavy", "expected"),
    [
        (("ABCDEFGH",), 8, "", ["ABCDE", "FGH"]),  # 54 % of the processors at most
        (("ABCDEFGH",), 8, "AB", ["ABC", "DEFGH"]),
        (("ABCDEF",), 8, "ABCDEF", ["AB", "CD", "EF"]),
        (("ABCDEF",), 4, "BDF", ["ABCE", "DF"]),
    ],
)
def test_no_more_trials_go_together_than_processors_have_room_for(
    rounds: tuple[str, ...], most: int, heavy: str, expected: list[str]
) -> None:
    assert turns(plan(*rounds), most, heavy=heavy) == expected


@given(st.lists(st.text("abCDEF", min_size=1, max_size=6).map(lambda t: "".join(dict.fromkeys(t)))), st.integers(1, 4))
def test_every_trial_runs_once_and_no_round_begins_before_the_last_has_ended(rounds: list[str], most: int) -> None:
    left = plan(*rounds)
    words = turns(left, most)
    assert sorted("".join(words)) == sorted("".join(rounds))
    assert all(len(word) == 1 or (word.isupper() and len(word) <= most) for word in words)
    flat, sizes = "".join(words), [len(one) for one in rounds]
    for number, one in enumerate(rounds):
        assert sorted(flat[sum(sizes[:number]) : sum(sizes[: number + 1])]) == sorted(one)


WIRELESS, WIRED = {"network": "nistnet-80211", "body_bytes": "5120"}, {"network": "wireline-100m", "body_bytes": "100"}


@pytest.mark.parametrize(
    ("wanted", "levels", "alone_cpu", "allowed"),
    [
        (1, WIRELESS, 0.01, False),
        (2, WIRELESS, None, False),  # nothing is known of it yet
        (2, WIRELESS, 0.3, True),
        (2, WIRELESS, 0.31, False),
        (3, WIRELESS, 0.21, False),
        ({"trials": 2, "when": {"network": "nistnet-80211"}}, WIRELESS, None, True),
        ({"trials": 2, "when": {"network": "nistnet-80211"}}, WIRED, 0.01, False),
        ({"trials": 2, "when": {"network": ["lte", "nistnet-80211"], "body_bytes": "5120"}}, WIRELESS, None, True),
        ({"trials": 2, "when": {"network": ["lte", "nistnet-80211"], "body_bytes": "100"}}, WIRELESS, None, False),
    ],
)
def test_a_cell_may_share_when_it_is_named_or_has_left_processor_enough(
    wanted: object, levels: dict[str, str], alone_cpu: float | None, allowed: bool
) -> None:
    assert may_share(SideBySide.model_validate(wanted), levels, alone_cpu) is allowed
