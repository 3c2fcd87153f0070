"""A medium without an access point: stations send to one another directly.  Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from heapq import heappush

from emulation.line.fate import Fate
from emulation.line.medium import TO_A_GROUP, Lane, Medium


class AdHoc(Medium):
    """A frame takes the air once, as its sender's uplink says, and comes out where those are who hear it.

    Each of them has losses of its own: a frame to a group meets its list once for each.  What is for nobody here is in
    the air, and ends there.
    """

    _port = 0  # of the station that hears what is being decided on
    _deaf: Set[int] = frozenset()

    @cached_property
    def _last_ns(self) -> dict[tuple[int, int], int]:
        """When the last frame comes out, by sender and hearer: each hears a sender's frames in their order."""
        return {}

    def deafen(self, ports: Set[int]) -> None:
        """Name the stations, by port, that nothing gets through to."""
        self._deaf = ports

    def left(self, now: int, lane: Lane, data: bytes) -> None:
        """A frame has left the air: what the airs of this medium call."""
        for port in self._who_hears(data, lane.station):
            self._port = port
            super().left(now, lane, data)

    def _towards(self, data: bytes, sender: int | None) -> Sequence[Lane]:  # noqa: ARG002 - whatever it is
        """Nothing comes from a wired side."""
        return ()

    def _who_hears(self, data: bytes, sender: int) -> Sequence[int]:
        if data[0] & TO_A_GROUP:
            return [lane.station for lane in self._up if lane.station != sender]
        port = self._stations.get(data[:6])
        return () if port is None or port == sender else (port,)

    def _fate(self, lane: Lane, data: bytes) -> Fate | None:
        seen = lane.losses.seen
        fate = super()._fate(lane, data)
        if fate is None or self._port not in self._deaf or lane.losses.seen == seen:
            return fate
        lane.losses.dark += 1
        return None

    def _later(self, now: int, lane: Lane, delay_ns: int, data: bytes) -> None:
        at = now + delay_ns
        if lane.keep_order:
            way = lane.station, self._port
            at = self._last_ns[way] = max(at, self._last_ns.get(way, 0))
        self._give(at, lane, data)

    def _give(self, at: int, lane: Lane, data: bytes) -> None:  # noqa: ARG002 - where a frame comes out is its own
        self._order += 1
        heappush(self._out, (at, self._order, self._port, data))
