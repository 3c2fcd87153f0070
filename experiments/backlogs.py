"""What waited in each queue during the window, taken from the trial's samples in one go for all queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from results.manifest import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """t_ns: when it was sampled (CLOCK_MONOTONIC), and at both ends of the window.  waiting: bytes at each sample."""

    t_ns: np.ndarray
    waiting: np.ndarray

    def never_empty(self, rate: float) -> bool:
        """Whether every sample found more waiting than the queue could send (bit/s) until the next one."""
        longest_s = float(np.diff(self.t_ns).max()) / 1e9
        return len(self.waiting) > 0 and bool(self.waiting.min() >= rate / 8 * longest_s)


def backlogs(resources: pa.Table, window: Window) -> dict[str, Backlog]:
    """Queue to its backlog.  resources: rows of results.schema.RESOURCES."""
    t_ns = resources.column("t_ns")
    inside = pc.and_(pc.greater_equal(t_ns, window.start_ns), pc.less(t_ns, window.end_ns))
    waiting = resources.filter(pc.and_(inside, pc.equal(resources.column("metric"), "backlog_bytes")))
    subjects = waiting.column("subject").to_numpy(zero_copy_only=False)
    names, of_name = np.unique(subjects.astype(str), return_inverse=True)
    order = np.argsort(of_name, kind="stable")
    ends = np.cumsum(np.bincount(of_name, minlength=len(names)))[:-1]
    times = np.split(waiting.column("t_ns").to_numpy()[order], ends)
    values = np.split(waiting.column("value").to_numpy()[order], ends)
    return {
        str(name).removeprefix("queue:"): Backlog(
            t_ns=np.concatenate([[window.start_ns], when, [window.end_ns]]), waiting=value
        )
        for name, when, value in zip(names, times, values, strict=len(names) > 0)
    }
