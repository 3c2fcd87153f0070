"""Where a trial's packets were seen on their way: which captures stand at which place, for which station."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

import numpy as np

from analysis.capture.columns import Packets
from analysis.capture.reader import Capture as PacketFile
from analysis.recorded import Recorded
from records.directions import Direction
from records.manifest import Manifest
from records.store import DamagedTrial

# The stations' end of the medium, its wired end, and the server's own port; from LINKS on the two ends of each link
# between routers or servers.
STATION, WIRED, SERVER, LINKS = 0, 1, 2, 3
_PLACE = {"client": STATION, "station": STATION, "wired": WIRED, "server": SERVER}
# Where a direction's packets enter the medium, and where they have left it.
ENTER: dict[Direction, int] = {"uplink": STATION, "downlink": WIRED}
LEAVE: dict[Direction, int] = {"uplink": WIRED, "downlink": STATION}


def beyond(direction: Direction, places: int) -> tuple[int, ...]:
    """Where, of so many places, a packet can only be when it has left the medium."""
    return (WIRED, SERVER, *range(LINKS, places)) if direction == "uplink" else (STATION,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Addresses (sorted) of the stations and of the servers; names, server_names: theirs, in the same order."""

    stations: np.ndarray
    servers: np.ndarray
    names: tuple[str, ...]
    server_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A capture at a place.  station, server: the one whose packets count there, None = all of them."""

    place: int
    station: int | None
    server: int | None
    file: PacketFile


def ends(manifest: Manifest) -> Ends:
    """The two kinds of node.  DamagedTrial when an address is none."""
    try:
        numbers = {node.name: int(IPv4Address(node.address)) for node in manifest.nodes}
    except ValueError as error:
        raise DamagedTrial(f"manifest.json: nodes: {error}") from error
    roles = {node.name: node.role for node in manifest.nodes}
    names, servers = (
        sorted((name for name, role in roles.items() if role == wanted), key=numbers.__getitem__)
        for wanted in ("station", "server")
    )
    return Ends(
        stations=np.array([numbers[name] for name in names], dtype=np.int64),
        servers=np.array([numbers[name] for name in servers], dtype=np.int64),
        names=tuple(names),
        server_names=tuple(servers),
    )


def links(recorded: Recorded) -> tuple[str, ...]:
    """Names of the links between routers or servers that were captured, in the order of the captures."""
    return tuple(dict.fromkeys(capture.link for capture, _ in recorded if capture.link))


def views(recorded: Recorded, known: Ends) -> list[View]:
    """The captures that the journey is read from: of a station's two ports, the client's own one.

    A server passes on what is for others; at its own ports only what is its own counts.  Of a link that it is at the
    stations' end of, only that end's other port was captured, which stands for its own, too.
    """
    own = {capture.node for capture, _ in recorded if capture.side == "client"}
    found, crossed = [], links(recorded)
    for capture, file in recorded:
        place = _PLACE[capture.side]
        server = known.server_names.index(capture.node) if capture.node in known.server_names else None
        if capture.link and place != SERVER:
            end = LINKS + 2 * crossed.index(capture.link) + (place == WIRED)
            found.append(View(place=end, station=None, server=None, file=file))
            if place == STATION and server is not None:
                found.append(View(place=SERVER, station=None, server=server, file=file))
            continue
        if place == STATION and capture.node not in known.names:
            continue
        if capture.side == "station" and capture.node in own:
            continue
        station = known.names.index(capture.node) if place == STATION else None
        found.append(View(place=place, station=station, server=server if place == SERVER else None, file=file))
    return found


def between_stations(views: Sequence[View]) -> list[View]:
    """The same for packets from station to station: at one's port those that it sends enter the medium, and those that
    are for it have left it, as elsewhere at the wired end.

    The receivers are the servers of these views (peers).  Where packets turn at the wired port between their way up
    and their way down, they are seen there as at a server's port.
    """
    ports = [view for view in views if view.place == STATION]
    there = [View(place=LEAVE["uplink"], station=None, server=one.station, file=one.file) for one in ports]
    return ports + there + [replace(view, place=SERVER) for view in views if view.place == WIRED]


def peers(known: Ends) -> Ends:
    """The stations, each as a server to the others, too."""
    return Ends(stations=known.stations, servers=known.stations, names=known.names, server_names=known.names)


def are_peers(views: Sequence[View], known: Ends) -> bool:
    """Whether packets with payload went from station to station."""
    return any(_between(view.file.packets, known) for view in views if view.place == STATION)


def _between(packets: Packets, known: Ends) -> bool:
    ways = [np.isin(end, known.stations) for end in (packets.src, packets.dst)]
    return bool((ways[0] & ways[1] & (packets.payload > 0)).any())
