"""Latencies of what was sent in a window, of which some have only a lower bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_tables import delivered, published

from records.audience import Audience, audiences
from records.ledger import reconcile
from records.manifest import Consumer
from records.schema import Outcome
from records.waits import NEVER, Lengths, Waits, read_sent

MANY = st.lists(st.tuples(st.floats(0.001, 100), st.booleans()), min_size=1, max_size=40)


def lengths(values: list[tuple[float, bool]]) -> Lengths:
    seconds, absent = (np.array(column) for column in zip(*values, strict=True))
    return Lengths(seconds=seconds, absent=absent.astype(bool))


def waits(begun: list[int], ended: list[int]) -> Waits:
    return Waits(begun_ns=np.array(begun), ended_ns=np.array(ended), could_ns=np.full(len(begun), NEVER))


@given(MANY, st.floats(0, 1), st.data())
def test_whatever_the_missing_took_a_figure_is_what_it_says(
    values: list[tuple[float, bool]], share: float, data: st.DataObject
) -> None:
    found = lengths(values)
    true = np.array([one + (data.draw(st.floats(0, 1000)) if absent else 0) for one, absent in values])
    for figure, value in ((found.mean(), true.mean()), (found.quantile(share), np.quantile(true, share))):
        assert figure is not None
        if figure.at_least:
            assert value >= figure.value * (1 - 1e-12)
        else:
            assert value == pytest.approx(figure.value, rel=1e-12)


def test_a_quantile_below_all_bounds_is_known_and_one_among_them_is_not() -> None:
    one_lost = lengths([(0.1 * number, False) for number in range(1, 100)] + [(60.0, True)])
    assert one_lost.quantile(0.5) == (pytest.approx(5.05), False)
    assert one_lost.quantile(0.999) == (pytest.approx(60 - 0.099 * 50.1), True)
    assert one_lost.mean() == (pytest.approx((4950 * 0.1 + 60) / 100), True)
    lost_late = lengths([(0.1 * number, False) for number in range(1, 100)] + [(0.2, True)])
    assert lost_late.quantile(0.5) == (pytest.approx(4.95), True)  # the missing one may be on either side of it
    assert lengths([(1.0, False), (3.0, False)]).quantile(0.5) == (2.0, False)


def test_without_anything_there_is_no_figure() -> None:
    nothing = waits([5], [NEVER]).begun_in(6, 9).lengths(10)
    assert (len(nothing), nothing.mean(), nothing.quantile(0.5)) == (0, None, None)


def test_what_is_waited_for_no_longer_took_until_then_at_least_and_what_nobody_took_is_not_under_way() -> None:
    """Number 1 was given up after 3 us; 2, due at 2 us, was never handed over.  The others are answered."""
    doubt = {(0, seq): Outcome.IN_DOUBT for seq in (1, 2)}
    sends = published([(0, seq) for seq in range(4)], outcomes=doubt, given_up={(0, 1): 4000, (0, 2): 2000})
    found = read_sent(sends, delivered([(0, 0, 0)], t_recv_ns=500), [Audience(consumers=(0,), topic=0)])
    answers = found.answers.lengths(10**9)
    assert answers.absent.tolist() == [False, True, True, False]
    assert (answers.seconds[1:3] * 1e9).round().tolist() == [3000, 0]
    assert found.awaited.ended_ns.tolist() == [500, NEVER, 2000, NEVER], "a request that is given up may yet arrive"


def test_what_began_in_the_window_counts_whenever_it_ended() -> None:
    some = waits([5 * 10**9, 10 * 10**9, 19 * 10**9, 20 * 10**9], [12 * 10**9, 30 * 10**9, NEVER, 21 * 10**9])
    found = some.begun_in(10 * 10**9, 20 * 10**9).lengths(35 * 10**9)
    assert found.seconds.tolist() == [20, 16]
    assert (found.missing, found.ended_s.tolist()) == (1, [20])


def test_every_consumer_should_have_every_message_of_its_topic_but_for_refused_ones() -> None:
    sent = published([(1, 0), (1, 1), (1, 2), (1, 3)], outcomes={(1, 2): Outcome.FAILED, (1, 3): Outcome.FAILED})
    got = delivered([(10, 1, 0), (10, 1, 0), (11, 1, 0), (11, 1, 1), (10, 1, 3), (99, 1, 1)])
    consumers = (Consumer(id=10, node="a", topic=0), Consumer(id=11, node="a", topic=0),
                 Consumer(id=12, node="a", topic=5))  # fmt: skip
    found = read_sent(sent, got, audiences(consumers, share=False))
    # (10, 0), (10, 1), (11, 0), (11, 1), and (10, 3), which was refused and came all the same.
    assert found.deliveries.begun_ns[found.overtaken].tolist() == [1000]  # 10 had the fourth, and never the second
    assert found.awaited.ended_ns.max() < NEVER
    assert len(found.deliveries.begun_ns) == 5
    assert np.count_nonzero(found.deliveries.ended_ns == NEVER) == 1
    assert len(found.answers.begun_ns) == 2
    # Both have the first message, consumer 10 never has the second; whether 11 should have the refused fourth is open.
    assert found.lasts.begun_ns.tolist() == [0, 1000]
    assert (found.lasts.ended_ns == NEVER).tolist() == [False, True]
    assert found.lasts.ended_ns[0] == found.deliveries.ended_ns[found.deliveries.begun_ns == 0].max()
    selective = read_sent(published([(1, 0)], prop=7), got, [Audience(consumers=(10,), topic=0, selector=(8, 9))])
    assert (len(selective.deliveries.begun_ns), len(selective.lasts.begun_ns)) == (0, 0)


@given(st.data())
def test_as_many_are_missing_as_the_reconciliation_says(data: st.DataObject) -> None:
    sends = [(producer, seq) for producer in (1, 2) for seq in range(4)]
    outcomes = {one: data.draw(st.sampled_from(Outcome)) for one in sends}
    arrivals = data.draw(st.lists(st.tuples(st.sampled_from([10, 11]), st.sampled_from(sends)), max_size=20))
    tables = published(sends, outcomes=outcomes), delivered([(consumer, *one) for consumer, one in arrivals])
    consumers = (Consumer(id=10, node="a", topic=0), Consumer(id=11, node="a", topic=0))
    them = audiences(consumers, share=False)
    sent, account = read_sent(*tables, them), reconcile(*tables, them)
    found = sent.deliveries
    assert len(found.ended_ns) == account.expected
    assert account.lost <= np.count_nonzero(sent.overtaken) <= account.lost + account.in_doubt
    assert np.count_nonzero(found.ended_ns == NEVER) == account.lost + account.in_doubt
