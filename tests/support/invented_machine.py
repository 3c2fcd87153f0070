"""Readings of a machine of two cores, invented: what others, a hypervisor, a quota, a disk took."""

from __future__ import annotations

from experiments.trial.observers.machinewatch import Reading

SECOND = 10**9


def readings(
    *,
    used: float = 0.3,
    foreign: float = 0.02,
    trial: float = 0.2,
    steal: float | None = 0.0,
    stalled: float | None = 0.0,
    throttled: int | None = 0,
    unread: str = "",
    kernel_seen: bool = True,
    at: range = range(13),
) -> list[tuple[int, Reading]]:
    """A reading each second; used (foreign load not included), foreign, trial and steal in cores, stalled as a share.

    throttled: periods in each second.
    """
    return [
        (
            second * SECOND,
            Reading(
                t_ns=second * SECOND,
                cores=2,
                processors=2,
                busy_s=1000 + (used + foreign) * second,
                foreign_s=foreign * second,
                trial_s=trial * second,
                busiest="cc1plus" if foreign else "",
                busiest_s=foreign,
                kernel_seen=kernel_seen,
                steal_s=None if steal is None else 7 + steal * second,
                io_stalled_s=None if stalled is None else stalled * second,
                throttled_periods=None if throttled is None else 3 + throttled * second,
                throttled_s=0.05 * (throttled or 0) * second,
                unread=unread,
            ),
        )
        for second in at
    ]
