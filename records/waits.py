"""How long things took that were begun in a window.  What has not ended when the ledger does took at least so long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from records.audience import NEVER, Audience, audience_of
from records.ledger import first_deliveries, message_keys, overtaken
from records.schema import Outcome

_NOBODY: Mapping[int, int] = MappingProxyType({})


class Figure(NamedTuple):
    """at_least: the value is a lower bound, because something that counts in it had not ended."""

    value: float
    at_least: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """When each of many things began and ended (NEVER: it did not), CLOCK_MONOTONIC nanoseconds.

    could_ns: until when each could end (NEVER: to the end of all), as who sent it, or should have had it, went for good
    then, or waited no longer.
    """

    begun_ns: np.ndarray
    ended_ns: np.ndarray
    could_ns: np.ndarray

    def only(self, mine: np.ndarray) -> Waits:
        """Those of a mask."""
        return Waits(begun_ns=self.begun_ns[mine], ended_ns=self.ended_ns[mine], could_ns=self.could_ns[mine])

    def begun_in(self, low_ns: int, high_ns: int) -> Waits:
        """Those that began in [low_ns, high_ns), whenever they ended."""
        return self.only((self.begun_ns >= low_ns) & (self.begun_ns < high_ns))

    def lengths(self, until_ns: int) -> Lengths:
        """How long each took; what never ended took at least as long as it could, or until `until_ns`.

        Nobody looked any more after `until_ns`.
        """
        missing = self.ended_ns == NEVER
        waited = np.maximum(np.minimum(until_ns, self.could_ns), self.begun_ns)
        return Lengths(seconds=(np.where(missing, waited, self.ended_ns) - self.begun_ns) / 1e9, absent=missing)


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
        """The deliveries that came, or can still be under way: they end at the latest when they no longer could."""
        mine = self.deliveries.only(~self.overtaken)
        could = np.maximum(mine.could_ns, mine.begun_ns)
        return replace(mine, ended_ns=np.where(mine.ended_ns == NEVER, could, mine.ended_ns))


class _Arrivals(NamedTuple):
    """Of an audience: the rows of its messages, when each first came (or NEVER), which it missed as it was gone, which
    never came though a later one did, and until when each could come.
    """

    rows: np.ndarray
    came_ns: np.ndarray
    gone: np.ndarray
    overtaken: np.ndarray
    could_ns: np.ndarray

    def only(self, mask: np.ndarray) -> _Arrivals:
        return _Arrivals(*(column[mask] for column in self))


_NONE = _Arrivals(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.bool_, np.bool_, np.int64)))


def read_sent(
    published: pa.Table, delivered: pa.Table, them: Sequence[Audience], stopped: Mapping[int, int] = _NOBODY
) -> Sent:  # fmt: skip
    """What was sent, from its scheduled time on.  Tables have the shapes of records.schema.

    stopped: producers whose nodes went for good, and when (ns): what they have then no answer to is sent no more.
    """
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
    rows, ended, _, passed, could = map(np.concatenate, zip(_NONE, *expected, strict=True))
    gone = np.full(len(refused), NEVER)
    for producer, t_ns in stopped.items():
        gone[sent["producer"] == producer] = t_ns
    given_up = published.column("t_given_up_ns").fill_null(NEVER).to_numpy()
    answered_by = np.minimum(gone, given_up)
    leaves_by = np.where(given_up <= sent["t_send_ns"], given_up, gone)  # what nobody took never left
    could = np.where(acked[rows], could, np.minimum(could, leaves_by[rows]))
    last, last_could = np.full(len(refused), -1), np.full(len(refused), -1)
    np.maximum.at(last, rows, ended)  # NEVER is the latest of all
    np.maximum.at(last_could, rows, np.where(ended == NEVER, could, ended))
    last[refused] = -1  # whom else one should have reached that reached somebody is not known
    wanted = last >= 0
    return Sent(
        deliveries=Waits(begun_ns=sent["t_sched_ns"][rows], ended_ns=ended, could_ns=could),
        overtaken=passed,
        lasts=Waits(begun_ns=sent["t_sched_ns"][wanted], ended_ns=last[wanted], could_ns=last_could[wanted]),
        answers=Waits(begun_ns=sent["t_sched_ns"][~refused], ended_ns=t_ack[~refused], could_ns=answered_by[~refused]),
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
        gone = one.absent(sent["t_send_ns"][rows], came != NEVER)
        missing = came == NEVER
        passed = missing & overtaken(sent_key[rows], keys, receiver[mine], one) if missing.any() else missing
        found.append(_Arrivals(rows, came, gone, passed, np.full(len(rows), one.until_ns)))
    return found
