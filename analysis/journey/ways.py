"""Both directions of a trial's link: the packets, the messages in them, and whose connections carried them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from analysis.journey import clients, markers
from analysis.journey.clients import NOBODY, Deliveries
from analysis.journey.intervals import intervals
from analysis.journey.legs import UNKNOWN, Leg, legs, turned
from analysis.journey.markers import Hits
from analysis.journey.passages import Flows, Payloads, passages
from analysis.journey.places import ENTER, SERVER, Ends, View
from analysis.journey.reasons import Kind
from analysis.journey.split import Split, split
from records.body import extents
from records.directions import Direction
from records.manifest import Manifest
from records.messaging import BodyType


@dataclass(frozen=True, kw_only=True)
class Way:
    """One direction: the messages that were found in its streams, and what became of each on its way.

    leg: of each hit.  turned: of each hit between stations, when it turned (legs.turned).  turns: whether packets were
    captured there.  between: whether it leads from station to station (journey.between); its direction is then where it
    enters the medium, which is the uplink.  payloads: what the captures kept of its packets.
    """

    direction: Direction
    flows: Flows
    hits: Hits
    leg: Leg
    turned: np.ndarray
    turns: bool
    payloads: Payloads
    between: bool = False

    @cached_property
    def senders(self) -> np.ndarray:
        """Each flow's sending end (clients.connection), NOBODY where that is a server or its ports were used twice."""
        return self._clients(at_station=self.direction == "uplink")

    @cached_property
    def receivers(self) -> np.ndarray:
        """Each flow's receiving end, likewise."""
        return self._clients(at_station=self.direction == "downlink")

    def _clients(self, *, at_station: bool) -> np.ndarray:
        flows = self.flows
        if at_station:
            found = clients.connection(flows.station, flows.station_port)
        elif self.between:
            found = clients.connection(flows.server, flows.server_port)
        else:
            return np.full(len(flows), NOBODY)
        return np.where(flows.reused, NOBODY, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How often bytes entered the medium, one entry for each message.  once: whether all receivers of it share them."""

    direction: Direction
    times: np.ndarray
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Messages that went from their senders to their receivers: the parts of the time it took, and their copies.

    hops: of each message between nodes of the stack's own, where these have stamped it.
    """

    times: Split
    copies: tuple[Copies, ...]
    hops: np.ndarray | None = None


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

    @property
    def kind(self) -> Kind:
        """By what messages go."""
        return "server"

    def of_messages(self, wanted: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each delivery the hit of the way up that its producer sent, and that of the way down that came of it."""
        hits, count = self.up.hits, len(self.published)
        mine = clients.of_producers(
            hits, self.up.senders, self.manifest.workload.producers, ends=self.ends, published=self.published
        )
        sent = clients.sent_copy(hits, mine, messages=count)[wanted.row]
        return sent, self._carried(wanted, self.down.hits, self.down.receivers)

    def of_replies(self, served: Deliveries, replied: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each reply, to the request that was served and at the caller, likewise."""
        answer = self._carried(served, self.up.hits, self.up.senders)
        return answer, self._carried(replied, self.down.hits, self.down.receivers)

    def crossing(self, *, sent: np.ndarray, got: np.ndarray, t_begin_ns: np.ndarray, t_end_ns: np.ndarray) -> Crossing:
        """Of messages, between two moments of the ledger's clock.  sent, got: their hits on the way up and down."""
        up, down = self.up.leg.take(sent), self.down.leg.take(got)
        times = split(
            t_sched_ns=t_begin_ns, t_recv_ns=t_end_ns, up=up, down=down,
            clock_offset_ns=self.manifest.clock_offset_ns, server_seen=self.server_seen,
            links=self.links,
        )  # fmt: skip
        copies = Copies(direction="uplink", times=up.copies, once=True)
        return Crossing(times=times, copies=(copies, Copies(direction="downlink", times=down.copies)))

    def _carried(self, wanted: Deliveries, hits: Hits, connections: np.ndarray) -> np.ndarray:
        return clients.carried_copy(wanted, hits, connections, self.of_connection, messages=len(self.published))


def read_way(
    views: Sequence[View], ends: Ends, manifest: Manifest, direction: Direction, *, published: pa.Table,
    damaging: bool, between: bool = False,
) -> Way:  # fmt: skip
    """One direction, as these views show it.  ValueError for packets that are no TCP streams."""
    found = passages(views, ends, direction, damaging=damaging)
    streams = intervals(found, ENTER[direction])
    in_texts = manifest.workload.messages.body_type is BodyType.TEXT
    hits = markers.find(found, streams, views, published, in_texts=in_texts)
    end = hits.position + bodies(published, manifest, hits.row)
    return Way(
        direction=direction,
        flows=found.flows,
        hits=hits,
        leg=legs(found, streams, direction, flow=hits.flow, begin=hits.position, end=end),
        turned=turned(found, streams, flow=hits.flow, end=end) if between else np.full(len(end), UNKNOWN),
        turns=between and bool((found.place == SERVER).any()),
        payloads=found.payloads,
        between=between,
    )


def bodies(published: pa.Table, manifest: Manifest, row: np.ndarray) -> np.ndarray:
    """How many bytes of a stream the body of each message at these rows takes."""
    named = {name: published.column(name).to_numpy()[row] for name in ("producer", "seq", "t_send_ns")}
    size = published.column("body_bytes").to_numpy().astype(np.int64)[row]
    return extents(manifest.workload.messages.body_type, size, **named)
