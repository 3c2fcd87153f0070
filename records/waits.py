"""How long things took that were begun in a window.  What has not ended when the ledger does took at least so long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from records.audience import Audience, audience_of
from records.ledger import first_deliveries, message_keys, overtaken
from records.schema import Outcome

NEVER = np.iinfo(np.int64).max


class Figure(NamedTuple):
    """at_least: the value is a lower bound, because something that counts in it had not ended."""

    value: float
    at_least: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """When each of many things began and ended (NEVER: it did not), CLOCK_MONOTONIC nanoseconds."""

    begun_ns: np.ndarray
    ended_ns: np.ndarray

    def begun_in(self, low_ns: int, high_ns: int) -> Waits:
        """Those that began in [low_ns, high_ns), whenever they ended."""
        mine = (self.begun_ns >= low_ns) & (self.begun_ns < high_ns)
        return Waits(begun_ns=self.begun_ns[mine], ended_ns=self.ended_ns[mine])

    def lengths(self, until_ns: int) -> Lengths:
        """How long each took; what never ended took at least until `until_ns`, when nobody looked any more."""
        missing = self.ended_ns == NEVER
        ended = np.where(missing, np.maximum(until_ns, self.begun_ns), self.ended_ns)
        return Lengths(seconds=(ended - self.begun_ns) / 1e9, absent=missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Seconds of each; of what has not ended (absent) they are a lower bound."""

    seconds: np.ndarray
    absent: np.ndarray

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def missing(self) -> int:
        """How many have not ended."""
        return int(np.count_nonzero(self.absent))

    @property
    def ended_s(self) -> np.ndarray:
        """Those that have ended, ascending."""
        return np.sort(self.seconds[~self.absent])

    @property
    def least_s(self) -> np.ndarray:
        """Lower bounds of the 1st, 2nd, ... shortest."""
        return np.sort(self.seconds)

    @property
    def most_s(self) -> np.ndarray:
        """Upper bounds of them, infinity where there is none."""
        return np.sort(np.where(self.absent, np.inf, self.seconds))

    def mean(self) -> Figure | None:
        """A lower bound where anything is missing; None where there is nothing at all."""
        return Figure(float(self.seconds.mean()), self.missing > 0) if len(self) else None

    def quantile(self, share: float) -> Figure | None:
        """With linear interpolation; a lower bound where a rank that it needs lies among the missing."""
        if not len(self):
            return None
        place = share * (len(self) - 1)
        ranks = [int(np.floor(place)), int(np.ceil(place))]
        least, most = (
            np.partition(self.seconds, ranks),
            np.partition(np.where(self.absent, np.inf, self.seconds), ranks),
        )
        return Figure(float(np.quantile(self.seconds, share)), bool((least[ranks] != most[ranks]).any()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """deliveries: a pair for each message and each audience that should have it, replies left out.  overtaken: a mask
    over them, of what never came though a later one did (records.ledger.overtaken): it is under way no more.

    answers: one for each send.  lasts: one for each message that anybody should have, which ends when the last of its
    audiences has it.

    Sends that the stack refused are in none: in deliveries alone are those that arrived all the same.  What an
    audience missed as its nodes were gone is no delivery, likewise.
    """

    deliveries: Waits
    overtaken: np.ndarray
    answers: Waits
    lasts: Waits

    @property
    def awaited(self) -> Waits:
        """The deliveries that came, or can still be under way."""
        all_of, mine = self.deliveries, ~self.overtaken
        return Waits(begun_ns=all_of.begun_ns[mine], ended_ns=all_of.ended_ns[mine])


class _Arrivals(NamedTuple):
    """Of an audience: the rows of its messages, when each first came (or NEVER), which it missed as it was gone, and
    which never came though a later one did.
    """

    rows: np.ndarray
    came_ns: np.ndarray
    gone: np.ndarray
    overtaken: np.ndarray

    def only(self, mask: np.ndarray) -> _Arrivals:
        return _Arrivals(*(column[mask] for column in self))


_NONE = _Arrivals(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.bool_, np.bool_)))


def read_sent(published: pa.Table, delivered: pa.Table, them: Sequence[Audience]) -> Sent:
    """What was sent, from its scheduled time on.  Tables have the shapes of records.schema."""
    names = ("producer", "seq", "topic", "t_sched_ns", "t_send_ns", "outcome")
    sent = {name: published.column(name).to_numpy() for name in names}
    refused = sent["outcome"] == Outcome.FAILED
    ack = published.column("t_ack_ns")
    acked = ack.is_valid().to_numpy() & (sent["outcome"] == Outcome.ACKED)
    t_ack = np.where(acked, ack.fill_null(0).to_numpy(), NEVER)
    prop = published.column("property").fill_null(-1).to_numpy()
    expected = [
        one.only((one.came_ns != NEVER) | ~(refused[one.rows] | one.gone))
        for one in _arrivals(sent, prop, delivered, them)
    ]
    rows, ended, _, passed = map(np.concatenate, zip(_NONE, *expected, strict=True))
    last = np.full(len(refused), -1)
    np.maximum.at(last, rows, ended)  # NEVER is the latest of all
    last[refused] = -1  # whom else one should have reached that reached somebody is not known
    wanted = last >= 0
    return Sent(
        deliveries=Waits(begun_ns=sent["t_sched_ns"][rows], ended_ns=ended),
        overtaken=passed,
        lasts=Waits(begun_ns=sent["t_sched_ns"][wanted], ended_ns=last[wanted]),
        answers=Waits(begun_ns=sent["t_sched_ns"][~refused], ended_ns=t_ack[~refused]),
    )


def _arrivals(
    sent: dict[str, np.ndarray], prop: np.ndarray, delivered: pa.Table, them: Sequence[Audience]
) -> list[_Arrivals]:
    """Of each audience."""
    first = first_deliveries(delivered, them)
    got = {name: delivered.column(name).to_numpy()[first] for name in ("consumer", "producer", "seq", "t_recv_ns")}
    key = message_keys(got["producer"], got["seq"])
    owner = audience_of(got["consumer"], them)
    order = np.lexsort((key, owner))
    owner, key, t_recv, receiver = owner[order], key[order], got["t_recv_ns"][order], got["consumer"][order]
    sent_key = message_keys(sent["producer"], sent["seq"])
    by_topic = np.argsort(sent["topic"], kind="stable")
    topics = sent["topic"][by_topic]
    found = []
    for number, one in enumerate(them):
        if one.caller is not None:
            continue
        rows = by_topic[np.searchsorted(topics, one.topic) : np.searchsorted(topics, one.topic, "right")]
        if one.selector is not None:
            low, high = one.selector
            rows = rows[(prop[rows] >= low) & (prop[rows] < high)]
        mine = slice(np.searchsorted(owner, number), np.searchsorted(owner, number, "right"))
        came = np.full(len(rows), NEVER)
        if len(keys := key[mine]):
            at = np.minimum(np.searchsorted(keys, sent_key[rows]), len(keys) - 1)
            came = np.where(keys[at] == sent_key[rows], t_recv[mine][at], NEVER)
        producer, seq, t_send = (sent[name][rows] for name in ("producer", "seq", "t_send_ns"))
        gone = one.absent(producer, seq, t_send, came != NEVER)
        missing = came == NEVER
        passed = missing & overtaken(sent_key[rows], keys, receiver[mine], one) if missing.any() else missing
        found.append(_Arrivals(rows, came, gone, passed))
    return found
