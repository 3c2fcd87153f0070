"""Where a trial's packets were seen on their way: which captures stand at which place, for which station."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

import numpy as np

from analysis.capture.reader import Capture as PacketFile
from analysis.recorded import Recorded
from records.directions import Direction
from records.manifest import Manifest
from records.store import DamagedTrial

# The stations' end of the medium, its wired end, and the server's own port.
STATION, WIRED, SERVER = 0, 1, 2
PLACES = 3
_PLACE = {"client": STATION, "station": STATION, "wired": WIRED, "server": SERVER}
# Where a direction's packets enter the medium, and where they have left it.
ENTER: dict[Direction, int] = {"uplink": STATION, "downlink": WIRED}
LEAVE: dict[Direction, int] = {"uplink": WIRED, "downlink": STATION}
# Where a packet can only be when it has left the medium.
BEYOND: dict[Direction, tuple[int, ...]] = {"uplink": (WIRED, SERVER), "downlink": (STATION,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Addresses (sorted) of the stations and of the servers; names: of the stations, in the same order."""

    stations: np.ndarray
    servers: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A capture at a place.  station: the one whose packets it has, None = all of them."""

    place: int
    station: int | None
    file: PacketFile


def ends(manifest: Manifest) -> Ends:
    """The two kinds of node.  DamagedTrial when an address is none."""
    try:
        numbers = {node.name: int(IPv4Address(node.address)) for node in manifest.nodes}
    except ValueError as error:
        raise DamagedTrial(f"manifest.json: nodes: {error}") from error
    roles = {node.name: node.role for node in manifest.nodes}
    names = sorted((name for name, role in roles.items() if role == "station"), key=numbers.__getitem__)
    return Ends(
        stations=np.array([numbers[name] for name in names], dtype=np.int64),
        servers=np.array(sorted(numbers[name] for name, role in roles.items() if role == "server"), dtype=np.int64),
        names=tuple(names),
    )


def views(recorded: Recorded, known: Ends) -> list[View]:
    """The captures that the journey is read from: of a station's two ports, the client's own one."""
    own = {capture.node for capture, _ in recorded if capture.side == "client"}
    found = []
    for capture, file in recorded:
        place = _PLACE[capture.side]
        if place == STATION and capture.node not in known.names:
            continue
        if capture.side == "station" and capture.node in own:
            continue
        station = known.names.index(capture.node) if place == STATION else None
        found.append(View(place=place, station=station, file=file))
    return found
