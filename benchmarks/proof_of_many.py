"""How long the proof of a link takes whose stations all have settings of their own, and what it found.

    python benchmarks/proof_of_many.py [--stations 50]

Needs root.  One line for each link: duplex and shared, slow and fast, with delays where this kernel has netem.  Exit
status 1 when one of them took a minute or more, or when something that it should do was not found to hold.  (On a
shared medium that is slower still it does take longer: 30,000 small frames for the losses take their time on it.)
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from emulation.link import features
from emulation.plan import linkplan
from emulation.plan.stages import Feature
from emulation.profile.profile import LinkProfile
from emulation.proof.proof import probe_link
from emulation.tc import shaper
from topologies.network import Network, probe_ends
from topologies.star import star

LIMIT_S = 60.0
_SEED = 1


def main() -> int:
    """Prove each link once; print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stations", type=int, default=50, help="how many")
    stations = parser.parse_args().stations
    netem = not features.probe()[Feature.NETEM]
    failed = False
    began = time.monotonic()
    with star(stations=stations, congestion_control="reno") as network:
        print(f"{stations} stations, built in {time.monotonic() - began:.1f} s")
        for name, profile in links(network, netem=netem):
            failed |= not proven(network, name, profile)
    return int(failed)


def links(network: Network, *, netem: bool) -> Iterator[tuple[str, LinkProfile]]:
    """What is proven: every station has a loss of its own, and a rate or, where that can be, a delay."""
    names = [node.name for node in network.stations]
    for medium in ("duplex", "shared"):
        for rate in (1e6, 11e6, 54e6):
            own: dict[str, dict[str, Any]] = {
                name: {"loss": 0.001 * (1 + place), "rate": rate * (1 - place / len(names) / 2)}
                for place, name in enumerate(names)
            }
            yield f"{medium}, {rate / 1e6:g} Mbit/s", _profile(medium, rate, own)
    if netem:
        late = {name: {"delay": 0.005 * (1 + place), "jitter": 0.002} for place, name in enumerate(names)}
        yield "duplex, 11 Mbit/s, delays and jitter", _profile("duplex", 11e6, late)


def _profile(medium: str, rate: float, own: dict[str, dict[str, Any]]) -> LinkProfile:
    base = {"name": "bench", "description": "made for a measurement", "source": "benchmark"}
    return LinkProfile.model_validate(base | {"medium": medium, "rate": rate, "stations": own})


def proven(network: Network, name: str, profile: LinkProfile) -> bool:
    """Whether it holds, and was proven in time."""
    names = [node.name for node in network.stations]
    plan = linkplan.plan(profile, names, seed=_SEED, seconds=60, timeline_s=0, times_frames=features.times_frames())
    began = time.monotonic()
    with shaper.applied(plan, network.ports):
        applied_s = time.monotonic() - began
        checks = probe_link(plan, probe_ends(network, plan.groups))
        seconds = time.monotonic() - began - applied_s
    off = [check for check in checks if not check.holds]
    print(f"{name:>36}: put up in {applied_s:4.1f} s, proven in {seconds:4.1f} s; {len(off)} of {len(checks)} off")
    for check in off:
        figures = f"asked {check.asked:g}, delivered {check.delivered:g}"
        print(f"    {check.direction} {check.quantity}: {figures} ({check.detail})")
    return not off and seconds < LIMIT_S


if __name__ == "__main__":
    sys.exit(main())
