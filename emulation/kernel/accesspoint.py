"""Where the access point's ports are."""

from __future__ import annotations

import socket
from collections.abc import Collection
from dataclasses import dataclass, field

from emulation.kernel.namespace import KernelError, in_namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """pid: a process in the access point's network namespace.  stations: node name to port.  wired: the other port.

    addresses, macs: node name to IPv4 and to MAC address, of the stations.  An uplink packet enters by a station's port
    and leaves by the wired one.  turns: whether what is behind the wired port sends frames for a station that come out
    of it back in, and no others; then a frame from one station to another goes up and down again, that way.
    """

    pid: int
    stations: dict[str, str]
    wired: str
    addresses: dict[str, str]
    macs: dict[str, str] = field(default_factory=dict)
    turns: bool = False


def check_ports(ports: Ports) -> None:
    """Raise KernelError for ports that have gone."""
    check_there(ports, {name for _, name in in_namespace(ports.pid, socket.if_nameindex)})


def check_there(ports: Ports, there: Collection[str]) -> None:
    """The same, where the names of the interfaces are known."""
    if gone := [name for name in (ports.wired, *ports.stations.values()) if name not in there]:
        raise KernelError(f"interface {', '.join(gone)} of the access point has gone: no packet crosses the link there")
