"""Topologies for tests, as a scenario gives them, and what a host hears when a packet's hops run out."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from emulation.kernel.namespace import prefix, run_tool
from topologies import topology
from topologies.network import Node
from topologies.plan import TopologyPlan

EVERY: tuple[dict[str, Any], ...] = (
    {"kind": "star", "servers": 3},
    {"kind": "cells", "cells": 2, "servers": 3, "at": "backbone cell1 cell2"},
    {"kind": "cells", "cells": 3, "backbone": "wire"},
    {"kind": "chain", "routers": 3, "link": "wire", "servers": 2},
    {"kind": "tree", "servers": 4, "link": "wire"},
    {"kind": "mesh", "servers": 3, "link": "wire"},
)


def plan_of(stations: int = 4, **settings: Any) -> TopologyPlan:
    return topology.parse(settings).plan(stations=stations, network="air")


def hop(host: Node, address: str, number: int) -> str:
    """Who answers a packet that may pass so many hosts, as traceroute asks (RFC 792, time exceeded)."""
    command = [*prefix(host.pid), "ping", "-n", "-c", "1", "-W", "2", "-t", str(number), address]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"[Ff]rom ([\d.]+)", said)
    return found[1] if found else ""


def round_trip_s(host: Node, address: str) -> float:
    """The shortest of some pings: what a busy machine adds is not the network's."""
    said = run_tool(["ping", "-n", "-c", "9", "-i", "0.2", address], pid=host.pid)
    return min(float(one) for one in re.findall(r"time=([\d.]+)", said)) / 1e3
