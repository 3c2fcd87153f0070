"""How long it takes until a link can be used."""

from __future__ import annotations

import time
from collections.abc import Iterator

from accuracy.bench import SEED, Line
from emulation.kernel import kernel
from emulation.link import features
from emulation.plan import linkplan
from emulation.profile import library
from emulation.proof.proof import Ends, probe_link
from emulation.tc import shaper
from topologies.peers import peers
from topologies.star import star

_PROVEN_S = {"host": 6.0, "lab": 25.0}
_STATIONS_S, _PEERS_S = 7.0, 10.0


def proven(started: float) -> Line:
    """An access point with 4 stations, up and proven; started: wall clock when this process (or kernel) was."""
    with star(stations=4, congestion_control="reno") as network:
        station, wired = network.stations[0], network.servers[0]
        plan = linkplan.plan(library.load("nistnet-80211"), list(network.ports.stations), seed=SEED, seconds=20,
                             timeline_s=0, times_frames=features.times_frames())  # fmt: skip
        ends = Ends(station_pid=station.pid, station_address=station.address, wired_pid=wired.pid,
                    wired_address=wired.address)  # fmt: skip
        with shaper.applied(plan, network.ports):
            holds = all(check.holds for check in probe_link(plan, {0: ends}))
    return Line(what="access point with 4 stations, up and proven", unit="s", asked=None,
                delivered=time.time() - started, low=0, high=_PROVEN_S[kernel.current()] if holds else -1,
                note="" if holds else "NOT PROVEN")  # fmt: skip


def built() -> Iterator[Line]:
    """200 stations, and 64 peers."""
    if kernel.current() != "host":
        return
    for build, stations, what, limit_s in ((star, 200, "stations", _STATIONS_S), (peers, 64, "peers", _PEERS_S)):
        before = time.monotonic()
        with build(stations=stations, congestion_control="reno"):
            took = time.monotonic() - before
        yield Line(what=f"{stations} {what} built", unit="s", asked=None, delivered=took, low=0, high=limit_s)
