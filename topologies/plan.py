"""What a network consists of, before a kernel is touched: hosts, segments, translators, and their addresses.  Pure."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from emulation.profile.media import Via

Role = Literal["station", "server", "router"]

_FIRST_SUBNET = ipaddress.ip_network("10.77.0.0/16")
_IDENTITIES = ipaddress.ip_network("10.76.0.0/16")
MAX_SEGMENTS = 178  # 10.77.0.0/16 to 10.254.0.0/16
MAX_STATIONS = 1000  # on one medium
_LONGEST_NAME = 15  # IFNAMSIZ of linux/if.h, without the zero at its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A station, which hangs on one medium, a server, or a router.

    Routers, and servers on more than one segment, pass on what is not for them.
    """

    name: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Hosts that reach each other without a router.

    profile: the link profile between `stations` and `wired`, as its user calls it; None = a plain switch, on which
    nothing is emulated.  stations: hosts on the medium, whatever their role.  wired: hosts on the wired side, behind a
    switch where there are several.  A medium of peers has nobody there.  via: how a frame comes from one station to
    another.
    """

    name: str
    profile: str | None
    stations: tuple[str, ...] = ()
    wired: tuple[str, ...] = ()
    via: Via = "access-point"

    @property
    def members(self) -> tuple[str, ...]:
        """All hosts, those on the wired side first."""
        return (*self.wired, *self.stations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translator:
    """A router that puts its own address (masquerade) on what it sends out by a segment, and lets nobody in there."""

    router: str
    outside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A host's end of a cable.  port: the other end, on the segment's access point or switch."""

    host: str
    segment: str
    name: str
    address: str
    mac: str
    port: str


@dataclass(frozen=True, kw_only=True)
class TopologyPlan:
    """Every host and every segment, in an order that fixes addresses.  ValueError for what cannot be built."""

    hosts: tuple[Host, ...]
    segments: tuple[Segment, ...]
    translators: tuple[Translator, ...] = ()

    def __post_init__(self) -> None:
        _unique("hosts", (host.name for host in self.hosts))
        _unique("segments", (segment.name for segment in self.segments))
        if len(self.segments) > MAX_SEGMENTS:
            raise ValueError(f"a network has at most {MAX_SEGMENTS} segments, not {len(self.segments)}")
        for segment in self.segments:
            if unknown := [name for name in segment.members if name not in self._roles]:
                raise ValueError(f"segment {segment.name}: there is no host {unknown[0]}")
            if len(segment.stations) > MAX_STATIONS:
                raise ValueError(f"a medium has at most {MAX_STATIONS} stations, not {len(segment.stations)}")
            _unique(f"hosts of segment {segment.name}", segment.members)
        for host in self.hosts:
            there = self._segments_of[host.name]
            if not there:
                raise ValueError(f"host {host.name} is on no segment")
            if host.role == "station" and (len(there) > 1 or host.name not in there[0].stations):
                raise ValueError(f"station {host.name} has to be on one medium, not on {_names(there)}")
        for one in self.translators:
            if one.router not in self.segment(one.outside).members or self.role(one.router) != "router":
                raise ValueError(f"no router {one.router} on segment {one.outside} that could translate addresses")
        _unique("ports", (one.port for one in self.interfaces))
        if long := [name for one in self.interfaces for name in (one.name, one.port) if len(name) > _LONGEST_NAME]:
            raise ValueError(f"interface {long[0]}: a name has at most {_LONGEST_NAME} characters")

    def role(self, host: str) -> Role:
        """What a host is."""
        return self._roles[host]

    def segment(self, name: str) -> Segment:
        """The segment called `name`; ValueError when there is none."""
        found = next((one for one in self.segments if one.name == name), None)
        if found is None:
            raise ValueError(f"there is no segment {name}: {_names(self.segments)}")
        return found

    @property
    def emulated(self) -> tuple[Segment, ...]:
        """Segments with a link profile."""
        return tuple(one for one in self.segments if one.profile is not None)

    def of_role(self, role: Role) -> tuple[str, ...]:
        """Names of the hosts of a role, in order."""
        return tuple(host.name for host in self.hosts if host.role == role)

    def segments_of(self, host: str) -> tuple[Segment, ...]:
        """The segments that a host is on."""
        return tuple(self._segments_of[host])

    def forwards(self, host: str) -> bool:
        """Whether a host passes on what is not for it."""
        return self._roles[host] == "router" or len(self._segments_of[host]) > 1

    def subnet(self, segment: str) -> ipaddress.IPv4Network:
        """The addresses of a segment."""
        number = [one.name for one in self.segments].index(segment)
        first = int(_FIRST_SUBNET.network_address) + number * _FIRST_SUBNET.num_addresses
        return ipaddress.IPv4Network((first, _FIRST_SUBNET.prefixlen))

    def address(self, host: str) -> str:
        """Where a host is reached: that of its only interface, or one that belongs to none of several."""
        if host in self._identities:
            return self._identities[host]
        return self._interfaces[host][0].address

    def identity(self, host: str) -> str:
        """The address that a host on several segments has beside those of its interfaces, '' where it has none."""
        return self._identities.get(host, "")

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """Of every host, in the order of segments."""
        found, seen = [], Counter[str]()
        for number, segment in enumerate(self.segments):
            subnet = self.subnet(segment.name)
            for place, host in enumerate(segment.members, start=1):
                several = len(self._segments_of[host]) > 1
                found.append(
                    Interface(
                        host=host,
                        segment=segment.name,
                        name=f"{host}-eth{seen[host] if several else ''}",
                        address=str(subnet[place]),
                        mac=f"02:77:00:{number:02x}:{place >> 8:02x}:{place & 255:02x}",
                        port=self._port(segment, host, place, several=several),
                    )
                )
                seen[host] += 1
        return tuple(found)

    def interfaces_of(self, host: str) -> tuple[Interface, ...]:
        """A host's, in the order of segments."""
        return tuple(self._interfaces[host])

    def on(self, segment: str) -> tuple[Interface, ...]:
        """All interfaces on a segment, those of its wired side first."""
        return tuple(one for one in self.interfaces if one.segment == segment)

    def wired_port(self, segment: Segment) -> str:
        """The port of an access point that its wired side hangs on."""
        return "wired" if len(self.emulated) == 1 else f"wired-{segment.name}"

    def _port(self, segment: Segment, host: str, place: int, *, several: bool) -> str:
        if segment.profile is None or (host in segment.wired and len(segment.wired) > 1):
            return f"sw{place}-{segment.name}"
        if host in segment.wired:
            return self.wired_port(segment)
        return f"port-{segment.name if several else host}"

    @cached_property
    def _roles(self) -> dict[str, Role]:
        return {host.name: host.role for host in self.hosts}

    @cached_property
    def _segments_of(self) -> dict[str, list[Segment]]:
        found: dict[str, list[Segment]] = {host.name: [] for host in self.hosts}
        for segment in self.segments:
            for host in segment.members:
                found[host].append(segment)
        return found

    @cached_property
    def _interfaces(self) -> dict[str, list[Interface]]:
        found: dict[str, list[Interface]] = {host.name: [] for host in self.hosts}
        for one in self.interfaces:
            found[one.host].append(one)
        return found

    @cached_property
    def _identities(self) -> dict[str, str]:
        several = [host.name for host in self.hosts if len(self._segments_of[host.name]) > 1]
        return {name: str(_IDENTITIES[number]) for number, name in enumerate(several, start=1)}


def _names(segments: Iterable[Segment]) -> str:
    return ", ".join(one.name for one in segments) or "none"


def _unique(what: str, names: Iterable[str]) -> None:
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"{what}: {twice[0]} is there twice")
