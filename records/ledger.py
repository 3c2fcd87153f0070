"""Reconciling the ledger: what became of each message that each consumer should have had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from records.audience import Audience, audience_of
from records.schema import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """Counts over all pairs (message, audience that should have it); `foreign` counts deliveries outside them.

    A reply belongs to the caller of its request, and to that request: it is foreign to another caller, and where it
    came after the request had been answered, so by another one's reply; else replies are in no count.  Of an undivided
    audience a message belongs to the consumer that had most of its producer's: it is foreign to the others.
    expected = delivered + lost + in_doubt.  lost: the stack answered the send, the audience never had it, though a
    later one overtook it (see `overtaken`).  in_doubt: missing otherwise, or the send was never answered.
    refused: not expected, because the stack refused the send.  duplicates: deliveries of a message beyond the first to
    one audience.  reordered: first deliveries that arrived at a consumer after one with a higher sequence number of the
    same producer.  absent: not expected, because the audience's nodes were gone by plan, see Audience.absent.
    """

    expected: int
    delivered: int
    lost: int
    in_doubt: int
    refused: int
    duplicates: int
    redelivered: int
    reordered: int
    foreign: int
    absent: int = 0

    @property
    def closes(self) -> bool:
        """Whether every delivery is explained by a publication and every expectation by an outcome."""
        return self.foreign == 0 and self.expected == self.delivered + self.lost + self.in_doubt


def first_deliveries(delivered: pa.Table, them: Sequence[Audience]) -> np.ndarray:
    """Boolean mask over `delivered`: the row is its audience's first of that message, in order of arrival.

    Arrivals in one process have an order of their own; those in several are ordered by their times.
    """
    columns = [delivered.column(name).to_numpy() for name in ("producer", "seq", "t_recv_ns", "arrival")]
    producer, seq, t_recv, arrival = columns
    audience = audience_of(delivered.column("consumer").to_numpy(), them)
    order = np.lexsort((arrival, t_recv, seq, producer, audience))
    first = np.ones(len(order), dtype=bool)
    same = (np.diff(audience[order]) == 0) & (np.diff(producer[order]) == 0) & (np.diff(seq[order]) == 0)
    first[1:] = ~same
    mask = np.empty(len(order), dtype=bool)
    mask[order] = first
    return mask & (audience >= 0)


def reconcile(published: pa.Table, delivered: pa.Table, them: Sequence[Audience]) -> Reconciliation:
    """Match deliveries to publications for every audience.  Tables have the shapes of records.schema."""
    totals = dict.fromkeys((one.name for one in fields(Reconciliation)), 0)
    totals["redelivered"] = int(np.count_nonzero(delivered.column("redelivered").to_numpy(zero_copy_only=False)))
    sent, got = _sent(published, them), _got(delivered, them)
    calling = np.array([one.caller is not None for one in them] + [False])  # the last: of no audience, which is -1
    answers = calling[got.audience]
    totals["foreign"] += int(np.count_nonzero(got.audience < 0))
    if calling.any():
        callers = np.array([-1 if one.caller is None else one.caller for one in them] + [-1])
        own = got.producer == callers[got.audience]
        own &= np.isin(got.keys, sent.keys) & ~_after_the_answer(published, delivered)
        totals["foreign"] += int(np.count_nonzero(answers & ~own))
    messages = (got.audience >= 0) & ~answers
    totals["duplicates"] += int(np.count_nonzero(messages & ~got.first))
    once = messages & got.first
    totals["reordered"] += _reordered(got.keys[once], got.consumer[once], got.arrival[once])
    for number, one in enumerate(them):
        if one.caller is None:
            _reconcile_one(totals, one, number, sent, got)
    return Reconciliation(**totals)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What was sent, by topic and then by message; begins, ends: of each audience, its topic's rows."""

    keys: np.ndarray
    outcome: np.ndarray
    t_send_ns: np.ndarray
    prop: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def rows_of(self, number: int) -> np.ndarray:
        return np.arange(self.begins[number], self.ends[number])


def _sent(published: pa.Table, them: Sequence[Audience]) -> _Sent:
    names = ("producer", "seq", "topic", "outcome", "t_send_ns")
    producer, seq, topic, outcome, t_send_ns = (published.column(name).to_numpy() for name in names)
    keys, prop = message_keys(producer, seq), published.column("property").fill_null(-1).to_numpy()
    order = np.lexsort((keys, topic))
    topic, wanted = topic[order], [one.topic for one in them]
    return _Sent(
        keys=keys[order],
        outcome=outcome[order],
        t_send_ns=t_send_ns[order],
        prop=prop[order],
        begins=np.searchsorted(topic, wanted),
        ends=np.searchsorted(topic, wanted, "right"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Got:
    """Deliveries as they are in the table, and their order by audience and then by message.

    begins, ends: of each audience, its part of the order.
    """

    keys: np.ndarray
    consumer: np.ndarray
    producer: np.ndarray
    arrival: np.ndarray
    audience: np.ndarray
    first: np.ndarray
    order: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def rows_of(self, number: int) -> np.ndarray:
        return self.order[self.begins[number] : self.ends[number]]


def _got(delivered: pa.Table, them: Sequence[Audience]) -> _Got:
    names = ("consumer", "producer", "seq", "arrival")
    consumer, producer, seq, arrival = (delivered.column(name).to_numpy() for name in names)
    keys, audience = message_keys(producer, seq), audience_of(consumer, them)
    order = np.lexsort((keys, audience))
    ordered, numbers = audience[order], np.arange(len(them))
    return _Got(
        keys=keys,
        consumer=consumer,
        producer=producer,
        arrival=arrival,
        audience=audience,
        first=first_deliveries(delivered, them),
        order=order,
        begins=np.searchsorted(ordered, numbers),
        ends=np.searchsorted(ordered, numbers, "right"),
    )


def _reconcile_one(totals: dict[str, int], one: Audience, number: int, sent: _Sent, got: _Got) -> None:
    """Add what became of the messages of an audience."""
    wanted, mine = sent.rows_of(number), got.rows_of(number)
    if one.selector is not None:
        low, high = one.selector
        wanted = wanted[(sent.prop[wanted] >= low) & (sent.prop[wanted] < high)]
    if one.undivided:
        here = mine[_among(got.keys[mine], sent.keys[wanted])]
        totals["foreign"] += _astray(got.producer[here], got.consumer[here])
    mine = mine[got.first[mine]]
    keys, sent_keys, outcome = got.keys[mine], sent.keys[wanted], sent.outcome[wanted]
    arrived, strange = _among(sent_keys, keys), ~_among(keys, sent_keys)
    if one.gone:
        absent = one.absent(sent.t_send_ns[wanted], arrived) & (outcome != Outcome.FAILED)
        totals["absent"] += int(np.count_nonzero(absent))
        sent_keys, outcome, arrived = sent_keys[~absent], outcome[~absent], arrived[~absent]
    refused = (outcome == Outcome.FAILED) & ~arrived
    lost = ~arrived & (outcome == Outcome.ACKED)
    if lost.any():
        lost &= overtaken(sent_keys, keys, got.consumer[mine], one)
    count = {"delivered": arrived, "refused": refused, "lost": lost, "in_doubt": ~(arrived | refused | lost)}
    for name, those in count.items():
        totals[name] += int(np.count_nonzero(those))
    totals["foreign"] += int(np.count_nonzero(strange))
    totals["expected"] += len(sent_keys) - int(np.count_nonzero(refused))


def _among(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Mask: which are among those, which are in order."""
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    found: np.ndarray = ordered[np.searchsorted(ordered, keys).clip(max=len(ordered) - 1)] == keys
    return found


def _after_the_answer(published: pa.Table, delivered: pa.Table) -> np.ndarray:
    """Boolean mask over `delivered`: what it is a copy of had been answered before it came."""
    answered = published.filter(pc.is_valid(published.column("t_ack_ns")))
    keys, t_ack = _keys_of(answered), answered.column("t_ack_ns").to_numpy()
    order = np.argsort(keys)
    keys, t_ack, came = keys[order], t_ack[order], _keys_of(delivered)
    if not len(keys):
        return np.zeros(len(came), dtype=bool)
    at = np.searchsorted(keys, came).clip(max=len(keys) - 1)
    later: np.ndarray = (keys[at] == came) & (t_ack[at] < delivered.column("t_recv_ns").to_numpy())
    return later


def _keys_of(table: pa.Table) -> np.ndarray:
    return message_keys(table.column("producer").to_numpy(), table.column("seq").to_numpy())


def until(published: pa.Table, delivered: pa.Table, t_ns: int) -> tuple[pa.Table, pa.Table]:
    """The ledger as it stood at `t_ns`: later deliveries are gone, later answers have not come (IN_DOUBT)."""
    late = pc.fill_null(pc.greater(published.column("t_ack_ns"), t_ns), False)
    doubt = pa.scalar(int(Outcome.IN_DOUBT), pa.int8())
    waiting = pc.fill_null(pc.greater(published.column("t_given_up_ns"), t_ns), False)
    columns = {
        "t_given_up_ns": pc.if_else(waiting, pa.scalar(None, pa.int64()), published.column("t_given_up_ns")),
        "t_ack_ns": pc.if_else(late, pa.scalar(None, pa.int64()), published.column("t_ack_ns")),
        "outcome": pc.if_else(late, doubt, published.column("outcome")),
    }
    for name, column in columns.items():
        position = published.schema.get_field_index(name)
        published = published.set_column(position, published.schema.field(position), column)
    return published, delivered.filter(pc.less_equal(delivered.column("t_recv_ns"), t_ns))


_SEQ_BITS = 40


def message_keys(producer: np.ndarray, seq: np.ndarray) -> np.ndarray:
    """One int64 per message, ordered by producer, then sequence number."""
    keys: np.ndarray = (producer.astype(np.int64) << _SEQ_BITS) | seq
    return keys


def overtaken(sent_keys: np.ndarray, got_keys: np.ndarray, receiver: np.ndarray, audience: Audience) -> np.ndarray:
    """Boolean mask over messages sent: the audience has had a later one of the same producer.

    got_keys, receiver: what the audience had, and which of its consumers.  Consumers that share a queue overtake each
    other, and what waits at one of them is not lost: each of them has to have had a later one, but for those that have
    left, at whom nothing waits, while any is left.  Of an undivided audience one consumer has a stream, so that one
    which has had a later one is enough.
    """
    producers, of = np.unique(sent_keys >> _SEQ_BITS, return_inverse=True)
    latest = np.full((len(audience.consumers), len(producers)), -1, dtype=np.int64)
    known = _among(got_keys >> _SEQ_BITS, producers)
    if len(latest) > 1:
        known &= np.isin(receiver, audience.consumers)
    keys, who = got_keys[known], np.zeros(np.count_nonzero(known), dtype=np.int64)
    if len(latest) > 1:
        order = np.argsort(audience.consumers)
        who = order[np.searchsorted(audience.consumers, receiver[known], sorter=order)]
    np.maximum.at(latest, (who, np.searchsorted(producers, keys >> _SEQ_BITS)), keys)
    waits = np.isin(audience.consumers, audience.left, invert=True)
    of_all = latest.max(axis=0) if audience.undivided else (latest[waits] if waits.any() else latest).min(axis=0)
    later: np.ndarray = sent_keys < of_all[of]
    return later


def _astray(producer: np.ndarray, consumer: np.ndarray) -> int:
    """How many messages came to another consumer than most of the same producer's."""
    if not len(producer):
        return 0
    pairs, counts = np.unique(np.stack([producer, consumer]), axis=1, return_counts=True)
    most = np.zeros(int(producer.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs[0], counts)
    return len(producer) - int(most.sum())


def _reordered(keys: np.ndarray, consumer: np.ndarray, arrival: np.ndarray) -> int:
    """How many messages came to a consumer after a later one of the same producer."""
    if not len(keys):
        return 0
    order = np.lexsort((arrival, keys >> _SEQ_BITS, consumer))
    keys, consumer = keys[order], consumer[order]
    producer, seq = keys >> _SEQ_BITS, keys & ((1 << _SEQ_BITS) - 1)
    another = (np.diff(producer) != 0) | (np.diff(consumer) != 0)
    # Those of the next consumer or producer begin above all of the one before, so that one maximum runs over them all.
    height = np.concatenate([[0], np.cumsum(another)]) * (int(seq.max()) + 1) + seq
    return int(np.count_nonzero(height < np.maximum.accumulate(height)))
