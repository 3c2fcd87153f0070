"""Reconciling the ledger: what became of each message that each consumer should have had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from results.manifest import Consumer
from results.schema import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """Counts over all pairs (message, consumer that should have it); `foreign` counts deliveries outside them.

    expected = delivered + lost + in_doubt.  lost: the stack answered the send, the consumer never had it,
    though it had a later message of the same producer.  in_doubt: missing, but nothing later arrived either,
    or the send was never answered.  refused: not expected, because the stack refused the send.
    duplicates: deliveries of a message beyond the first to one consumer.  reordered: first deliveries that
    arrived after one with a higher sequence number of the same producer.
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

    @property
    def closes(self) -> bool:
        """Whether every delivery is explained by a publication and every expectation by an outcome."""
        return self.foreign == 0 and self.expected == self.delivered + self.lost + self.in_doubt


def first_deliveries(delivered: pa.Table) -> np.ndarray:
    """Boolean mask over `delivered`: the row is its consumer's first of that message, in order of arrival."""
    columns = [delivered.column(name).to_numpy() for name in ("consumer", "producer", "seq", "arrival")]
    consumer, producer, seq, arrival = columns
    order = np.lexsort((arrival, seq, producer, consumer))
    first = np.ones(len(order), dtype=bool)
    same = (np.diff(consumer[order]) == 0) & (np.diff(producer[order]) == 0) & (np.diff(seq[order]) == 0)
    first[1:] = ~same
    mask = np.empty(len(order), dtype=bool)
    mask[order] = first
    return mask


def reconcile(published: pa.Table, delivered: pa.Table, consumers: Sequence[Consumer]) -> Reconciliation:
    """Match deliveries to publications for every consumer.  Tables have the shapes of results.schema."""
    totals = dict.fromkeys(
        ("expected", "delivered", "lost", "in_doubt", "refused", "duplicates", "redelivered", "reordered", "foreign"), 0
    )
    totals["redelivered"] = int(np.count_nonzero(delivered.column("redelivered").to_numpy(zero_copy_only=False)))
    sent = {name: published.column(name).to_numpy() for name in ("producer", "seq", "topic", "outcome")}
    prop = published.column("property").fill_null(-1).to_numpy()
    got = {name: delivered.column(name).to_numpy() for name in ("consumer", "producer", "seq", "arrival")}
    first = first_deliveries(delivered)
    known = {consumer.id for consumer in consumers}
    totals["foreign"] += int(np.count_nonzero(~np.isin(got["consumer"], list(known))))
    for consumer in consumers:
        wanted = sent["topic"] == consumer.topic
        if consumer.selector is not None:
            low, high = consumer.selector
            wanted &= (prop >= low) & (prop < high)
        mine = got["consumer"] == consumer.id
        totals["duplicates"] += int(np.count_nonzero(mine & ~first))
        _reconcile_one(
            totals,
            sent_keys=message_keys(sent["producer"][wanted], sent["seq"][wanted]),
            outcome=sent["outcome"][wanted],
            got_keys=message_keys(got["producer"][mine & first], got["seq"][mine & first]),
            arrival=got["arrival"][mine & first],
        )
    return Reconciliation(**totals)


def until(published: pa.Table, delivered: pa.Table, t_ns: int) -> tuple[pa.Table, pa.Table]:
    """The ledger as it stood at `t_ns`: later deliveries are gone, later answers have not come (IN_DOUBT)."""
    late = pc.fill_null(pc.greater(published.column("t_ack_ns"), t_ns), False)
    doubt = pa.scalar(int(Outcome.IN_DOUBT), pa.int8())
    columns = {
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


def _reconcile_one(
    totals: dict[str, int], *, sent_keys: np.ndarray, outcome: np.ndarray, got_keys: np.ndarray, arrival: np.ndarray
) -> None:
    order = np.argsort(arrival, kind="stable")
    got_keys = got_keys[order]
    got_producer = got_keys >> _SEQ_BITS
    latest: dict[int, int] = {}
    for producer in np.unique(got_producer):
        keys = got_keys[got_producer == producer]
        highest = np.maximum.accumulate(keys)
        totals["reordered"] += int(np.count_nonzero(keys < highest))
        latest[int(producer)] = int(highest[-1])
    arrived = np.isin(sent_keys, got_keys)
    totals["foreign"] += int(np.count_nonzero(~np.isin(got_keys, sent_keys)))
    refused = (outcome == Outcome.FAILED) & ~arrived
    producers, position = np.unique(sent_keys >> _SEQ_BITS, return_inverse=True)
    horizon = np.array([latest.get(int(producer), -1) for producer in producers], dtype=np.int64)[position]
    lost = ~arrived & (outcome == Outcome.ACKED) & (sent_keys < horizon)
    totals["expected"] += len(sent_keys) - int(np.count_nonzero(refused))
    totals["delivered"] += int(np.count_nonzero(arrived))
    totals["refused"] += int(np.count_nonzero(refused))
    totals["lost"] += int(np.count_nonzero(lost))
    totals["in_doubt"] += int(np.count_nonzero(~arrived & ~refused & ~lost))
