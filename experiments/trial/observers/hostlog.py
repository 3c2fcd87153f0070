"""A trial's record of what its owner, or it itself, sees of the whole machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa

from experiments.trial.observers.machinewatch import Reading, watching
from experiments.trial.observers.processes import Ours
from records.schema import resources_table

_METRICS = ("busy_s", "foreign_s", "trial_s", "steal_s", "io_stalled_s", "throttled_periods")


class HostLog:
    """Readings in the order in which they came.  same_clock: whether whoever reads has this kernel's clock."""

    def __init__(self, *, same_clock: bool) -> None:
        self._same_clock = same_clock
        self._came: list[tuple[int, Reading]] = []

    def hear(self, line: bytes) -> None:
        """A reading as JSON; anything else, such as the end of a line whose beginning was lost, is passed over."""
        with suppress(ValueError):
            self.add(Reading.model_validate_json(line))

    def add(self, reading: Reading) -> None:
        """A reading that was taken just now."""
        self._came.append((time.monotonic_ns(), reading))

    @property
    def readings(self) -> Sequence[tuple[int, Reading]]:
        """Each with its time by this kernel's CLOCK_MONOTONIC (ns).

        The clocks' difference is that of the reading that came fastest: those from before this process read wait.
        """
        came = tuple(self._came)
        offset_ns = 0 if self._same_clock else min((at_ns - one.t_ns for at_ns, one in came), default=0)
        return tuple((one.t_ns + offset_ns, one) for _, one in came)

    def table(self) -> pa.Table:
        """The same as rows of the resources table."""
        return resources_table(
            [
                (t_ns, "host", metric, float(value))
                for t_ns, reading in self.readings
                for metric in _METRICS
                if (value := getattr(reading, metric)) is not None
            ]
        )


@contextmanager
def heard(told: HostLog | None) -> Iterator[HostLog]:
    """What an owner tells; without one, what this process sees, to which it and all that it starts belong."""
    if told is not None:
        yield told
        return
    log = HostLog(same_clock=True)
    with watching(lambda: Ours(os.getpid()), log.add):
        yield log
