"""Latencies as counts in fixed buckets, so that trials, cells and campaigns can be added up.

A latency lies in a bucket when low_s <= latency < high_s.  Bucket 0 has all below 1 µs; each other one is 1 % wide,
up to a day; the last has all above.  The bounds never change, so histograms are merged by adding the counts of equal
`bucket`, and a quantile of the sum is known to within 1 %.  Of the messages in a bucket `missing` never came: they took
at least so long.  A file without that column has latencies of what arrived in the window, by the older definition.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("low_s", pa.float64(), nullable=False),
        pa.field("high_s", pa.float64(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("missing", pa.int64(), nullable=False),
    ]
)
WIDTH = 0.01
_SMALLEST_S, _LARGEST_S = 1e-6, 86_400.0
_STEPS = int(np.ceil(np.log(_LARGEST_S / _SMALLEST_S) / np.log1p(WIDTH)))
BOUNDS = _SMALLEST_S * (1 + WIDTH) ** np.arange(_STEPS + 1)


def histogram(latency_s: np.ndarray, missing: np.ndarray | None = None) -> pa.Table:
    """The buckets that hold any of these latencies (seconds), in the shape of SCHEMA, in rising order.

    missing: mask, of which latency_s has lower bounds; None = of none.
    """
    at = np.searchsorted(BOUNDS, latency_s, side="right")
    bucket, count = np.unique(at, return_counts=True)
    absent = np.bincount(at[missing] if missing is not None else at[:0], minlength=len(BOUNDS) + 1)[bucket]
    low, high = np.concatenate([[0.0], BOUNDS]), np.concatenate([BOUNDS, [np.inf]])
    columns = {"bucket": bucket.astype(np.int32), "low_s": low[bucket], "high_s": high[bucket], "count": count}
    return pa.table(columns | {"missing": absent}, schema=SCHEMA)
