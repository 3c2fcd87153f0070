"""Tables of a trial folder (Parquet).  Times are CLOCK_MONOTONIC nanoseconds of the machine that ran the trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import pyarrow as pa

from records import no_pandas

no_pandas.leave_it_out()  # here, since whatever makes tables of ours imports this

VERSION = 1


class Outcome(IntEnum):
    """What the publisher knows of one message.

    ACKED: the stack has answered (or the stack has no answers and took it).  FAILED: the stack refused it.
    IN_DOUBT: no answer came before the trial ended.
    """

    ACKED = 0
    FAILED = 1
    IN_DOUBT = 2


PUBLISHED = pa.schema(
    [
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("topic", pa.int32(), nullable=False),  # index into the manifest's topics
        pa.field("body_bytes", pa.int32(), nullable=False),
        pa.field("property", pa.int32()),  # what selectors choose by; null when none was set
        pa.field("t_sched_ns", pa.int64(), nullable=False),  # equals t_send_ns in a closed loop
        pa.field("t_send_ns", pa.int64(), nullable=False),
        pa.field("t_ack_ns", pa.int64()),
        pa.field("outcome", pa.int8(), nullable=False),
        # Of one in doubt: when its sender stopped waiting for an answer, null: at the end; t_send_ns: nobody took it.
        pa.field("t_given_up_ns", pa.int64()),
    ]
)
# Columns that tables of older versions lack.
NEWER = frozenset({"t_given_up_ns"})

DELIVERED = pa.schema(
    [
        pa.field("consumer", pa.int32(), nullable=False),
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("t_recv_ns", pa.int64(), nullable=False),
        pa.field("arrival", pa.int64(), nullable=False),  # order of arrival in the consumer's process
        pa.field("redelivered", pa.bool_(), nullable=False),
    ]
)

# One row per sample.  subject: "machine", "heartbeat", "generator:<node>", "server:<service>", "queue:<name>",
# "thread:<service>/<tid> <name>" (the busiest), "softirq" and "ports" (of the trial's kernel), "host" (the machine,
# seen from outside the trial: busy_s, foreign_s, trial_s, steal_s, io_stalled_s, throttled_periods, all cumulative),
# "line" (the process of a medium of our own, all links together, once a second: lateness_p50_s, lateness_p99_s and
# lateness_max_s of the frames that it gave out and of its beats since the last sample; release_p50_s, release_p99_s and
# release_max_s of these frames alone; released_frames, refused_frames and too_large_frames, cumulative, and
# largest_bytes, the size of the largest of those).
# metric: cpu_seconds (cumulative), rss_bytes, load_1m, lateness_s (worst since the last sample),
# backlog_bytes, sent_bytes, sent_packets, dropped_packets (cumulative), rate_bit_per_s and frame_overhead_s (from
# t_ns on, where a timeline changes one of them).
RESOURCES = pa.schema(
    [
        pa.field("t_ns", pa.int64(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)

# One row for each time that a process of the stack's own had a message, of trials that were asked for them and stacks
# that have them (records.stamps).  node, peer: indices into the manifest's nodes; peer is the node that it came from or
# went to, null where that is an application.  point: records.stamps.Point.  reply: whether it is the reply to the
# message that producer and seq name.
STAMPS = pa.schema(
    [
        pa.field("node", pa.int16(), nullable=False),
        pa.field("point", pa.int8(), nullable=False),
        pa.field("reply", pa.bool_(), nullable=False),
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("peer", pa.int16()),
        pa.field("t_ns", pa.int64(), nullable=False),
    ]
)

TABLES = {"published": PUBLISHED, "delivered": DELIVERED, "resources": RESOURCES}
# Those that a trial has only where its manifest tells how many rows they have.
FURTHER_TABLES = {"stamps": STAMPS}


def tables_of(rows: Mapping[str, int]) -> tuple[str, ...]:
    """Names of the tables that a trial has.  rows: as in its manifest."""
    return (*TABLES, *(name for name in FURTHER_TABLES if name in rows))


def resources_table(rows: Sequence[tuple[int, str, str, float]]) -> pa.Table:
    """Rows of RESOURCES (t_ns, subject, metric, value) as a table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(RESOURCES)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RESOURCES, strict=True)]
    return pa.table(arrays, schema=RESOURCES)
