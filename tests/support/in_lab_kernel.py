"""What test_stages_lab.py asks of links in the lab kernel; `python in_lab_kernel.py` prints the answers as JSON.

One boot for all of them: each case is a link that is asked for and one that is made, and answers with the checks
that do not hold; the crossings are packets sent while a timeline is played.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import numpy as np
from emulated_links import broken, holding, link, path, profile, prove

from emulation.kernel.namespace import in_namespace, read_sysctl
from emulation.link.link import playing
from emulation.proof.bypass import bypass_checks
from emulation.proof.order import overtakers
from emulation.proof.probe import MIN_FRAME
from emulation.proof.trialproof import CHANGE_TOLERANCE_S
from emulation.tc import losstable
from topologies.network import Network
from topologies.star import star

Settings = dict[str, Any]
LATE: Settings = {"delay": 0.02}
JITTERS: dict[str, Settings] = {
    kind: {"delay": 0.03, "jitter": 0.006, "jitter_distribution": kind} for kind in ("uniform", "normal", "pareto")
}


def up(**settings: Any) -> Settings:
    return {"uplink": settings}


def down(**settings: Any) -> Settings:
    return {"downlink": settings}


FAITHFUL: dict[str, Settings] = {
    "another delay each way": {"uplink": {"delay": 0.03}, "downlink": {"delay": 0.005}},
    "uniform jitter, and normal": up(**JITTERS["uniform"]) | down(**JITTERS["normal"]),
    "pareto jitter, and a measured distribution": up(**JITTERS["pareto"])
    | down(**LATE, jitter=0.004, jitter_distribution={"values": (-8192, -8192, -8192, 8192, 16384)}),
    "reordering, and jitter without order": up(**LATE, reorder=0.1) | down(**JITTERS["normal"], keep_order=False),
    "duplicates, and damage": up(duplicate=0.05) | down(corrupt=0.05),
    "everything": {"rate": 5e6, "loss": 0.02} | up(**JITTERS["uniform"], duplicate=0.03, corrupt=0.01),
    "stations apart": {"rate": 4e6} | up(**LATE) | {"stations": {"sta2": {"downlink": {"delay": 0.04}, "loss": 0.1}}},
}
FAULTY: dict[str, tuple[Settings, Settings]] = {
    "25 ms for 20": (up(**LATE), up(delay=0.025)),
    "no delay": (down(**LATE), {}),
    "no jitter": (up(**JITTERS["uniform"]), up(delay=0.03)),
    # Out of order: packets that wait for each other are late together, which shows as delay in one run of many.
    "three times the jitter": (
        down(**JITTERS["uniform"]),
        down(**JITTERS["uniform"] | {"jitter": 0.018, "keep_order": False}),
    ),
    "no duplicates": (up(duplicate=0.05), {}),
    "not even one duplicate": (down(duplicate=0.01), {}),
    "duplicates that nobody asked for": ({}, up(duplicate=0.05)),
    "no reordering": (up(**LATE, reorder=0.1), up(**LATE)),
    "packets that overtake where order is kept": (
        down(**JITTERS["normal"], rate=2e6),
        down(**JITTERS["normal"], rate=2e6, keep_order=False),
    ),
    "no damage": (down(corrupt=0.05), {}),
    "damage that nobody asked for": ({}, up(corrupt=0.05)),
    "a station without its delay": (
        {"stations": {"sta2": up(**LATE)}},
        {"stations": {"sta2": up(delay=0.001)}},
    ),
}


def handover(network: Network) -> dict[str, Any]:
    """Delays (ms) of packets before, in and after a handover; again when a change was late, as trials are."""
    for _ in range(5):
        found, late_s = _handover(network)
        if late_s <= CHANGE_TOLERANCE_S:
            break
    return found


def _handover(network: Network) -> tuple[dict[str, Any], float]:
    """Of a handover of 300 ms that begins at 300 ms; and how late the latest change was (s)."""
    events = [{"at": 0.3, "handover": {"lasts": 0.3, "extra_delay": 0.02, "to": {"delay": 0.015}}}]
    with (
        link(network, delay=0.01, keep_order=False, timeline=events) as made,
        path(network) as probe,
        playing(made) as player,
    ):
        time.sleep(0.1)
        began = time.time_ns()
        player.start(time.monotonic_ns())
        arrivals = probe.send([MIN_FRAME] * 450, spacing_s=0.002)
    sent, delay = (arrivals.sent_ns - began) / 1e9, (arrivals.received_ns - arrivals.sent_ns) / 1e6
    parts = {"before": (0, 0.28), "within": (0.35, 0.58), "after": (0.65, 0.9)}
    medians = {name: float(np.median(delay[(sent > a) & (sent < b)])) for name, (a, b) in parts.items()}
    return medians | {"arrived": len(arrivals.number)}, max(one.late_s for one in player.played)


def in_order(network: Network) -> dict[str, Any]:
    """How many packets overtake others where jitter is larger than their spacing, with order kept and without."""
    found = {}
    for keep in (True, False):
        with link(network, **JITTERS["normal"], keep_order=keep), path(network) as probe:
            probe.wait(0.5, in_order=False)
            found[str(keep)] = overtakers(probe.send([MIN_FRAME] * 300, spacing_s=0.002).number)
    return found


def beside_br_netfilter(priority: int | None = None) -> dict[str, Any]:
    """Which of 100 packets are lost of which six are listed, and what the counters say; br_netfilter is loaded.

    priority: another one than that of the loss stage.
    """
    usual = losstable.PRIORITY
    losstable.PRIORITY = usual if priority is None else priority
    try:
        with (
            star(stations=1, congestion_control="reno") as network,
            link(network, loss={"model": "recorded", "packets": 50, "lost": (3, 4, 49)}) as made,
            path(network) as probe,
        ):
            on = in_namespace(network.ports.pid, lambda: read_sysctl("net.bridge.bridge-nf-call-iptables"))
            first = made.stage_counts()
            arrived = probe.send([MIN_FRAME] * 100, spacing_s=0.001).number.tolist()
            checks = list(bypass_checks(first, made.stage_counts()))
    finally:
        losstable.PRIORITY = usual
    return {
        "on": on,
        "lost": sorted(set(range(100)) - set(arrived)),
        "bypassed": {one.direction: one.delivered for one in checks if not one.holds},
    }


def main() -> None:
    """Do all, print one JSON object."""
    answers: dict[str, Any] = {"faithful": {}, "faulty": {}}
    with star(stations=2, congestion_control="reno") as network:
        for name, settings in FAITHFUL.items():
            checks = holding(network, profile(**settings))
            answers["faithful"][name] = [check.model_dump_json() for check in checks if not check.holds]
        for name, (asked, made) in FAULTY.items():
            answers["faulty"][name] = sorted(broken(prove(network, profile(**asked), profile(**made))))
        answers["handover"], answers["in order"] = handover(network), in_order(network)
    subprocess.run(["modprobe", "br_netfilter"], check=True)
    answers["br_netfilter"] = {"ours": beside_br_netfilter(), "0": beside_br_netfilter(0)}
    answers["release"] = os.uname().release
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
