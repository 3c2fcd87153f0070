from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from ledger_tables import consumers, delivered, published

from records.audience import Audience, audiences
from records.ledger import first_deliveries, reconcile, until
from records.manifest import Consumer
from records.nodes import Absence
from records.schema import DELIVERED, PUBLISHED, Outcome

FIVE = [(0, seq) for seq in range(5)]


def test_all_delivered_in_order_closes_with_nothing_to_report() -> None:
    result = reconcile(published(FIVE), delivered([(0, 0, seq) for seq in range(5)]), consumers())
    assert (result.expected, result.delivered) == (5, 5)
    assert (result.lost, result.in_doubt, result.duplicates, result.reordered, result.foreign) == (0, 0, 0, 0, 0)
    assert result.closes


def test_a_gap_is_lost_and_a_missing_tail_is_in_doubt() -> None:
    result = reconcile(published(FIVE), delivered([(0, 0, 0), (0, 0, 2)]), consumers())
    assert (result.delivered, result.lost, result.in_doubt) == (2, 1, 2)


def test_a_send_without_an_answer_is_never_lost() -> None:
    sends = published(FIVE, outcomes={(0, 1): Outcome.IN_DOUBT})
    result = reconcile(sends, delivered([(0, 0, 0), (0, 0, 2), (0, 0, 3), (0, 0, 4)]), consumers())
    assert (result.lost, result.in_doubt) == (0, 1)


def test_a_refused_send_is_not_expected() -> None:
    sends = published(FIVE, outcomes={(0, 4): Outcome.FAILED})
    result = reconcile(sends, delivered([(0, 0, seq) for seq in range(4)]), consumers())
    assert (result.expected, result.refused, result.in_doubt) == (4, 1, 0)


def test_a_second_copy_is_a_duplicate_and_nothing_else() -> None:
    result = reconcile(published(FIVE), delivered([(0, 0, seq) for seq in (0, 1, 1, 2, 3, 4)]), consumers())
    assert (result.duplicates, result.reordered, result.lost) == (1, 0, 0)


def test_an_overtaken_message_is_reordered_and_nothing_else() -> None:
    result = reconcile(published(FIVE), delivered([(0, 0, seq) for seq in (0, 2, 1, 3, 4)]), consumers())
    assert (result.reordered, result.duplicates, result.lost) == (1, 0, 0)


def test_a_delivery_that_nobody_sent_does_not_close() -> None:
    result = reconcile(published(FIVE), delivered([*((0, 0, seq) for seq in range(5)), (0, 9, 0)]), consumers())
    assert result.foreign == 1
    assert not result.closes


def test_a_selector_narrows_what_is_expected() -> None:
    narrow = [Audience(consumers=(0,), topic=0, selector=(0, 10))]
    result = reconcile(published(FIVE, prop=50), delivered([]), narrow)
    assert result.expected == 0
    assert reconcile(published(FIVE, prop=5), delivered([]), narrow).expected == 5


def test_what_came_after_a_moment_has_not_come() -> None:
    sends, arrivals = until(published(FIVE), delivered([(0, 0, seq) for seq in range(5)], t_recv_ns=1000), 2600)
    assert sends.column("outcome").to_pylist() == [0, 0, 0, 2, 2]
    assert sends.column("t_ack_ns").to_pylist() == [500, 1500, 2500, None, None]
    assert sends.schema == published(FIVE).schema
    assert len(until(sends, arrivals, 1002)[1]) == 3


@given(
    arrivals=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 9)), max_size=60),
    outcomes=st.dictionaries(st.tuples(st.integers(0, 1), st.integers(0, 9)), st.sampled_from(list(Outcome))),
)
def test_the_books_always_balance(
    arrivals: list[tuple[int, int, int]], outcomes: dict[tuple[int, int], Outcome]
) -> None:
    sends = [(producer, seq) for producer in range(2) for seq in range(10)]
    table = delivered(arrivals)
    result = reconcile(published(sends, outcomes=outcomes), table, consumers(3))
    assert result.expected == result.delivered + result.lost + result.in_doubt
    assert result.expected + result.refused == 3 * len(sends)
    assert result.delivered == len(set(arrivals)) == int(first_deliveries(table, consumers(3)).sum())
    assert result.delivered + result.duplicates == len(arrivals)
    assert result.foreign == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
        max_size=60,
    ),
    st.booleans(),
)
def test_of_several_copies_the_earliest_is_the_first_delivery(
    rows: list[tuple[int, int, int, int, int]], share: bool
) -> None:
    """Consumers 3 and 4 are in no audience."""
    consumer, producer, seq, t_recv, arrival = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [], [])
    table = pa.table(
        [consumer, producer, seq, t_recv, arrival, [False] * len(rows)], schema=DELIVERED
    )  # fmt: skip
    earliest: dict[tuple[int, int, int], int] = {}
    for place, (who, *message, _, _) in enumerate(rows):
        key = (0 if share else who, *message)
        if who < 3 and (key not in earliest or rows[place][3:] < rows[earliest[key]][3:]):
            earliest[key] = place
    first = first_deliveries(table, consumers(3, share=share))
    assert [place for place, one in enumerate(first) if one] == sorted(earliest.values())


def test_one_of_those_who_share_a_channel_is_enough() -> None:
    table = delivered([(seq % 2, 0, seq) for seq in range(5)])
    result = reconcile(published(FIVE), table, consumers(2, share=True))
    assert (result.expected, result.delivered, result.duplicates, result.reordered) == (5, 5, 0, 0)


def test_a_message_that_two_of_them_have_is_a_duplicate() -> None:
    table = delivered([*((0, 0, seq) for seq in range(5)), (1, 0, 3)])
    result = reconcile(published(FIVE), table, consumers(2, share=True))
    assert (result.delivered, result.duplicates, result.lost) == (5, 1, 0)
    assert first_deliveries(table, consumers(2, share=True)).tolist() == [True] * 5 + [False]


def test_those_who_share_have_each_an_order_of_their_own() -> None:
    table = delivered([(0, 0, 1), (1, 0, 0), (1, 0, 3), (0, 0, 2), (1, 0, 4)])
    assert reconcile(published(FIVE), table, consumers(2, share=True)).reordered == 0
    assert reconcile(published(FIVE), delivered([(0, 0, 1), (0, 0, 0)]), consumers(2, share=True)).reordered == 1


def test_what_waits_at_one_receiver_of_a_queue_is_not_lost_because_another_is_ahead() -> None:
    slow = delivered([(0, 0, 0), (1, 0, 2), (1, 0, 4)])  # 1 and 3 may wait at receiver 0
    result = reconcile(published(FIVE), slow, consumers(2, share=True))
    assert (result.delivered, result.lost, result.in_doubt) == (3, 0, 2)
    both = delivered([(0, 0, 3), (1, 0, 2), (1, 0, 4)])  # both are past 0 and 1
    result = reconcile(published(FIVE), both, consumers(2, share=True))
    assert (result.delivered, result.lost, result.in_doubt) == (3, 2, 0)
    nothing = reconcile(published(FIVE), delivered([(1, 0, 4)]), consumers(2, share=True))
    assert (nothing.lost, nothing.in_doubt) == (0, 4)


STREAMS = [(producer, seq) for producer in range(3) for seq in range(5)]
TWO_ENDS = consumers(2, share=True, undivided=True)


def test_streams_with_a_receiver_each_close() -> None:
    table = delivered([(producer % 2, producer, seq) for producer, seq in STREAMS])
    result = reconcile(published(STREAMS), table, TWO_ENDS)
    assert (result.expected, result.delivered, result.foreign, result.closes) == (15, 15, 0, True)


def test_what_another_receiver_has_of_a_stream_is_foreign_and_nothing_else() -> None:
    astray = {(0, 2), (2, 3), (2, 4)}
    table = delivered([((producer + ((producer, seq) in astray)) % 2, producer, seq) for producer, seq in STREAMS])
    result = reconcile(published(STREAMS), table, TWO_ENDS)
    assert (result.delivered, result.foreign, result.closes) == (15, 3, False)
    assert (result.lost, result.in_doubt, result.duplicates, result.reordered) == (0, 0, 0, 0)
    assert reconcile(published(STREAMS), table, consumers(2, share=True)).foreign == 0  # a queue may give them so


def test_a_stream_belongs_to_whoever_had_most_of_it() -> None:
    table = delivered([(1, 0, 0), *((0, 0, seq) for seq in range(1, 5))])
    assert reconcile(published(FIVE), table, TWO_ENDS).foreign == 1


def test_what_nobody_sent_is_foreign_once_and_moves_no_stream() -> None:
    got = [(0, 0, seq) for seq in range(5)]
    assert reconcile(published(FIVE), delivered([*got, (1, 0, 9)]), TWO_ENDS).foreign == 1
    assert reconcile(published(FIVE[1:]), delivered([*got[1:], (1, 0, 0)]), TWO_ENDS).foreign == 1


def test_a_copy_at_another_receiver_is_foreign_and_a_duplicate() -> None:
    table = delivered([*((0, 0, seq) for seq in range(5)), (1, 0, 4)])
    result = reconcile(published(FIVE), table, TWO_ENDS)
    assert (result.duplicates, result.foreign) == (1, 1)


def test_a_gap_in_a_stream_is_lost_though_the_other_receiver_has_nothing_of_it() -> None:
    table = delivered([(0, 0, 0), (0, 0, 2)])
    result = reconcile(published(FIVE), table, TWO_ENDS)
    assert (result.delivered, result.lost, result.in_doubt) == (2, 1, 2)
    of_a_queue = reconcile(published(FIVE), table, consumers(2, share=True))
    assert (of_a_queue.lost, of_a_queue.in_doubt) == (0, 3)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 7)), max_size=30))
def test_of_any_arrivals_those_are_foreign_that_nobody_sent_or_that_are_not_at_their_streams_receiver(
    rows: list[tuple[int, int, int]],
) -> None:
    sent = [(producer, seq) for producer in range(4) for seq in range(6)]
    known = [(who, message[0]) for who, *message in rows if tuple(message) in sent]
    astray = sum(
        len(theirs) - max(map(theirs.count, theirs))
        for producer in range(4)
        if (theirs := [who for who, its in known if its == producer])
    )
    unsent = {tuple(row) for row in rows if row[1:] not in sent}
    result = reconcile(published(sent), delivered(rows), consumers(3, share=True, undivided=True))
    assert result.foreign == astray + len({row[1:] for row in unsent})
    assert result.expected == result.delivered + result.lost + result.in_doubt


CALLERS = (
    Audience(consumers=(0, 1), topic=0),
    Audience(consumers=(2,), topic=0, caller=0),
    Audience(consumers=(3,), topic=0, caller=1),
)
ASKED = [(producer, seq) for producer in (0, 1) for seq in range(2)]


def test_replies_belong_to_their_callers_and_are_no_deliveries() -> None:
    requests = [(seq, producer, seq) for producer, seq in ASKED]
    replies = [(2 + producer, producer, seq) for producer, seq in ASKED]
    result = reconcile(published(ASKED, t_ack_ns=2 * 10**9), delivered(requests + replies), CALLERS)
    assert (result.expected, result.delivered, result.duplicates) == (4, 4, 0)
    assert result.closes


def test_a_reply_to_the_wrong_caller_does_not_close() -> None:
    requests = [(seq, producer, seq) for producer, seq in ASKED]
    result = reconcile(published(ASKED), delivered([*requests, (3, 0, 1), (2, 1, 1)]), CALLERS)
    assert result.foreign == 2
    assert not result.closes


def test_a_reply_that_answers_another_request_of_its_caller_does_not_close() -> None:
    """Of two that changed places one came after its request had been answered."""
    requests = [(seq, producer, seq) for producer, seq in ASKED]
    came = delivered([*requests, (2, 0, 1), (2, 0, 0)])
    first, second = came.column("t_recv_ns").to_pylist()[-2:]
    sent = published(ASKED)
    for of_the_first, foreign in (((first, second), 1), ((second, first), 0), ((None, first), 0)):
        answers = pa.array([*of_the_first, None, None], pa.int64())
        result = reconcile(sent.set_column(7, PUBLISHED.field(7), answers), came, CALLERS)
        assert (result.foreign, result.closes) == (foreign, not foreign)


def test_what_a_receiver_of_a_queue_had_that_has_left_for_good_is_lost_and_does_not_wait() -> None:
    """The second was handed all odd ones from its end on."""
    sent = published([(0, seq) for seq in range(10)])
    table = delivered([*((0, 0, seq) for seq in range(0, 10, 2)), (1, 0, 1)])
    left = Absence(left_ns=3, due_ns=None, cause="vanish")
    receivers = (Consumer(id=0, node="a", topic=0), Consumer(id=1, node="b", topic=0, absences=(left,)))
    result = reconcile(sent, table, audiences(receivers, share=True))
    assert (result.lost, result.in_doubt) == (3, 1)  # nothing came behind the last
    away = tuple(one.model_copy(update={"absences": ()}) for one in receivers)
    assert reconcile(sent, table, audiences(away, share=True)).in_doubt == 4
