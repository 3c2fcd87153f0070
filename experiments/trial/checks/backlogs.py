"""What waited in each queue during the window, taken from the trial's samples in one go for all queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """t_ns: when it was sampled (CLOCK_MONOTONIC), and at both ends of the window.  waiting: bytes at each sample.

    before: bytes at the last sample up to the window's start, 0 where there is none.
    """

    t_ns: np.ndarray
    waiting: np.ndarray
    before: float = 0.0

    def never_empty(self, rate: float) -> bool:
        """Whether every sample found more waiting than the queue could send (bit/s) until the next one."""
        longest_s = float(np.diff(self.t_ns).max()) / 1e9
        least = min(self.before, float(self.waiting.min(initial=np.inf)))
        return len(self.waiting) > 0 and least >= rate / 8 * longest_s


def backlogs(resources: pa.Table, start_ns: int, end_ns: int) -> dict[str, Backlog]:
    """Queue to its backlog between two moments.  resources: rows of records.schema.RESOURCES."""
    found = {}
    for name, (when, values) in sampled(resources, "backlog_bytes", 0, end_ns).items():
        first, after = (int(np.searchsorted(when, start_ns, side=side)) for side in ("left", "right"))
        if first < len(when):
            found[name] = Backlog(
                t_ns=np.concatenate([[start_ns], when[first:], [end_ns]]), waiting=values[first:],
                before=float(values[after - 1]) if after else 0.0,
            )  # fmt: skip
    return found


def sampled(resources: pa.Table, metric: str, start_ns: int, end_ns: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Queue to its samples of a metric from one moment to before another: times (ns) and values, in order."""
    t_ns = resources.column("t_ns")
    inside = pc.and_(pc.greater_equal(t_ns, start_ns), pc.less(t_ns, end_ns))
    mine = resources.filter(pc.and_(inside, pc.equal(resources.column("metric"), metric))).sort_by("t_ns")
    names, of_name = np.unique(mine.column("subject").to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    order = np.argsort(of_name, kind="stable")
    ends = np.cumsum(np.bincount(of_name, minlength=len(names)))[:-1]
    times, values = (np.split(mine.column(column).to_numpy()[order], ends) for column in ("t_ns", "value"))
    return {
        str(name).removeprefix("queue:"): (when, value)
        for name, when, value in zip(names, times, values, strict=len(names) > 0)
        if str(name).startswith("queue:")
    }
