"""Data packets of one direction as they pass the places of their way, with their positions in TCP's stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.capture.columns import TCP
from analysis.capture.content import whole
from analysis.journey.places import ENTER, LINKS, Ends, View, beyond
from analysis.journey.twins import COMPARED, NONE, contents, identity, same_packets
from analysis.tcp.analysis import FIN, RST, SYN
from analysis.tcp.segments import SPAN, spread, starts_of, unwrap
from records.directions import Direction

_COLUMNS = (
    "place", "key", "datagram", "t_ns", "frame", "seq", "ip_id", "payload", "kept", "at", "content", "source",
    "checksum", "opens", "marks", "view",
)  # fmt: skip
Columns = dict[str, np.ndarray]
MOST_FLOWS = 1 << 20  # flow * SPAN + position is an int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Of each flow its station and server (rows in Ends) with their ports; reused: another connection had these."""

    station: np.ndarray
    station_port: np.ndarray
    server: np.ndarray
    server_port: np.ndarray
    reused: np.ndarray

    def __len__(self) -> int:
        return len(self.station)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payloads:
    """Of packets with payload: whether there are any; the most bytes of it that were kept of one; whether of any of
    them not all were.
    """

    there: bool
    most_kept: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Rows in order of time, one array each.

    places: how many there are.  place: which.  flow: a number from 0.  t_ns: wall clock.  begin, end: positions in the
    flow's stream, from 0, the same at every place.  payload: bytes of it, kept or not.  body, kept: positions between
    which the packet's bytes are in the file; they stand from byte `at` of the capture of view number `view` on.  twin:
    row of the same packet where it entered the medium; NONE where it is no packet that left the medium, SEVERAL when
    that cannot be told.  flows: by number.
    """

    places: int
    place: np.ndarray
    flow: np.ndarray
    t_ns: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    payload: np.ndarray
    body: np.ndarray
    kept: np.ndarray
    at: np.ndarray
    view: np.ndarray
    twin: np.ndarray
    flows: Flows

    def __len__(self) -> int:
        return len(self.place)

    @property
    def payloads(self) -> Payloads:
        """What was kept of them."""
        loaded = self.payload > 0
        kept = (self.kept - self.body)[loaded]
        return Payloads(
            there=bool(loaded.any()),
            most_kept=int(kept.max(initial=0)),
            cut=bool((kept < self.payload[loaded]).any()),
        )


def passages(views: Sequence[View], ends: Ends, direction: Direction, *, damaging: bool) -> Passages:
    """Every packet of a direction that carries data, SYN or FIN, at every place; of UDP, every datagram.

    What left the medium without having entered it is left out: it is a packet that was damaged on its way.
    damaging: whether the link does that; if not, TCP's packets are known without a look at their content.
    """
    rows = _seen(views, ends, direction, damaging)
    rows["flow"], keys = _flows(rows)
    _keep(rows, np.lexsort((rows["frame"], rows["t_ns"])))
    _keep(rows, ~_in_vain(rows, len(keys), ENTER[direction]))
    places = max([LINKS, *(view.place + 1 for view in views)])
    places += (places - LINKS) % 2  # a link has two ends, seen or not
    left = np.isin(rows["place"], beyond(direction, places))
    rows["twin"] = _twins(rows, rows["place"] == ENTER[direction], left)
    _leave_out(rows, left & (rows["twin"] == NONE))
    begin = _positions(rows, flows=len(keys), places=places)
    body = begin + rows["opens"]
    pair, servers = keys >> 32, max(len(ends.servers), 1)
    return Passages(
        places=places,
        place=rows["place"],
        flow=rows["flow"],
        t_ns=rows["t_ns"],
        begin=begin,
        end=begin + rows["payload"] + rows["marks"],
        payload=rows["payload"],
        body=body,
        kept=body + rows["kept"],
        at=rows["at"],
        view=rows["view"],
        twin=rows["twin"],
        flows=Flows(
            station=pair // servers,
            station_port=keys >> 16 & 0xFFFF,
            server=pair % servers,
            server_port=keys & 0xFFFF,
            reused=_reused(rows, len(keys)),
        ),
    )


def _seen(views: Sequence[View], ends: Ends, direction: Direction, damaging: bool) -> Columns:
    parts = [_of_view(number, view, ends, direction, damaging) for number, view in enumerate(views)]
    # A column is let go once it is joined: a second one of each is more than all else that is held here.
    return {name: np.concatenate([np.empty(0, np.int64), *(part.pop(name) for part in parts)]) for name in _COLUMNS}


def _of_view(number: int, view: View, ends: Ends, direction: Direction, damaging: bool) -> Columns:
    packets = view.file.packets
    station, server, here, there = packets.src, packets.dst, packets.sport, packets.dport
    if direction == "downlink":
        station, server, here, there = server, station, there, here
    known = np.isin(station, ends.stations) & np.isin(server, ends.servers)
    if view.station is not None:
        known &= station == ends.stations[view.station]
    if view.server is not None:
        known &= server == ends.servers[view.server]
    tcp = packets.protocol == TCP
    opens, closes = tcp & (packets.flags & SYN != 0), tcp & (packets.flags & FIN != 0)
    reset = tcp & (packets.flags & RST != 0)
    mask = known & ((packets.payload > 0) | opens | closes) & ~reset
    pair = np.searchsorted(ends.stations, station[mask]) * len(ends.servers)
    pair += np.searchsorted(ends.servers, server[mask])
    marks = opens.astype(np.int64) + closes
    columns = {
        "key": pair << 32 | here[mask].astype(np.int64) << 16 | there[mask],
        "datagram": (~tcp[mask]).astype(np.int64),
        "opens": opens[mask].astype(np.int64),
        "marks": marks[mask],
        "kept": packets.kept_payload[mask].astype(np.int64),
    }
    looked = ~tcp[mask] | damaging
    data = whole(view.file.data) if looked.any() else np.empty(0, np.uint8)
    for name, sums in contents(data, packets, np.flatnonzero(mask)[looked]).items():
        columns[name] = np.zeros(len(looked), dtype=np.int64)
        columns[name][looked] = sums
    columns |= {
        name: getattr(packets, name)[mask].astype(np.int64)
        for name in ("t_ns", "frame", "seq", "ip_id", "payload", "at")
    }
    count = np.count_nonzero(mask)
    return columns | {"place": np.full(count, view.place, np.int64), "view": np.full(count, number, np.int64)}


def _flows(rows: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Each row's flow, and the key of each flow.  A UDP datagram is a stream of its own, known by what is in it."""
    own = np.where(rows["datagram"] > 0, 1 + identity(rows), 0)
    order = np.lexsort((own, rows["key"]))
    key, own = rows["key"][order], own[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (key[1:] != key[:-1]) | (own[1:] != own[:-1])
    if (count := np.count_nonzero(fresh)) > MOST_FLOWS:
        raise ValueError(f"{count} flows and datagrams, more than the {MOST_FLOWS} that this analysis can hold")
    flow = np.empty(len(order), dtype=np.int64)
    flow[order] = np.cumsum(fresh) - 1
    return flow, key[fresh]


def _keep(rows: Columns, which: np.ndarray) -> None:
    """Leave only these rows, in this order; column after column, so that no two of each are held."""
    for name in rows:
        rows[name] = rows[name][which]


def _in_vain(rows: Columns, flows: int, enter: int) -> np.ndarray:
    """Mask: attempts to open a connection which was opened by a later one, as while nobody listened yet.

    Where anything was sent in between they were connections, and are not in vain.  Rows are in order of time.
    """
    flow, number = rows["flow"], np.arange(len(rows["flow"]))
    opening = rows["opens"] > 0
    entering = np.flatnonzero(opening & (rows["place"] == enter))
    last = np.full(flows, -1)
    last[flow[entering]] = entering  # of several assignments to one place the last one stays
    newest = rows["seq"] == rows["seq"][last[flow]]
    begun, again = np.full(flows, -1), entering[newest[entering]][::-1]
    begun[flow[again]] = again
    used = np.zeros(flows, dtype=bool)
    used[flow[(rows["payload"] > 0) & (number < begun[flow])]] = True
    found: np.ndarray = opening & ~newest & (last[flow] >= 0) & ~used[flow]
    return found


def _twins(rows: Columns, origin: np.ndarray, arrival: np.ndarray) -> np.ndarray:
    """For each row in `arrival`, the row of the same packet in `origin`; NONE for all others."""
    here, there = np.flatnonzero(origin), np.flatnonzero(arrival)
    found = np.full(len(origin), NONE, dtype=np.int64)
    sent, come = ({name: rows[name][at] for name in COMPARED} for at in (here, there))
    found[there] = same_packets(sent, come, here)
    return found


def _leave_out(rows: Columns, damaged: np.ndarray) -> None:
    """Keep the other rows, with their twins' new numbers; no damaged row is anybody's twin."""
    _keep(rows, ~damaged)
    number = np.cumsum(~damaged) - 1
    twin = rows["twin"]
    rows["twin"] = np.where(twin >= 0, number[np.maximum(twin, 0)], twin)


def _positions(rows: Columns, *, flows: int, places: int) -> np.ndarray:
    """Where each packet begins in its flow's stream, from the lowest byte that was seen anywhere."""
    count = len(rows["flow"])
    order = np.lexsort((np.arange(count), rows["place"], rows["flow"]))
    flow, seq = rows["flow"][order], rows["seq"][order].astype(np.uint32)
    starts = starts_of(flow * places + rows["place"][order])
    first_of_flow = spread(seq[starts_of(flow)], starts_of(flow), count)
    # A place may have seen a flow from another packet on: its first number, from the flow's first one.
    ahead = (seq[starts] - first_of_flow[starts]).view(np.int32).astype(np.int64)
    place = unwrap(seq, starts) + spread(ahead, starts, count)
    lowest = np.full(flows, SPAN)
    np.minimum.at(lowest, flow, place)
    found = np.empty(count, dtype=np.int64)
    found[order] = place - lowest[flow]
    if count and found.max() >= SPAN // 2:
        raise ValueError(f"a TCP stream of {found.max()} bytes, more than the {SPAN // 2} that this analysis can hold")
    return found


def _reused(rows: Columns, flows: int) -> np.ndarray:
    opening = rows["opens"] > 0
    numbers = np.unique(rows["flow"][opening] << 32 | rows["seq"][opening])
    found: np.ndarray = np.bincount(numbers >> 32, minlength=flows) > 1
    return found
