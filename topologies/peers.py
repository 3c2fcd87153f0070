"""Peers for whoever needs a network and has no scenario: stations on one medium and nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from topologies.build import built
from topologies.kinds.peers import Peers
from topologies.network import Network
from topologies.plan import MAX_STATIONS


@contextmanager
def peers(
    *, stations: int, congestion_control: str, sysctls: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Network]:
    """Build 2 to 1000 stations; as topologies.build.built."""
    if not 2 <= stations <= MAX_STATIONS:
        raise ValueError(f"peers are 2 to {MAX_STATIONS} stations, not {stations}")
    plan = Peers().plan(stations=stations, network="medium")
    with built(plan, congestion_control=congestion_control, sysctls=sysctls) as network:
        yield network
