"""The ledger while it grows: flat buffers, so that recording a message makes no object that stays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from records import marker
from records.schema import DELIVERED, PUBLISHED, Outcome
from records.workload import Selection

# What a client writes of its deliveries: the ledger's columns, when the message says it was sent, and how long it is.
MARKED = DELIVERED.append(pa.field("t_send_ns", pa.int64(), nullable=False)).append(
    pa.field("body_bytes", pa.int32(), nullable=False)
)
_NO_TIME = -1
_ACKED, _FAILED, _IN_DOUBT = int(Outcome.ACKED), int(Outcome.FAILED), int(Outcome.IN_DOUBT)
_MAX_PRODUCER, _MAX_SEQ = 2**31 - 1, 2**63 - 1


class PublishedLog:
    """What one producer has sent; the row number is the sequence number.  retries: sends that were repeated."""

    __slots__ = (
        "_acks",
        "_given_up",
        "_outcomes",
        "_properties",
        "_scheduled",
        "_sends",
        "_sizes",
        "_wanted",
        "acked",
        "failed",
        "producer",
        "retries",
        "topic",
        "wanted",
    )

    def __init__(self, *, producer: int, topic: int, wanted: Selection | None = None) -> None:
        """wanted: which properties the topic's consumers want; None = messages have none."""
        self.producer = producer
        self.topic = topic
        self.acked = 0
        self.wanted = 0
        self.failed = 0
        self.retries = 0
        self._scheduled = array("q")
        self._sends = array("q")
        self._acks = array("q")
        self._given_up: dict[int, int] = {}
        self._outcomes = array("b")
        self._properties = array("q")
        self._wanted = range(wanted.low, wanted.high) if wanted else None
        self._sizes = array("i")

    def __len__(self) -> int:
        return len(self._sends)

    def sent(self, t_sched_ns: int, t_send_ns: int, prop: int | None, body_bytes: int) -> None:
        """A new row, in doubt until it is answered."""
        self._scheduled.append(t_sched_ns)
        self._sends.append(t_send_ns)
        self._acks.append(_NO_TIME)
        self._outcomes.append(_IN_DOUBT)
        self._sizes.append(body_bytes)
        if prop is not None:
            self._properties.append(prop)

    def answered(self, seq: int, t_ack_ns: int) -> None:
        self._acks[seq] = t_ack_ns
        self._outcomes[seq] = _ACKED
        self.acked += 1
        self.wanted += self._wanted is None or self._properties[seq] in self._wanted

    def refused(self, seq: int) -> None:
        self._outcomes[seq] = _FAILED
        self.failed += 1

    def given_up(self, seq: int, t_ns: int) -> None:
        """It stays in doubt, and is waited for no longer."""
        self.cut_off(seq, t_ns)
        self.failed += 1

    def cut_off(self, seq: int, t_ns: int) -> None:
        """It stays in doubt, as what would have brought an answer has gone; as t_send_ns: it never left."""
        assert self._outcomes[seq] == _IN_DOUBT
        self._given_up[seq] = t_ns

    def table(self) -> pa.Table:
        """The rows in the shape of PUBLISHED."""
        rows = len(self)
        acks = np.array(self._acks, dtype=np.int64)
        given_up = np.full(rows, _NO_TIME, dtype=np.int64)
        given_up[list(self._given_up)] = list(self._given_up.values())
        columns = {
            "producer": np.full(rows, self.producer, np.int32),
            "seq": np.arange(rows, dtype=np.int64),
            "topic": np.full(rows, self.topic, np.int32),
            "body_bytes": np.array(self._sizes, dtype=np.int32),
            "property": pa.array(self._properties, pa.int32()) if self._properties else pa.nulls(rows, pa.int32()),
            "t_sched_ns": np.array(self._scheduled, dtype=np.int64),
            "t_send_ns": np.array(self._sends, dtype=np.int64),
            "t_ack_ns": pa.array(acks, pa.int64(), mask=acks == _NO_TIME),
            "outcome": np.array(self._outcomes, dtype=np.int8),
            "t_given_up_ns": pa.array(given_up, pa.int64(), mask=given_up == _NO_TIME),
        }
        return pa.table(columns, schema=PUBLISHED)


class DeliveredLog:
    """What the node's consumers have received, in order of arrival."""

    def __init__(self) -> None:
        self.unreadable = 0
        self.by_consumer: dict[int, int] = {}
        self._markers = bytearray()
        self._times = array("q")
        self._consumers = array("i")
        self._sizes = array("i")
        self._redelivered = array("b")

    def __len__(self) -> int:
        return len(self._times)

    def arrived(self, consumer: int, t_recv_ns: int, body: bytes, redelivered: bool) -> None:
        """A new row; whether the body's start is a marker is looked at when all is over."""
        if len(body) < marker.SIZE:
            self.unreadable += 1
            return
        self._times.append(t_recv_ns)
        self._consumers.append(consumer)
        self._sizes.append(len(body))
        self._markers += body[: marker.SIZE]
        self._redelivered.append(redelivered)
        self.by_consumer[consumer] += 1

    def table(self) -> tuple[pa.Table, int]:
        """The rows in the shape of MARKED, and how many deliveries had no marker."""
        found = np.frombuffer(self._markers, dtype=marker.MANY)
        readable = (found["magic"] == marker.MAGIC) & (found["producer"] <= _MAX_PRODUCER) & (found["seq"] <= _MAX_SEQ)
        columns: dict[str, np.ndarray] = {
            "consumer": np.array(self._consumers, dtype=np.int32),
            "producer": found["producer"].astype(np.int32),
            "seq": found["seq"].astype(np.int64),
            "t_recv_ns": np.array(self._times, dtype=np.int64),
            "arrival": np.arange(len(self), dtype=np.int64),
            "redelivered": np.array(self._redelivered, dtype=bool),
            "t_send_ns": found["t_send_ns"].astype(np.int64),
            "body_bytes": np.array(self._sizes, dtype=np.int32),
        }
        table = pa.table({name: column[readable] for name, column in columns.items()}, schema=MARKED)
        return table, self.unreadable + int(np.count_nonzero(~readable))


def published_table(logs: Sequence[PublishedLog]) -> pa.Table:
    """All producers' rows, by producer, then sequence number."""
    ordered = sorted(logs, key=lambda log: log.producer)
    return pa.concat_tables([PUBLISHED.empty_table(), *(log.table() for log in ordered)])
