"""Telling messages of this trial from copies of an earlier one's, by the time of sending that each carries, and whole
ones from others.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from records.ledger import message_keys


def stale_and_cut(published: pa.Table, marked: pa.Table) -> tuple[int, int]:
    """Deliveries of messages that this trial did not send at the time that they carry; and those of other messages, or
    of replies, which have their request's body, that are not as long as what was sent.

    published: of the shape PUBLISHED, by producer and seq.  marked: of the shape of recording.MARKED.

    A copy of an earlier trial's message may have a number that this trial uses too and come after this trial's own
    message of that number, so neither number nor arrival tells; the time does, to the nanosecond.
    """
    keys = message_keys(published.column("producer").to_numpy(), published.column("seq").to_numpy())
    if not len(keys):
        return len(marked), 0
    wanted = message_keys(marked.column("producer").to_numpy(), marked.column("seq").to_numpy())
    row = np.clip(np.searchsorted(keys, wanted), 0, len(keys) - 1)
    same_time, same_size = (
        published.column(name).to_numpy()[row] == marked.column(name).to_numpy() for name in ("t_send_ns", "body_bytes")
    )
    ours = (keys[row] == wanted) & same_time
    return int(np.count_nonzero(~ours)), int(np.count_nonzero(ours & ~same_size))
