"""What interruptions cost, on ledgers worked out by hand."""

from __future__ import annotations

import pytest
from ledger_rows import delivered, published
from synthetic_campaign import SECOND, START, WINDOW

from analysis.interruptions import absences, having_streams, interruption_metrics
from records.audience import Audience
from records.link import LinkInterruption
from records.manifest import Consumer
from records.nodes import Absence
from records.schema import Outcome
from records.window_metrics import read_ledger

Link = tuple[LinkInterruption, ...]


def gap(at_s: float, lasts_s: float, *stations: str) -> LinkInterruption:
    return LinkInterruption(at_s=at_s, lasts_s=lasts_s, stations=stations or ("sta1",))


OUTAGE = (gap(2.0, 1.0),)
TWICE = (gap(1.5, 1.0), gap(4.0, 1.0))


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def consumer(*spans: tuple[float, float]) -> Consumer:
    gone = tuple(Absence(left_ns=at(left), due_ns=at(due)) for left, due in spans)
    return Consumer(id=10, node="sta1", topic=0, absences=gone)


def cost(arrivals: list[tuple[int, float]], *consumers: Consumer, link: Link = OUTAGE) -> dict[str, float]:
    """Message n is due n seconds after the window's start."""
    sends = published([(n, float(n), n + 0.1, Outcome.ACKED) for n in range(8)])
    ledger = read_ledger(sends, delivered(arrivals), [Audience(consumers=(10,), topic=0)])
    return interruption_metrics(ledger, consumers or (consumer(),), link=link, window=WINDOW)


def test_what_came_late_and_how_long_it_took() -> None:
    found = cost([(0, 0.1), (1, 1.1), (3, 3.2), (2, 3.9), (4, 4.1), (5, 5.1)])
    assert found == {
        "interruptions": 1,
        "not_back": 0,
        "held_up": 1,  # message 2, due at 2 s; message 3 was due when the outage was over
        "back_after_s": pytest.approx(0.2),
        "caught_up_after_s": pytest.approx(0.9),
        "held_up_worst_s": pytest.approx(1.9),
    }


def test_without_interruption_there_is_nothing_to_tell() -> None:
    assert cost([(0, 0.1)], link=()) == {}


def test_nothing_held_up_is_caught_up_with_the_first_message() -> None:
    found = cost([(1, 1.1), (4, 4.5)])
    assert (found["held_up"], found["back_after_s"], found["caught_up_after_s"]) == (0, 1.5, 1.5)
    assert "held_up_worst_s" not in found


def test_who_hears_nothing_more_is_counted_apart() -> None:
    assert cost([(0, 0.1), (1, 1.1)]) == {"interruptions": 1, "not_back": 1, "held_up": 0}


def test_of_receivers_that_share_streams_those_wait_that_have_one() -> None:
    sends = published([(0, 0.0, 0.1, Outcome.ACKED)])
    them = [Audience(consumers=(10, 11), topic=0, undivided=True)]
    ledger = read_ledger(sends, delivered([(0, 0.1)]), them)
    both = [consumer(), Consumer(id=11, node="sta2", topic=0)]
    assert [one.id for one in having_streams(both, ledger)] == [10]


def test_a_message_held_up_by_two_interruptions_counts_once() -> None:
    found = cost([(1, 1.1), (3, 3.1), (2, 5.2), (6, 6.1)], link=TWICE)
    assert (found["interruptions"], found["not_back"], found["held_up"]) == (2, 0, 1)
    # 0.6 s after the first, by message 3; 0.2 s after the second, by message 2, which was held up until then.
    assert found["back_after_s"] == pytest.approx((0.6 + 0.2) / 2)
    assert found["caught_up_after_s"] == pytest.approx((0.6 + 0.2) / 2)
    assert found["held_up_worst_s"] == pytest.approx(3.2)


def test_who_hears_nothing_until_the_next_interruption_is_not_back() -> None:
    found = cost([(1, 1.1), (2, 5.2)], link=TWICE)
    assert (found["interruptions"], found["not_back"], found["back_after_s"]) == (2, 1, pytest.approx(0.2))


def test_an_absence_that_begins_in_an_outage_is_one_with_it() -> None:
    found = cost([(1, 1.1), (4, 4.6)], consumer((2.5, 4.0)))
    assert (found["interruptions"], found["back_after_s"]) == (1, pytest.approx(0.6))


def test_absences_alone_count_for_those_who_were_away() -> None:
    others = Consumer(id=11, node="sta1", topic=0)
    found = cost([(1, 1.1), (4, 4.6)], consumer((2.5, 4.0)), others, link=())
    assert (found["interruptions"], found["back_after_s"]) == (1, pytest.approx(0.6))


def test_callers_are_not_interrupted_receivers() -> None:
    caller = Consumer(id=11, node="sta1", topic=0, caller=0)
    assert cost([(1, 1.1), (4, 4.6)], consumer(), caller) == cost([(1, 1.1), (4, 4.6)])


@pytest.mark.parametrize(
    ("cause", "left", "due", "counted"),
    [
        ("join", -1.0, 3.5, 1),  # it joined between the two: the first one was none of its
        ("join", -1.0, 2.0, 1),
        ("kill", 3.0, None, 1),
        ("vanish", 3.0, None, 1),
        ("kill", 1.8, None, 0),  # and what it was in has no end for it
    ],
)
def test_the_link_interrupts_nobody_who_has_not_joined_or_never_comes_back(
    cause: str, left: float, due: float | None, counted: int
) -> None:
    absence = Absence(
        left_ns=at(left), due_ns=None if due is None else at(due), back_ns=None if due is None else at(due), cause=cause
    )  # fmt: skip
    one = Consumer(id=10, node="sta1", topic=0, absences=(absence,))
    assert cost([(1, 1.1), (3, 2.7), (6, 6.1)], one, link=TWICE).get("interruptions", 0) == counted


def test_what_outlasts_the_window_is_left_out() -> None:
    assert cost([(1, 1.1)], link=(gap(7.5, 3.0),)) == {}


def test_those_who_leave_together_make_one_mark() -> None:
    first, second = consumer((2.0, 3.0)), consumer((2.0004, 3.0))
    assert absences([second, first]) == [(at(2.0), "subscribers leave"), (at(3.0), "subscribers come back")]


def test_an_outage_of_other_stations_interrupts_nobody_here() -> None:
    assert cost([(4, 4.1)], link=(gap(2.0, 1.0, "sta2"),)) == {}
    assert cost([(4, 4.1)], link=(gap(2.0, 1.0, "sta1", "sta2"),))["interruptions"] == 1
