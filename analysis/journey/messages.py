"""From a sender over the link, the server and the link again to each receiver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.journey import reasons
from analysis.journey.clients import ABSENT, AMBIGUOUS, Deliveries
from analysis.journey.split import Split
from analysis.journey.ways import Ways
from records.directions import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """times: of what has a marker wherever it should have one.  account, copies: as in journey.trial.Journey."""

    account: reasons.Account
    times: Split
    copies: dict[Direction, float]


def follow_messages(wanted: Deliveries, ways: Ways) -> Followed:
    """Follow each of these deliveries."""
    sent, got = ways.sent()[wanted.row], ways.carried(ways.down, wanted)
    found = np.flatnonzero((sent >= 0) & (got >= 0))
    row = wanted.row[found]
    t_sched = ways.published.column("t_sched_ns").to_numpy()[row]
    crossing = ways.crossing(
        row, sent=sent[found], got=got[found], t_begin_ns=t_sched, t_end_ns=wanted.t_recv_ns[found]
    )
    times = crossing.times
    ambiguous = (sent == AMBIGUOUS) | (got == AMBIGUOUS)
    account = reasons.Account(
        deliveries=len(sent),
        ambiguous=int(np.count_nonzero(ambiguous)),
        no_uplink_marker=int(np.count_nonzero(~ambiguous & (sent == ABSENT))),
        no_downlink_marker=int(np.count_nonzero(~ambiguous & (sent != ABSENT) & (got == ABSENT))),
        incomplete=int(np.count_nonzero(~times.complete)),
        negative=int(np.count_nonzero(times.complete & ~times.ordered)),
    )
    copies: dict[Direction, float] = {}
    if (known := times.attributed).any():
        _, once = np.unique(row[known], return_index=True)  # a message that several consumers had has gone up once
        copies = {
            "uplink": float(crossing.up.copies[known][once].mean()),
            "downlink": float(crossing.down.copies[known].mean()),
        }
    return Followed(account=account, times=times, copies=copies)
