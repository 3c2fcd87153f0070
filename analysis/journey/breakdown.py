"""The parts of each delivery's latency, and which deliveries have none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.journey.legs import UNKNOWN, Leg

PARTS = (
    "client", "uplink_recovery", "uplink_air", "wire", "broker", "downlink_recovery", "downlink_air", "receiver",
)  # fmt: skip
# The captures' clock is read by another processor than the clients' one: so much may a part be below nothing.
TOLERANCE_NS = 1_000_000
SUM_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """parts[i, j]: nanoseconds of part i (as PARTS) of delivery j.  Masks over the deliveries:

    complete: every moment is known.  ordered: no part is below nothing.  closed: the parts sum to the latency.
    attributed: all of it.
    """

    parts: np.ndarray
    complete: np.ndarray
    ordered: np.ndarray
    closed: np.ndarray

    @property
    def attributed(self) -> np.ndarray:
        """Deliveries whose journey is known."""
        found: np.ndarray = self.complete & self.ordered & self.closed
        return found


def breakdown(
    *, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, up: Leg, down: Leg, clock_offset_ns: int, server_seen: bool
) -> Breakdown:
    """One entry per delivery in all arguments.

    clock_offset_ns: wall clock of the legs minus clock of the ledger.  server_seen: whether the server's own port
    was captured; if not, the wire's share is the broker's, and part `wire` is 0.
    """
    into_broker, out_of_broker = (up.server, down.server) if server_seen else (up.arrived, down.left)
    moments = (up.left, up.sent, up.arrived, into_broker, out_of_broker, down.left, down.sent, down.arrived)
    complete = np.all([moment != UNKNOWN for moment in moments], axis=0)
    parts = np.stack(
        [
            up.left - clock_offset_ns - t_sched_ns,
            up.sent - up.left,
            up.arrived - up.sent,
            into_broker - up.arrived + down.left - out_of_broker,
            out_of_broker - into_broker,
            down.sent - down.left,
            down.arrived - down.sent,
            t_recv_ns - (down.arrived - clock_offset_ns),
        ]
    )
    parts[:, ~complete] = 0
    latency = t_recv_ns - t_sched_ns
    return Breakdown(
        parts=parts,
        complete=complete,
        ordered=np.all(parts >= -TOLERANCE_NS, axis=0),
        closed=np.abs(parts.sum(axis=0) - latency) <= SUM_TOLERANCE * np.abs(latency),
    )
