"""The parts of each delivery's latency, and which deliveries have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.journey.legs import UNKNOWN, Leg
from analysis.journey.parts import BY_NODES, DIRECT, PARTS, RELAYED, WIRES, halves, of_link, of_reply

# The captures' clock is read by another processor than the clients' one: so much may a part be below nothing.
TOLERANCE_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """parts[i, j]: nanoseconds of part names[i] of delivery j; they telescope, so their sum is its latency.

    latency: the ledger's, in nanoseconds; of a response, from the request's scheduled time to the answer.  Masks over
    the deliveries: complete, every moment is known; ordered, no part is below nothing; at_server, they were seen at
    their server's own port, so that `wire` is known.
    """

    names: tuple[str, ...]
    parts: np.ndarray
    latency: np.ndarray
    complete: np.ndarray
    ordered: np.ndarray
    at_server: np.ndarray

    @property
    def attributed(self) -> np.ndarray:
        """Deliveries whose journey is known."""
        found: np.ndarray = self.complete & self.ordered
        return found

    def then(self, other: Split) -> Split:
        """Of the same requests, the replies' parts behind these; known where both are."""
        return Split(
            names=(*self.names, *map(of_reply, other.names)),
            parts=np.concatenate([self.parts, other.parts]),
            latency=self.latency + other.latency,
            complete=self.complete & other.complete,
            ordered=self.ordered & other.ordered,
            at_server=self.at_server & other.at_server,
        )


def split(
    *, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, up: Leg, down: Leg, clock_offset_ns: int, server_seen: bool,
    links: Sequence[str] = (),
) -> Split:  # fmt: skip
    """One entry per delivery in all arguments.  links: names of those between routers or servers, as in Leg.

    clock_offset_ns: wall clock of the legs minus clock of the ledger.  server_seen: whether any server's own port was
    captured.  Of what was not seen at its server's, the wire's share is the broker's, and part `wire` is 0.
    """
    seen = (up.server != UNKNOWN) & (down.server != UNKNOWN) & server_seen
    into_broker, out_of_broker = np.where(seen, up.server, up.arrived), np.where(seen, down.server, down.left)
    on_links = up.links + down.links
    elsewhere = on_links.sum(axis=0)
    between = into_broker - up.arrived + down.left - out_of_broker - np.where(seen, elsewhere, 0)
    at_broker = out_of_broker - into_broker - np.where(seen, 0, elsewhere)
    found = _split(
        (*PARTS, *map(of_link, links)),
        [
            up.left - clock_offset_ns - t_sched_ns,
            up.sent - up.left,
            up.arrived - up.sent,
            between,
            at_broker,
            down.sent - down.left,
            down.arrived - down.sent,
            t_recv_ns - (down.arrived - clock_offset_ns),
            *on_links,
        ],
        latency=t_recv_ns - t_sched_ns,
        moments=(up.left, up.sent, up.arrived, down.left, down.sent, down.arrived),
    )
    return replace(found, at_server=seen)


def split_relayed(
    *, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, up: Leg, down: Leg, clock_offset_ns: int
) -> Split:  # fmt: skip
    """As split, of a broker on a station: `up` goes to it, `down` comes from it."""
    found = split(
        t_sched_ns=t_sched_ns, t_recv_ns=t_recv_ns, up=up, down=down, clock_offset_ns=clock_offset_ns, server_seen=False
    )
    parts = found.parts[[name not in WIRES for name in found.names]]
    return replace(found, names=RELAYED, parts=parts)


def split_direct(*, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, leg: Leg, clock_offset_ns: int) -> Split:
    """As split, of what goes from its sender to its receiver at once."""
    return _split(
        DIRECT,
        [
            leg.left - clock_offset_ns - t_sched_ns,
            leg.sent - leg.left,
            leg.arrived - leg.sent,
            t_recv_ns - (leg.arrived - clock_offset_ns),
        ],
        latency=t_recv_ns - t_sched_ns,
        moments=(leg.left, leg.sent, leg.arrived),
    )


def split_stamped(
    *, t_sched_ns: np.ndarray, t_recv_ns: np.ndarray, taken_ns: np.ndarray, given_ns: np.ndarray, spent: np.ndarray,
    known: np.ndarray,
) -> Split:  # fmt: skip
    """As split, of what went by nodes that have stamped it by the ledger's clock.

    taken_ns, given_ns: when it came from its sender, and when it was given to its receiver.  spent: nanoseconds of the
    parts between, a row each.  known: mask, whether they are.
    """
    return _split(
        BY_NODES,
        [taken_ns - t_sched_ns, *spent, t_recv_ns - given_ns],
        latency=t_recv_ns - t_sched_ns,
        moments=(np.where(known, taken_ns, UNKNOWN),),
    )


def halved(found: Split, airs: Mapping[str, tuple[Leg, np.ndarray]]) -> Split:
    """With the air of ways between stations in two: by part its leg, and when its messages turned (legs.turned)."""
    names: list[str] = []
    rows: list[np.ndarray] = []
    for name, row in zip(found.names, found.parts, strict=True):
        if name not in airs:
            names, rows = [*names, name], [*rows, row]
            continue
        leg, turned = airs[name]
        names += halves(name)
        rows += [turned - leg.sent, leg.arrived - turned]
    moments = [turned for _, turned in airs.values()]
    made = _split(tuple(names), rows, latency=found.latency, moments=moments)
    parts = np.where(found.complete, made.parts, 0)
    return replace(made, parts=parts, complete=found.complete & made.complete, ordered=found.ordered & made.ordered)


def _split(
    names: tuple[str, ...], rows: Sequence[np.ndarray], *, latency: np.ndarray, moments: Sequence[np.ndarray]
) -> Split:
    """moments: those that have to be known."""
    complete = np.all([moment != UNKNOWN for moment in moments], axis=0)
    parts = np.stack(rows)
    parts[:, ~complete] = 0
    ordered = np.all(parts >= -TOLERANCE_NS, axis=0)
    nowhere = np.zeros_like(complete)
    return Split(names=names, parts=parts, latency=latency, complete=complete, ordered=ordered, at_server=nowhere)
