"""From a caller to a service and back again: the way of a request, the service's own time, and the way of its reply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.journey import reasons
from analysis.journey.between import Between
from analysis.journey.clients import ABSENT, AMBIGUOUS, HOME, Deliveries
from analysis.journey.messages import Followed, at_home, mean_copies, mean_hops, to_follow
from analysis.journey.nodeways import NodeWays
from analysis.journey.ways import Ways
from records.manifest import Window
from records.schema import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """The answered ones of the requests that were due to be sent inside the window, one array each.

    row: of the published table.  served, replied: index of the delivery at the service among `arrivals`, and of the
    reply at its caller among `replies`; -1 where the ledger has none.  unanswered: how many others were not refused.
    """

    row: np.ndarray
    served: np.ndarray
    replied: np.ndarray
    arrivals: Deliveries
    replies: Deliveries
    unanswered: int

    def __len__(self) -> int:
        return len(self.row)

    @property
    def none(self) -> str:
        """What is said when there is none."""
        return "no request that was sent inside the window was answered"


def responses(published: pa.Table, arrivals: Deliveries, replies: Deliveries, window: Window) -> Responses:
    """What was asked inside the window, with its deliveries at services and at callers.  published: records.schema."""
    t_sched = published.column("t_sched_ns").to_numpy()
    outcome = published.column("outcome").to_numpy()
    due = (t_sched >= window.start_ns) & (t_sched < window.end_ns)
    answered = (outcome == Outcome.ACKED) & published.column("t_ack_ns").is_valid().to_numpy()
    row = np.flatnonzero(due & answered)
    return Responses(
        row=row,
        served=_by_row(arrivals, len(published))[row],
        replied=_by_row(replies, len(published))[row],
        arrivals=arrivals,
        replies=replies,
        unanswered=int(np.count_nonzero(due & ~answered & (outcome != Outcome.FAILED))),
    )


def follow_responses(wanted: Responses, ways: Ways | Between | NodeWays) -> Followed:
    """Follow each of these requests to its service, and the reply to its caller.

    The times of both ways meet when the service has the request, so their parts sum to the response time.
    """
    both = np.flatnonzero((wanted.served >= 0) & (wanted.replied >= 0))
    row = wanted.row[both]
    served, replied = wanted.arrivals.take(wanted.served[both]), wanted.replies.take(wanted.replied[both])
    hits = sent, got, answer, back = *ways.of_messages(served), *ways.of_replies(served, replied)
    stayed = np.all([hit == HOME for hit in hits], axis=0)
    for way in (hits[:2], hits[2:]):  # one way alone cannot have stayed: it was not seen
        way[0][np.all([hit == HOME for hit in way], axis=0) & ~stayed] = ABSENT
    found = to_follow(hits)
    t_served = served.t_recv_ns[found]
    named = {name: ways.published.column(name) for name in ("t_sched_ns", "t_ack_ns")}
    t_sched, t_ack = (column.fill_null(0).to_numpy()[row[found]] for column in named.values())
    there = ways.crossing(sent=sent[found], got=got[found], t_begin_ns=t_sched, t_end_ns=t_served)
    home = ways.crossing(sent=answer[found], got=back[found], t_begin_ns=t_served, t_end_ns=t_ack)
    times = there.times.then(home.times)
    ambiguous = np.any([hit == AMBIGUOUS for hit in hits], axis=0)
    absent = [~ambiguous & (hit == ABSENT) for hit in hits]
    account = reasons.Account(
        kind=ways.kind,
        deliveries=len(wanted),
        replies=True,
        unanswered=wanted.unanswered,
        misanswered=len(wanted) - len(both),
        crossed_nothing=int(np.count_nonzero(stayed)),
        ambiguous=int(np.count_nonzero(ambiguous)),
        no_uplink_marker=int(np.count_nonzero(absent[0])),
        no_downlink_marker=int(np.count_nonzero(~absent[0] & absent[1])),
        no_reply_marker=int(np.count_nonzero(~absent[0] & ~absent[1] & (absent[2] | absent[3]))),
        incomplete=int(np.count_nonzero(~times.complete)),
        negative=int(np.count_nonzero(times.complete & ~times.ordered)),
        not_at_server=int(np.count_nonzero(times.attributed & ~times.at_server)),
        at_the_broker=int(np.count_nonzero(times.attributed & at_home([hit[found] for hit in hits]))),
    )
    ways_taken = [there, home]
    return Followed(
        account=account, times=times, copies=mean_copies(ways_taken, row[found]), hops=mean_hops(ways_taken)
    )


def _by_row(deliveries: Deliveries, messages: int) -> np.ndarray:
    """For each published message the index of its delivery, -1 where it has none."""
    found = np.full(messages, -1, dtype=np.int64)
    found[deliveries.row] = np.arange(len(deliveries))
    return found
