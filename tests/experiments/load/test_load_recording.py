"""The ledger's buffers become the tables that were recorded."""

from hypothesis import given
from hypothesis import strategies as st

from experiments.load.recording import MARKED, DeliveredLog, PublishedLog, published_table
from records.marker import SIZE, Marker, pack_into
from records.schema import PUBLISHED, Outcome
from records.workload import Selection


def body(producer: int, seq: int, size: int = SIZE) -> bytes:
    made = bytearray(size)
    pack_into(made, Marker(producer, seq, 5))
    return bytes(made)


def delivered_log(*consumers: int) -> DeliveredLog:
    log = DeliveredLog()
    log.by_consumer = dict.fromkeys(consumers, 0)
    return log


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(24, 60), st.booleans()
        ),
        max_size=30,
    )
)
def test_what_arrives_is_in_the_table_in_order(rows: list[tuple[int, int, int, int, bool]]) -> None:
    log = delivered_log(0, 1, 2, 3)
    for t, (consumer, producer, seq, size, again) in enumerate(rows):
        log.arrived(consumer, t, body(producer, seq, size), again)
    table, unreadable = log.table()
    assert table.schema == MARKED
    assert unreadable == 0
    expected = [
        {
            **{"consumer": c, "producer": p, "seq": s, "t_recv_ns": t, "arrival": t, "redelivered": again},
            **{"t_send_ns": 5, "body_bytes": size},
        }
        for t, (c, p, s, size, again) in enumerate(rows)
    ]
    assert table.to_pylist() == expected
    assert sum(log.by_consumer.values()) == len(rows)


@given(junk=st.lists(st.binary(max_size=60).filter(lambda data: not data.startswith(b"AWR1"))))
def test_what_has_no_marker_is_counted_and_not_in_the_table(junk: list[bytes]) -> None:
    log = delivered_log(0)
    log.arrived(0, 1, body(1, 1), False)
    for data in junk:
        log.arrived(0, 2, data, False)
    table, unreadable = log.table()
    assert (table.num_rows, unreadable) == (1, len(junk))


def test_a_marker_with_numbers_no_producer_has_is_unreadable() -> None:
    log = delivered_log(0)
    log.arrived(0, 1, body(2**31, 0), False)
    log.arrived(0, 1, body(0, 2**63), False)
    table, unreadable = log.table()
    assert (table.num_rows, unreadable) == (0, 2)


def test_rows_keep_what_became_of_each_message() -> None:
    log = PublishedLog(producer=7, topic=2)
    for seq in range(4):
        log.sent(seq * 10, seq * 10 + 1, seq + 50, 100 + seq)
    log.answered(0, 99)
    log.refused(2)
    log.given_up(3, 77)
    table = published_table([log])
    assert table.schema == PUBLISHED
    rows = table.to_pylist()
    assert [row["outcome"] for row in rows] == [Outcome.ACKED, Outcome.IN_DOUBT, Outcome.FAILED, Outcome.IN_DOUBT]
    assert [row["t_ack_ns"] for row in rows] == [99, None, None, None]
    assert [row["t_given_up_ns"] for row in rows] == [None, None, None, 77]
    assert [row["property"] for row in rows] == [50, 51, 52, 53]
    assert [row["body_bytes"] for row in rows] == [100, 101, 102, 103]
    assert {(row["producer"], row["topic"]) for row in rows} == {(7, 2)}
    assert (log.acked, log.failed, len(log)) == (1, 2, 4)


def test_answered_messages_that_consumers_want_are_counted() -> None:
    log = PublishedLog(producer=7, topic=2, wanted=Selection(low=3, high=5))
    for seq, prop in enumerate((2, 3, 4, 5, 4)):
        log.sent(0, 0, prop, 24)
        if seq < 4:
            log.answered(seq, 9)
    assert (log.acked, log.wanted) == (4, 2)


def test_producers_are_in_order_and_nothing_published_is_a_table_too() -> None:
    logs = [PublishedLog(producer=number, topic=0) for number in (5, 1)]
    for log in logs:
        log.sent(0, 0, None, 24)
    table = published_table(logs)
    assert table.column("producer").to_pylist() == [1, 5]
    assert table.column("property").to_pylist() == [None, None]
    assert published_table([]).schema == PUBLISHED
