"""Reconciling the ledger: what became of each message that each consumer should have had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    totals = dict.fromkeys(
        (
            "expected",
            "delivered",
            "lost",
            "in_doubt",
            "refused",
            "duplicates",
            "redelivered",
            "reordered",
            "foreign",
            "absent",
        ),
        0,
    )
    totals["redelivered"] = int(np.count_nonzero(delivered.column("redelivered").to_numpy(zero_copy_only=False)))
    sent = {name: published.column(name).to_numpy() for name in ("producer", "seq", "topic", "outcome", "t_send_ns")}
    sent_keys = message_keys(sent["producer"], sent["seq"])
    prop = published.column("property").fill_null(-1).to_numpy()
    got = {name: delivered.column(name).to_numpy() for name in ("consumer", "producer", "seq", "arrival")}
    got_keys = message_keys(got["producer"], got["seq"])
    audience, first = audience_of(got["consumer"], them), first_deliveries(delivered, them)
    calling = any(one.caller is not None for one in them)
    late = _after_the_answer(published, delivered) if calling else np.zeros(len(got_keys), dtype=bool)
    totals["foreign"] += int(np.count_nonzero(audience < 0))
    for number, one in enumerate(them):
        mine = audience == number
        if one.caller is not None:
            own = (got["producer"] == one.caller) & np.isin(got_keys, sent_keys) & ~late
            totals["foreign"] += int(np.count_nonzero(mine & ~own))
            continue
        wanted = sent["topic"] == one.topic
        if one.selector is not None:
            low, high = one.selector
            wanted &= (prop >= low) & (prop < high)
        totals["duplicates"] += int(np.count_nonzero(mine & ~first))
        if one.undivided:
            sent_here = mine & np.isin(got_keys, sent_keys[wanted])
            totals["foreign"] += _astray(got["producer"][sent_here], got["consumer"][sent_here])
        mine &= first
        if one.gone:
            came = np.isin(sent_keys, got_keys[mine])
            absent = one.absent(sent["t_send_ns"], came)
            absent &= wanted & (sent["outcome"] != Outcome.FAILED)
            totals["absent"] += int(np.count_nonzero(absent))
            wanted &= ~absent
        later = overtaken(sent_keys[wanted], got_keys[mine], got["consumer"][mine], one)
        _reconcile_one(
            totals,
            sent_keys=sent_keys[wanted], outcome=sent["outcome"][wanted], got_keys=got_keys[mine], overtaken=later,
        )  # fmt: skip
        for consumer in one.consumers:
            his = mine & (got["consumer"] == consumer) if len(one.consumers) > 1 else mine
            totals["reordered"] += _reordered(got_keys[his], got["arrival"][his])
    return Reconciliation(**totals)


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
    for row, consumer in zip(latest, audience.consumers, strict=True):
        keys = got_keys[receiver == consumer] if len(latest) > 1 else got_keys
        at = np.searchsorted(producers, keys >> _SEQ_BITS)
        known = np.isin(keys >> _SEQ_BITS, producers)
        np.maximum.at(row, at[known], keys[known])
    waits = [one not in audience.left for one in audience.consumers]
    of_all = latest.max(axis=0) if audience.undivided else (latest[waits] if any(waits) else latest).min(axis=0)
    later: np.ndarray = sent_keys < of_all[of]
    return later


def _reconcile_one(
    totals: dict[str, int], *, sent_keys: np.ndarray, outcome: np.ndarray, got_keys: np.ndarray, overtaken: np.ndarray
) -> None:
    arrived = np.isin(sent_keys, got_keys)
    totals["foreign"] += int(np.count_nonzero(~np.isin(got_keys, sent_keys)))
    refused = (outcome == Outcome.FAILED) & ~arrived
    lost = ~arrived & (outcome == Outcome.ACKED) & overtaken
    totals["expected"] += len(sent_keys) - int(np.count_nonzero(refused))
    totals["delivered"] += int(np.count_nonzero(arrived))
    totals["refused"] += int(np.count_nonzero(refused))
    totals["lost"] += int(np.count_nonzero(lost))
    totals["in_doubt"] += int(np.count_nonzero(~arrived & ~refused & ~lost))


def _astray(producer: np.ndarray, consumer: np.ndarray) -> int:
    """How many messages came to another consumer than most of the same producer's."""
    if not len(producer):
        return 0
    pairs, counts = np.unique(np.stack([producer, consumer]), axis=1, return_counts=True)
    most = np.zeros(int(producer.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs[0], counts)
    return len(producer) - int(most.sum())


def _reordered(keys: np.ndarray, arrival: np.ndarray) -> int:
    """How many messages came to one consumer after a later one of the same producer."""
    keys = keys[np.argsort(arrival, kind="stable")]
    producer = keys >> _SEQ_BITS
    found = 0
    for one in np.unique(producer):
        mine = keys[producer == one]
        found += int(np.count_nonzero(mine < np.maximum.accumulate(mine)))
    return found
