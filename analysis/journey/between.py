"""From station to station: at once, or by a broker that is on a station, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from analysis.journey import clients, places
from analysis.journey.clients import ABSENT, HOME, NOBODY, Deliveries
from analysis.journey.legs import UNKNOWN, Leg
from analysis.journey.places import Ends, View
from analysis.journey.reasons import Kind
from analysis.journey.split import Split, halved, split_direct, split_relayed
from analysis.journey.ways import Copies, Crossing, Way, read_way
from records.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What went from station to station.  kind: `direct`, or `relayed` by a broker; the rest as in ways.Ways.

    Relayed, the way to the broker and the way from it are two of these.  A client that is on the broker's own station
    has a way of which nothing crosses the medium, as has a client of its own receiver's station: HOME instead of a hit.
    """

    way: Way
    kind: Kind
    manifest: Manifest
    ends: Ends
    of_connection: dict[int, int]
    published: pa.Table

    def of_messages(self, wanted: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each delivery the hit that its producer sent, and the one that came to its consumer."""
        mine = clients.of_producers(
            self.way.hits, self.way.senders, self.manifest.workload.producers, ends=self.ends, published=self.published
        )
        producers = {one.id: one.node for one in self.manifest.workload.producers if one.node in self.ends.names}
        stations = {number: self.ends.names.index(node) for number, node in producers.items()}
        producer = self.published.column("producer").to_numpy()[wanted.row]
        senders = np.array([stations.get(int(one), NOBODY) for one in producer], dtype=np.int64)
        if self.kind == "direct":
            return self._direct(wanted, mine, senders)
        sent = clients.sent_copy(self.way.hits, mine, messages=len(self.published))[wanted.row]
        return self._by_the_broker(sent, self._came(wanted), senders, self._stations(wanted))

    def of_replies(self, served: Deliveries, replied: Deliveries) -> tuple[np.ndarray, np.ndarray]:
        """For each reply, to the request that was served and at the caller, likewise."""
        services = self._stations(served)
        if self.kind == "direct":
            groups = np.array([self.of_connection.get(int(one), -1) for one in self.way.senders], dtype=np.int64)
            mine = np.isin(groups[self.way.hits.flow], np.unique(served.group[served.group >= 0]))
            return self._direct(replied, mine, services)
        answer = clients.carried_copy(
            served, self.way.hits, self.way.senders, self.of_connection, messages=len(self.published)
        )
        return self._by_the_broker(answer, self._came(replied), services, self._stations(replied))

    def crossing(self, *, sent: np.ndarray, got: np.ndarray, t_begin_ns: np.ndarray, t_end_ns: np.ndarray) -> Crossing:
        """As ways.Ways.crossing."""
        offset = self.manifest.clock_offset_ns
        up = self._legs(sent, at_home_ns=t_begin_ns + offset)
        if self.kind == "direct":
            times = split_direct(t_sched_ns=t_begin_ns, t_recv_ns=t_end_ns, leg=up, clock_offset_ns=offset)
            times = self._halved(times, {"air": (sent, up)})
            return Crossing(times=times, copies=(Copies(direction="uplink", times=up.copies),))
        down = self._legs(got, at_home_ns=t_end_ns + offset)
        times = split_relayed(t_sched_ns=t_begin_ns, t_recv_ns=t_end_ns, up=up, down=down, clock_offset_ns=offset)
        times = self._halved(times, {"to_broker_air": (sent, up), "from_broker_air": (got, down)})
        copies = Copies(direction="uplink", times=up.copies, once=True), Copies(direction="uplink", times=down.copies)
        return Crossing(times=times, copies=copies)

    def _halved(self, times: Split, airs: Mapping[str, tuple[np.ndarray, Leg]]) -> Split:
        """With air up and air down where it was captured between the two.  airs: by part the hits and their legs."""
        if not self.way.turns:
            return times
        return halved(times, {name: (leg, self._turned(hit, leg)) for name, (hit, leg) in airs.items()})

    def _turned(self, hit: np.ndarray, leg: Leg) -> np.ndarray:
        away = np.flatnonzero(hit >= 0)
        seen = self.way.turned[hit[away]]
        found = leg.sent.copy()
        # As the moment when it was sent: not before the message's last byte was first.
        found[away] = np.where(seen == UNKNOWN, UNKNOWN, np.maximum(seen, leg.sent[away]))
        return found

    def _direct(self, wanted: Deliveries, mine: np.ndarray, senders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """mine: the hits of the right sender.  senders: its station, for each delivery."""
        found = self._came(wanted, mine)
        found[(found == ABSENT) & (senders != NOBODY) & (senders == self._stations(wanted))] = HOME
        return found, found

    def _by_the_broker(
        self, sent: np.ndarray, got: np.ndarray, senders: np.ndarray, receivers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """With HOME for those at the broker's station, which is where the other way ends.

        senders, receivers: stations.  Where neither way was seen and these are one, nothing tells where the broker is.
        """
        flows, flow = self.way.flows, self.way.hits.flow
        into, out = flows.server[flow[np.maximum(sent, 0)]], flows.station[flow[np.maximum(got, 0)]]
        nothing = (sent == ABSENT) & (got == ABSENT) & (senders != NOBODY) & (senders == receivers)
        at_sender = (sent == ABSENT) & (got >= 0) & (out == senders)
        at_receiver = (got == ABSENT) & (sent >= 0) & (into == receivers)
        return np.where(nothing | at_sender, HOME, sent), np.where(nothing | at_receiver, HOME, got)

    def _came(self, wanted: Deliveries, mine: np.ndarray | None = None) -> np.ndarray:
        """For each delivery the hit that came to its consumer.  mine: the hits that count, None = all."""
        which = np.arange(len(self.way.hits.row)) if mine is None else np.flatnonzero(mine)
        found = clients.carried_copy(
            wanted, self.way.hits.take(which), self.way.receivers, self.of_connection, messages=len(self.published)
        )
        known = found >= 0
        found[known] = which[found[known]]
        return found

    def _stations(self, wanted: Deliveries) -> np.ndarray:
        """The station of each delivery's consumer, NOBODY where its connection is not known."""
        of_group = {group: number >> 16 for number, group in self.of_connection.items()}
        return np.array([of_group.get(int(one), NOBODY) for one in wanted.group], dtype=np.int64)

    def _legs(self, hit: np.ndarray, *, at_home_ns: np.ndarray) -> Leg:
        """Of messages that did not leave their station every moment is that of at_home_ns."""
        away = np.flatnonzero(hit >= 0)
        seen = self.way.leg.take(hit[away])
        nothing = np.zeros((len(seen.links), len(hit)), dtype=np.int64)
        home = Leg(
            left=at_home_ns.copy(), sent=at_home_ns.copy(), arrived=at_home_ns.copy(), server=at_home_ns.copy(),
            links=nothing, copies=np.full(len(hit), np.nan),
        )  # fmt: skip
        for one in fields(Leg):
            getattr(home, one.name)[..., away] = getattr(seen, one.name)
        return home


def read_between(
    views: Sequence[View], ends: Ends, manifest: Manifest, *, published: pa.Table, damaging: bool
) -> Way:  # fmt: skip
    """What went from station to station, as these views show it.  ValueError for packets that are no TCP streams."""
    seen = places.between_stations(views)
    return read_way(
        seen, places.peers(ends), manifest, "uplink", published=published, damaging=damaging, between=True
    )  # fmt: skip


def by_stations(
    way: Way, ends: Ends, manifest: Manifest, *, of_connection: dict[int, int], published: pa.Table
) -> Between:
    """The same with the clients whose connections these are."""
    work, peers = manifest.workload, places.peers(ends)
    known = clients.connections((*work.producers, *work.consumers), peers)
    flows = np.unique(way.hits.flow)
    direct = np.isin(way.senders[flows], known) & np.isin(way.receivers[flows], known)
    return Between(
        way=way,
        kind="direct" if direct.any() else "relayed",
        manifest=manifest,
        ends=peers,
        of_connection=of_connection,
        published=published,
    )
