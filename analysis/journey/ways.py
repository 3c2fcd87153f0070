"""Both directions of a trial's link: the packets, the messages in them, and whose connections carried them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.journey import clients, markers
from analysis.journey.clients import Deliveries
from analysis.journey.intervals import Intervals, intervals
from analysis.journey.legs import Leg, legs
from analysis.journey.markers import Hits
from analysis.journey.passages import Passages, passages
from analysis.journey.places import ENTER, SERVER, Ends, View
from analysis.journey.split import Split, split
from records.body import extents
from records.directions import Direction
from records.manifest import Manifest
from records.messaging import BodyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One direction: its packets, their streams cut at segments' edges, and the markers in them."""

    direction: Direction
    passages: Passages
    streams: Intervals
    hits: Hits

    def legs(self, hit: np.ndarray, body_bytes: np.ndarray) -> Leg:
        """The legs of the messages of these hits, with bodies of so many bytes."""
        flow, begin = self.hits.flow[hit], self.hits.position[hit]
        return legs(self.passages, self.streams, self.direction, flow=flow, begin=begin, end=begin + body_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Messages that went up and came down again, one entry each: the legs, and the parts of the time it took."""

    up: Leg
    down: Leg
    times: Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """of_connection: from a consumer's connection to its group (clients.groups).  published: records.schema.

    links: names of the links between routers or servers whose ends are places, in their order (places.links).
    """

    up: Way
    down: Way
    manifest: Manifest
    ends: Ends
    of_connection: dict[int, int]
    published: pa.Table
    server_seen: bool
    links: tuple[str, ...]

    def sent(self) -> np.ndarray:
        """For each published message the hit of the way up that its producer sent (clients.sent_copy)."""
        producers = self.manifest.workload.producers
        up = self.up
        return clients.sent_copy(up.hits, up.passages, producers, ends=self.ends, published=self.published)

    def carried(self, way: Way, wanted: Deliveries) -> np.ndarray:
        """For each delivery the hit of a way that its consumer's connection carried (clients.carried_copy)."""
        count = len(self.published)
        return clients.carried_copy(wanted, way.hits, way.passages, self.of_connection, messages=count)

    def crossing(
        self, row: np.ndarray, *, sent: np.ndarray, got: np.ndarray, t_begin_ns: np.ndarray, t_end_ns: np.ndarray
    ) -> Crossing:
        """Of the messages at these rows of the published table, between two moments of the ledger's clock.

        sent, got: hits of the way up and of the way down.
        """
        body = self._bodies(row)
        up, down = self.up.legs(sent, body), self.down.legs(got, body)
        times = split(
            t_sched_ns=t_begin_ns, t_recv_ns=t_end_ns, up=up, down=down,
            clock_offset_ns=self.manifest.clock_offset_ns, server_seen=self.server_seen,
            links=self.links,
        )  # fmt: skip
        return Crossing(up=up, down=down, times=times)

    def _bodies(self, row: np.ndarray) -> np.ndarray:
        """How many bytes of a stream each body takes."""
        named = {name: self.published.column(name).to_numpy()[row] for name in ("producer", "seq", "t_send_ns")}
        size = self.published.column("body_bytes").to_numpy().astype(np.int64)[row]
        return extents(self.manifest.workload.messages.body_type, size, **named)


def read_ways(
    views: Sequence[View], ends: Ends, manifest: Manifest, *, links: tuple[str, ...], of_connection: dict[int, int],
    published: pa.Table, damaging: bool,
) -> Ways:  # fmt: skip
    """Both directions, as these views show them.  ValueError for packets that are no TCP streams."""
    in_texts = manifest.workload.messages.body_type is BodyType.TEXT

    def way(direction: Direction) -> Way:
        found = passages(views, ends, direction, damaging=damaging)
        streams = intervals(found, ENTER[direction])
        hits = markers.find(found, streams, views, published, in_texts=in_texts)
        return Way(direction=direction, passages=found, streams=streams, hits=hits)

    return Ways(
        up=way("uplink"),
        down=way("downlink"),
        manifest=manifest,
        ends=ends,
        of_connection=of_connection,
        published=published,
        server_seen=any(view.place == SERVER for view in views),
        links=links,
    )
