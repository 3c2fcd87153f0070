"""Reading the samples of a trial: what grew, and how fast, inside its window.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from records.manifest import Window

# What a health check has measured, None where that cannot be told, and a sentence about it.
Measured = tuple[float | None, str]
_LEAST_COVERED = 0.5


def inside(table: pa.Table, within: Window, subject: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Times (ns) and values of one metric of the resources table inside the window."""
    times, values = series(table, subject, metric)
    window = (times >= within.start_ns) & (times < within.end_ns)
    return times[window], values[window]


def series(table: pa.Table, subject: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Times (ns) and values of one metric of the resources table."""
    subjects, metrics = table.column("subject").to_numpy(False), table.column("metric").to_numpy(False)
    mask = (subjects == subject) & (metrics == metric)
    return table.column("t_ns").to_numpy()[mask], table.column("value").to_numpy()[mask]


def subjects(table: pa.Table, prefix: str) -> list[str]:
    """Subjects of the resources table that begin so, sorted."""
    return sorted({name for name in table.column("subject").unique().to_pylist() if name.startswith(prefix)})


def share(times: np.ndarray, seconds: np.ndarray, cores: int) -> float:
    """Cumulative processor seconds, sampled at times (ns), as a share of so many cores."""
    return float((seconds[-1] - seconds[0]) / ((times[-1] - times[0]) / 1e9) / cores)


def machine_cpu(resources: pa.Table, window: Window, *, cores: int) -> float | None:
    """Share of the cores that we may use that was in use in the window, by whomever; None without two samples."""
    times, seconds = inside(resources, window, "machine", "cpu_seconds")
    return share(times, seconds, cores) if len(times) > 1 else None


def growth(times: Sequence[int] | np.ndarray, values: Sequence[float] | np.ndarray, window: Window) -> float | None:
    """How much a cumulative value grew per second of the window.

    Between samples it is taken to grow evenly, so samples before and after the window count too.  None when samples
    cover less than half of the window.
    """
    if len(times) < 2:
        return None
    low, high = max(window.start_ns, int(times[0])), min(window.end_ns, int(times[-1]))
    if high - low < _LEAST_COVERED * (window.end_ns - window.start_ns):
        return None
    first, last = np.interp([low, high], times, values)
    return float((last - first) / ((high - low) / 1e9))


def counted(times: np.ndarray, values: np.ndarray, window: Window) -> int | None:
    """How often something was counted from the last sample before the window to the first one after it.

    None when there are no two samples, or none after the window's middle.
    """
    if len(times) < 2:
        return None
    since = max(int(np.searchsorted(times, window.start_ns, side="right")) - 1, 0)
    until = min(int(np.searchsorted(times, window.end_ns)), len(times) - 1)
    if until <= since or times[until] < (window.start_ns + window.end_ns) / 2:
        return None
    return round(float(values[until] - values[since]))
