"""What test_peers_lab.py asks of ways between stations by tc with netem; `python peers_in_lab_kernel.py` prints it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

from emulated_links import SHORT, broken, profile, until_it_holds

from emulation.kernel.accesspoint import Ports
from emulation.link import features
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via
from emulation.proof.peerproof import probe_peers
from records.link import LinkCheck
from topologies.network import Network, peer_ends
from topologies.peers import peers

Settings = dict[str, Any]
STATIONS = ("sta1", "sta2", "sta3")
LONGER = replace(SHORT, rate_s=1.2)  # a stall of 6 ms changes a rate over 0.3 s by 2 %
SHARED: Settings = {"medium": "shared", "rate": 2e6, "frame_overhead": 0.0003}
BOTH: Settings = {"uplink": {"delay": 0.02, "loss": 0.1}, "downlink": {"delay": 0.005, "loss": 0.05}}
JITTER: Settings = {"delay": 0.03, "jitter": 0.006}
FAITHFUL: dict[str, tuple[Via, Settings]] = {
    "shared": ("access-point", SHARED | BOTH),
    "shared, ad hoc": ("ad-hoc", SHARED | BOTH),
    "duplex": ("access-point", {"rate": 4e6} | BOTH),
    "jitter, copies, damage": ("access-point", {"loss": 0.05, "duplicate": 0.05, "corrupt": 0.03} | JITTER),
    "a station apart": (
        "access-point",
        {"rate": 4e6, "stations": {"sta2": {"uplink": {"delay": 0.04}, "downlink": {"rate": "1 Mbit/s"}}}} | BOTH,
    ),
}
FAULTY: dict[str, tuple[Via, Settings, Settings]] = {
    "no delay up": ("access-point", {"uplink": {"delay": 0.02}}, {}),
    "no delay, ad hoc": ("ad-hoc", {"uplink": {"delay": 0.02}}, {"downlink": {"delay": 0.02}}),
    "no copies": ("access-point", {"duplicate": 0.1}, {}),
}
WRONG = {
    "no delay up": {"delay"},
    "no delay, ad hoc": {"delay"},
    "no copies": {"duplicates"},
    "not turned": {"delay"},
    "frames that take no time": {"delay"},
}


def planned(via: Via, settings: Settings, *, times_frames: bool | None = None) -> LinkPlan:
    times = features.times_frames() if times_frames is None else times_frames
    return linkplan.plan(
        profile(**settings), STATIONS, seed=1, seconds=10, timeline_s=10, via=via, times_frames=times
    )  # fmt: skip


def prove(
    network: Network, asked: LinkPlan, made: LinkPlan | None = None, *, ports: Ports | None = None
) -> list[LinkCheck]:
    """Probe ways between stations of a link for what `asked` says, which is as `made` says, at these ports.

    All of them where both are the same, else one: by it every fault shows.
    """
    with applied(made or asked, ports or network.ports) as link:
        pairs = list(permutations(STATIONS, 2))
        ends = peer_ends(network, asked.groups, pairs if made is None and ports is None else pairs[:1])
        return list(probe_peers(asked, ends, LONGER, renumber=link.renumber))


def main() -> None:
    """Do all, print one JSON object."""
    answers: dict[str, Any] = {"faithful": {}, "faulty": {}}
    with peers(stations=len(STATIONS), congestion_control="reno") as network:
        for name, (via, settings) in FAITHFUL.items():
            plan = planned(via, settings)
            checks = until_it_holds(lambda plan=plan: prove(network, plan))
            answers["faithful"][name] = [check.model_dump_json() for check in checks if not check.holds]
        for name, (via, asked, made) in FAULTY.items():
            answers["faulty"][name] = sorted(broken(prove(network, planned(via, asked), planned(via, made))))
        plan = planned("access-point", SHARED | BOTH)
        straight = replace(network.ports, turns=False)
        answers["faulty"]["not turned"] = sorted(broken(prove(network, plan, ports=straight)))
        untimed = planned("access-point", SHARED | BOTH, times_frames=False)
        answers["faulty"]["frames that take no time"] = sorted(broken(prove(network, plan, untimed)))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
