"""Pacing of one producer, on a fake clock."""

import asyncio
from collections.abc import Iterator
from itertools import count, cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_fake_time import MS, FakeClock, HandStack, hand_producer

from experiments.load.publishing import CATCH_UP_NS, PAUSE_NS, Producer
from records import marker
from records.schema import Outcome
from records.sending import Bursts
from stacks.driver import EndedError, UnansweredError


def _seq(body: bytes) -> int:
    return int(np.frombuffer(body, marker.MANY, count=1)["seq"][0])


def every_10_ms() -> Iterator[int]:
    return count(0, 10 * MS)


def outcomes(producer) -> list[int]:
    return producer.log.table().column("outcome").to_pylist()


def test_closed_loop_sends_the_next_when_the_last_is_answered() -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=7 * MS)
    producer = hand_producer(clock, stack)
    asyncio.run(producer.closed_loop(end_ns=30 * MS))
    assert stack.sent_at_ns == [0, 7 * MS, 14 * MS, 21 * MS, 28 * MS]
    table = producer.log.table()
    assert table.column("t_ack_ns").to_pylist() == [7 * MS, 14 * MS, 21 * MS, 28 * MS, 35 * MS]
    assert table.column("t_sched_ns") == table.column("t_send_ns")


def test_closed_loop_has_one_message_under_way_at_most() -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None)
        producer = hand_producer(clock, stack)
        task = asyncio.ensure_future(producer.closed_loop(end_ns=1000 * MS))
        for number in range(1, 5):
            for _ in range(5):
                await asyncio.sleep(0)
            assert len(stack.sent_at_ns) == number
            clock.t_ns += MS
            stack.waiting[-1].set_result(None)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert outcomes(producer) == [Outcome.ACKED] * 4 + [Outcome.IN_DOUBT]

    asyncio.run(story())


def test_closed_loop_pauses_after_a_refused_send() -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=MS, refuses=frozenset({1, 2}))
    producer = hand_producer(clock, stack)
    asyncio.run(producer.closed_loop(end_ns=2 * PAUSE_NS + 2 * MS))
    assert stack.sent_at_ns == [0, MS, MS + PAUSE_NS, MS + 2 * PAUSE_NS]
    assert outcomes(producer) == [Outcome.ACKED, Outcome.FAILED, Outcome.FAILED, Outcome.ACKED]
    assert (producer.log.acked, producer.log.failed) == (2, 2)


def test_what_nobody_answers_stays_in_doubt_and_is_waited_for_no_longer() -> None:
    clock = FakeClock()
    producer = hand_producer(clock, HandStack(clock, answer_ns=MS, errors={1: UnansweredError("no reply in time")}))
    asyncio.run(producer.closed_loop(end_ns=PAUSE_NS + 2 * MS))
    assert outcomes(producer) == [Outcome.ACKED, Outcome.IN_DOUBT, Outcome.ACKED]
    assert (producer.log.acked, producer.log.failed) == (2, 1)


@pytest.mark.parametrize("bursts", [None, Bursts(messages=2, pause_s=0.001)])
def test_closed_loop_ends_with_what_carries_its_messages(bursts: Bursts | None) -> None:
    clock = FakeClock()
    producer = hand_producer(clock, HandStack(clock, answer_ns=MS, errors={2: EndedError("the tunnel is closed")}))
    asyncio.run(producer.closed_loop(end_ns=1000 * MS, bursts=bursts))
    assert outcomes(producer) == [Outcome.ACKED, Outcome.ACKED, Outcome.IN_DOUBT]


def test_open_loop_leaves_what_nobody_answers_in_doubt() -> None:
    async def story() -> list[int]:
        clock = FakeClock()
        producer = hand_producer(clock, HandStack(clock, errors={1: UnansweredError("no reply in time")}))
        await producer.open_loop(go_ns=0, end_ns=30 * MS, schedule=every_10_ms())
        await asyncio.sleep(0)
        return outcomes(producer)

    assert asyncio.run(story()) == [Outcome.ACKED, Outcome.IN_DOUBT, Outcome.ACKED]


def test_closed_loop_sends_the_same_message_again_while_the_destination_is_full() -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=MS, full=frozenset({1, 2}))
    producer = hand_producer(clock, stack)
    asyncio.run(producer.closed_loop(end_ns=2 * PAUSE_NS + 2 * MS))
    assert stack.sent_at_ns == [0, MS, MS + PAUSE_NS, MS + 2 * PAUSE_NS]
    assert stack.bodies[1] == stack.bodies[2] == stack.bodies[3] != stack.bodies[0]
    assert outcomes(producer) == [Outcome.ACKED, Outcome.ACKED]
    assert producer.log.retries == 2
    table = producer.log.table()
    assert table.column("t_send_ns").to_pylist() == [0, MS]
    assert table.column("t_ack_ns").to_pylist() == [MS, 2 * MS + 2 * PAUSE_NS]


def test_a_message_that_is_still_refused_when_time_is_up_has_failed() -> None:
    clock = FakeClock()
    producer = hand_producer(clock, HandStack(clock, full=frozenset(range(100))))
    asyncio.run(producer.closed_loop(end_ns=3 * PAUSE_NS))
    assert outcomes(producer) == [Outcome.FAILED]
    assert producer.log.retries == 3


def test_a_connection_that_breaks_leaves_the_message_under_way_in_doubt_and_ends_the_loop() -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None)
        producer = hand_producer(clock, stack)
        task = asyncio.ensure_future(producer.closed_loop(end_ns=1000 * MS))
        await asyncio.sleep(0)
        stack.lose()
        await asyncio.wait_for(task, 120)
        assert outcomes(producer) == [Outcome.IN_DOUBT]

    asyncio.run(story())


def test_open_loop_keeps_its_schedule_without_waiting_for_answers() -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None)
        producer = hand_producer(clock, stack)
        await producer.open_loop(go_ns=5 * MS, end_ns=45 * MS, schedule=every_10_ms())
        assert stack.sent_at_ns == [5 * MS, 15 * MS, 25 * MS, 35 * MS]
        stack.waiting[2].set_result(None)
        await asyncio.sleep(0)
        producer.abandon()
        await asyncio.sleep(0)
        assert outcomes(producer) == [Outcome.IN_DOUBT, Outcome.IN_DOUBT, Outcome.ACKED, Outcome.IN_DOUBT]

    asyncio.run(story())


def test_an_answer_that_has_come_in_the_last_turn_counts_once() -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None)
        producer = hand_producer(clock, stack)
        await producer.open_loop(go_ns=5 * MS, end_ns=25 * MS, schedule=every_10_ms())
        stack.waiting[1].set_result(None)  # whose call back the loop has not made yet
        producer.abandon()
        for _ in range(2):
            assert outcomes(producer) == [Outcome.IN_DOUBT, Outcome.ACKED]
            assert producer.log.acked == 1
            await asyncio.sleep(0)

    asyncio.run(story())


@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_driver_raises_by_mistake_ends_an_open_loop_too(at_once: bool) -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None)
        producer = hand_producer(clock, stack)
        await producer.open_loop(go_ns=5 * MS, end_ns=25 * MS, schedule=every_10_ms())
        stack.waiting[0].set_exception(ConnectionResetError("by a peer"))
        if not at_once:
            await asyncio.sleep(0)
        with pytest.raises(ConnectionResetError, match="by a peer"):
            producer.abandon()

    asyncio.run(story())


def test_open_loop_does_not_drift_after_a_stall() -> None:
    clock = FakeClock(oversleeps={20 * MS: 35 * MS})
    stack = HandStack(clock)
    producer = hand_producer(clock, stack)
    asyncio.run(producer.open_loop(go_ns=0, end_ns=100 * MS, schedule=every_10_ms()))
    # Woken at 55 instead of 20: what was due meanwhile leaves at once, then the schedule is as before.
    assert [at // MS for at in stack.sent_at_ns] == [0, 10, 55, 55, 55, 55, 60, 70, 80, 90]
    table = producer.log.table()
    assert [t // MS for t in table.column("t_sched_ns").to_pylist()] == list(range(0, 100, 10))
    assert producer.lateness.worst_ns == 35 * MS


def test_lateness_before_the_window_does_not_count() -> None:
    clock = FakeClock(oversleeps={20 * MS: 35 * MS})
    producer = hand_producer(clock, HandStack(clock))
    producer.lateness.since_ns = 50 * MS
    asyncio.run(producer.open_loop(go_ns=0, end_ns=100 * MS, schedule=every_10_ms()))
    assert producer.lateness.worst_ns == 5 * MS


def test_open_loop_gives_up_what_is_far_too_late_and_its_lateness_shows_it() -> None:
    clock = FakeClock(oversleeps={20 * MS: 10 * CATCH_UP_NS})
    stack = HandStack(clock)
    producer = hand_producer(clock, stack)
    asyncio.run(producer.open_loop(go_ns=0, end_ns=100 * MS, schedule=every_10_ms()))
    assert len(stack.sent_at_ns) == 2
    assert producer.lateness.worst_ns == 10 * CATCH_UP_NS


def test_open_loop_marks_refused_and_cut_off_messages_apart() -> None:
    async def story() -> None:
        clock = FakeClock()
        stack = HandStack(clock, answer_ns=None, refuses=frozenset({1}))
        producer = hand_producer(clock, stack)
        await producer.open_loop(go_ns=0, end_ns=30 * MS, schedule=every_10_ms())
        stack.lose()
        await asyncio.sleep(0)
        assert outcomes(producer) == [Outcome.IN_DOUBT, Outcome.FAILED, Outcome.IN_DOUBT]
        await producer.open_loop(go_ns=30 * MS, end_ns=60 * MS, schedule=every_10_ms())
        assert len(stack.sent_at_ns) == 3
        assert outcomes(producer)[3:] == [Outcome.IN_DOUBT] * 3, "what was due is not forgotten"
        table = producer.log.table()
        assert [t // MS for t in table.column("t_sched_ns").to_pylist()] == [0, 10, 20, 30, 40, 50]
        assert table.column("body_bytes").to_pylist()[3:] == table.column("body_bytes").to_pylist()[:3]

    asyncio.run(story())


def story_of(producer: Producer, clock: FakeClock, stack: HandStack, **how: Any) -> list[int]:
    """How many are under way at most as answers come, one a millisecond, until the loop ends."""

    async def story() -> list[int]:
        task = asyncio.ensure_future(producer.closed_loop(**how))
        seen = []
        while not task.done():
            for _ in range(6):
                await asyncio.sleep(0)
            waiting = [one for one in stack.waiting if not one.done()]
            seen.append(len(waiting))
            clock.t_ns += MS
            if waiting:
                waiting[0].set_result(None)
        await task
        return seen

    return asyncio.run(story())


@given(in_flight=st.integers(1, 20))
def test_closed_loop_keeps_so_many_in_flight_as_it_is_told(in_flight: int) -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=None)
    producer = hand_producer(clock, stack)
    under_way = story_of(producer, clock, stack, end_ns=30 * MS, in_flight=in_flight)
    assert max(under_way) == in_flight
    assert under_way[0] == in_flight
    assert outcomes(producer) == [Outcome.ACKED] * len(producer.log)
    assert [_seq(body) for body in stack.bodies] == list(range(len(producer.log)))


@given(in_flight=st.integers(1, 5), messages=st.integers(1, 12))
def test_a_burst_is_answered_to_the_last_before_its_pause(in_flight: int, messages: int) -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=None)
    producer = hand_producer(clock, stack)
    bursts = Bursts(messages=messages, pause_s=0.5)
    story_of(producer, clock, stack, end_ns=1600 * MS, in_flight=in_flight, bursts=bursts)
    table = producer.log.table()
    sent, answered = (table.column(name).to_numpy() for name in ("t_send_ns", "t_ack_ns"))
    assert len(sent) > 2 * messages
    assert len(sent) <= 4 * messages
    for first in range(messages, len(sent), messages):
        assert sent[first] - max(answered[:first]) >= 500 * MS
    assert len(stack.waiting) == len(sent)


def test_what_is_sent_again_is_the_message_that_was_refused_though_others_have_left_meanwhile() -> None:
    clock = FakeClock()
    stack = HandStack(clock, answer_ns=MS, full=frozenset({0}))
    producer = hand_producer(clock, stack)
    asyncio.run(producer.closed_loop(end_ns=30 * MS, in_flight=2))
    sequence = [_seq(body) for body in stack.bodies]
    assert sequence.count(0) == 2
    assert sorted(set(sequence)) == list(range(len(producer.log)))
    assert producer.log.retries == 1


def test_rows_have_the_size_of_each_message() -> None:
    clock = FakeClock()
    producer = hand_producer(clock, HandStack(clock, answer_ns=MS))
    producer.bodies = cycle([bytearray(24), bytearray(50)])
    asyncio.run(producer.closed_loop(end_ns=4 * MS))
    assert producer.log.table().column("body_bytes").to_pylist() == [24, 50, 24, 50]
