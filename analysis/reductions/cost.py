"""What a report costs.

CPU-seconds, printed by `python benchmarks/report_cost.py` (24 trials: 13.5 without captures to speak of, 27 with 2.0 GB
of them), of which Spark's are 7 (`python benchmarks/spark_report.py`).
"""

from __future__ import annotations

START_S, TRIAL_S, BYTE_S = 7.0, 0.3, 7e-9
_REDUCED_S = 0.04  # of TRIAL_S, without captures to speak of, for the rows (`python benchmarks/spark_scale.py`)


def reduced_s(file_bytes: int) -> float:
    """CPU-seconds, at least, for the rows of one trial with so many bytes of files."""
    return _REDUCED_S + file_bytes * BYTE_S


def trials_s(number: int, capture_bytes: int) -> float:
    """CPU-seconds for so many trials with so many bytes of captures, without Spark's start."""
    return number * TRIAL_S + capture_bytes * BYTE_S
