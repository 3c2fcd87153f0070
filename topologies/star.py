"""A star for whoever needs a network and has no scenario: stations and a server around one access point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from topologies.build import built
from topologies.kinds.star import Star
from topologies.network import Network
from topologies.plan import MAX_STATIONS

__all__ = ["MAX_STATIONS", "star"]


@contextmanager
def star(
    *, stations: int, congestion_control: str, sysctls: Mapping[str, str] = MappingProxyType({}), servers: int = 1
) -> Iterator[Network]:
    """Build 1 to 1000 stations and a server, or several; as topologies.build.built."""
    if not 1 <= stations <= MAX_STATIONS:
        raise ValueError(f"a star has 1 to {MAX_STATIONS} stations, not {stations}")
    plan = Star(servers=servers).plan(stations=stations, network="medium")
    with built(plan, congestion_control=congestion_control, sysctls=sysctls) as network:
        yield network
