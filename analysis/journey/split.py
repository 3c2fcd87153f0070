"""The parts of each delivery's latency, and which deliveries have none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.journey.legs import UNKNOWN, Leg

# The captures' clock is read by another processor than the clients' one: so much may a part be below nothing.
TOLERANCE_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """parts[i, j]: nanoseconds of part i (as PARTS) of delivery j; they telescope, so their sum is its latency.

    latency: the ledger's, in nanoseconds.  Masks over the deliveries: complete, every moment is known; ordered, no
    part is below nothing.
    """

    parts: np.ndarray
    latency: np.ndarray
    complete: np.ndarray
    ordered: np.ndarray

    @property
    def attributed(self) -> np.ndarray:
        """Deliveries whose journey is known."""
        found: np.ndarray = self.complete & self.ordered
        return found


def split(
    *, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, up: Leg, down: Leg, clock_offset_ns: int, server_seen: bool
) -> Split:
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
    return Split(
        parts=parts,
        latency=t_recv_ns - t_sched_ns,
        complete=complete,
        ordered=np.all(parts >= -TOLERANCE_NS, axis=0),
    )
