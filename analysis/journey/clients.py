"""Which copy of a message is which client's: by the ports that the manifest gives its connections, never by guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from analysis.journey.markers import Hits
from analysis.journey.places import Ends
from records.audience import Audience, audience_of
from records.ledger import first_deliveries, message_keys
from records.manifest import Consumer, Producer, Window

# Instead of the number of a hit.  HOME: there is none, as the message did not leave the station there.
ABSENT, AMBIGUOUS, HOME = -1, -2, -3
NOBODY = -1  # instead of the number of a connection, or of a station


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliveries:
    """First deliveries of messages that were due to be sent inside the window, one array each.

    row: of the published table.  group: number of the connection (or of several, all of the same consumers), -1
    when the manifest names none.  alone: the message came as often as it was delivered, to one consumer only.
    times: how often it was delivered over the group's connections, whole trial.
    """

    row: np.ndarray
    t_recv_ns: np.ndarray
    group: np.ndarray
    alone: np.ndarray
    times: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: np.ndarray) -> Deliveries:
        """Those at these places."""
        return Deliveries(**{one.name: getattr(self, one.name)[which] for one in fields(self)})

    @property
    def none(self) -> str:
        """What is said when there is none."""
        return "nothing that was sent inside the window arrived"


def connection(node: np.ndarray, port: np.ndarray) -> np.ndarray:
    """A client's end of a connection as one number: the station (row in Ends) and its port."""
    found: np.ndarray = node << 16 | port
    return found


def _numbers(client: Producer | Consumer, ends: Ends) -> set[int]:
    if client.node not in ends.names:
        return set()
    return {ends.names.index(client.node) << 16 | port for port in client.ports}


def connections(them: Sequence[Producer | Consumer], ends: Ends) -> np.ndarray:
    """All of these clients' ends of connections, each once."""
    return np.array(sorted(set().union(*(_numbers(one, ends) for one in them))), dtype=np.int64)


def groups(consumers: Sequence[Consumer], ends: Ends) -> tuple[dict[int, int], dict[int, int]]:
    """Consumers that share a connection share a group: from consumer id to group, from connection to group."""
    of_consumer: dict[int, int] = {}
    of_connection: dict[int, int] = {}
    for consumer in consumers:
        mine = _numbers(consumer, ends)
        if not mine:
            continue
        shared = {of_connection[one] for one in mine if one in of_connection}
        number = min(shared, default=len(of_consumer))
        of_consumer[consumer.id] = number
        of_connection |= dict.fromkeys(mine, number)
        for known in (of_consumer, of_connection):
            known.update({key: number for key, other in known.items() if other in shared})
    return of_consumer, of_connection


def of_producers(
    hits: Hits, connections: np.ndarray, producers: Sequence[Producer], *, ends: Ends, published: pa.Table
) -> np.ndarray:
    """Mask over the hits: whether the message's own producer has that end.  connections: one for each flow."""
    known = {(one.id, number) for one in producers for number in _numbers(one, ends)}
    pairs = np.array([producer << 32 | number for producer, number in known], dtype=np.int64)
    producer = published.column("producer").to_numpy().astype(np.int64)
    return np.isin(producer[hits.row] << 32 | connections[hits.flow], pairs)


def sent_copy(hits: Hits, mine: np.ndarray, *, messages: int) -> np.ndarray:
    """For each published message the hit that its producer sent; ABSENT, or AMBIGUOUS when there are several.

    mine: mask over the hits (of_producers).  messages: number of published ones.
    """
    which = np.flatnonzero(mine)
    count = np.bincount(hits.row[which], minlength=messages)
    found = np.full(messages, ABSENT, dtype=np.int64)
    found[hits.row[which]] = which
    found[count > 1] = AMBIGUOUS
    return found


def deliveries(
    published: pa.Table, delivered: pa.Table, them: Sequence[Audience], window: Window, of_consumer: dict[int, int]
) -> Deliveries:
    """The deliveries to `them` whose journey is asked for; of replies, those to the caller that waited for them."""
    columns = {name: delivered.column(name).to_numpy() for name in ("consumer", "producer", "seq", "t_recv_ns")}
    row = published_row(published, columns["producer"], columns["seq"])
    ids, inverse = np.unique(columns["consumer"], return_inverse=True)
    group = np.array([of_consumer.get(int(one), -1) for one in ids], dtype=np.int64)[inverse]
    key = group * max(len(published), 1) + row
    _, of_key, times = np.unique(key, return_inverse=True, return_counts=True)
    lowest = np.full(len(times), np.iinfo(np.int64).max)
    highest = np.full(len(times), -1)
    np.minimum.at(lowest, of_key, columns["consumer"].astype(np.int64))
    np.maximum.at(highest, of_key, columns["consumer"].astype(np.int64))
    t_recv = columns["t_recv_ns"]
    asked = first_deliveries(delivered, them) & (row >= 0) & _own(columns["consumer"], columns["producer"], them)
    t_sched = published.column("t_sched_ns").to_numpy()[row[asked]]
    asked[asked] = (t_sched >= window.start_ns) & (t_sched < window.end_ns)
    return Deliveries(
        row=row[asked],
        t_recv_ns=t_recv[asked],
        group=group[asked],
        alone=(lowest == highest)[of_key][asked],
        times=times[of_key][asked],
    )


def _own(consumer: np.ndarray, producer: np.ndarray, them: Sequence[Audience]) -> np.ndarray:
    """Not the reply to another caller's request."""
    callers = np.array([*(-1 if one.caller is None else one.caller for one in them), -1])
    caller = callers[audience_of(consumer, them)]
    found: np.ndarray = (caller < 0) | (caller == producer)
    return found


def carried_copy(
    wanted: Deliveries, hits: Hits, connections: np.ndarray, of_connection: dict[int, int], *, messages: int
) -> np.ndarray:
    """For each delivery the hit that its connection carried; ABSENT, or AMBIGUOUS.

    connections: for each flow the end that may be the consumer's, NOBODY where none is: the receiver's, or, of what the
    consumer itself sent with the message's marker, the sender's.  There must be as many copies as deliveries.  When
    they are several they must all be one consumer's and have come over one connection: the first delivery is then the
    one that stands first in the stream.  messages: number of published ones.
    """
    group = np.array([of_connection.get(int(one), -1) for one in connections], dtype=np.int64)[hits.flow]
    order = np.lexsort((hits.position, hits.flow, hits.row, group))
    order = order[group[order] >= 0]
    keys, first, count = np.unique(
        group[order] * max(messages, 1) + hits.row[order], return_index=True, return_counts=True
    )
    found = np.full(len(wanted), ABSENT, dtype=np.int64)
    if not len(keys):
        return found
    one_flow = hits.flow[order[first]] == hits.flow[order[first + count - 1]]
    key = wanted.group * max(messages, 1) + wanted.row
    at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    there = (wanted.group >= 0) & (keys[at] == key)
    clear = (count[at] == wanted.times) & ((count[at] == 1) | (wanted.alone & one_flow[at]))
    found[there] = np.where(clear, order[first[at]], AMBIGUOUS)[there]
    return found


def published_row(published: pa.Table, producer: np.ndarray, seq: np.ndarray) -> np.ndarray:
    """Row of the published table for each delivery, -1 when the ledger does not know the message."""
    keys = message_keys(published.column("producer").to_numpy(), published.column("seq").to_numpy())
    wanted = message_keys(producer, seq)
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    found: np.ndarray = np.where(keys[order[at]] == wanted, order[at], -1)
    return found
