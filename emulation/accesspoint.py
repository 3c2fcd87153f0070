"""Where the access point's ports are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """pid: a process in the access point's network namespace.  stations: node name to port.  wired: the other port.

    addresses: node name to IPv4 address, of the stations.  An uplink packet enters by a station's port and leaves
    by the wired one.
    """

    pid: int
    stations: dict[str, str]
    wired: str
    addresses: dict[str, str]
