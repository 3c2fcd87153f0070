"""What a real trial's captures show of how its clients connected, for tests."""

from __future__ import annotations

from ipaddress import IPv4Address

import numpy as np

from analysis.capture.columns import Packets
from analysis.capture.reader import read_capture
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import from_campaign
from experiments.trial.context import link_plan
from records.campaign import read_campaign
from records.manifest import CapturePoint, Manifest
from records.store import Trial

SYN, ACK = 0x02, 0x10


def captured(trial: Trial, manifest: Manifest, side: CapturePoint) -> list[tuple[str, Packets]]:
    """Node and TCP packets of every capture at a side."""
    kept = [one for one in manifest.captures if one.side == side]
    return [(one.node, read_capture(trial.path / one.file).tcp) for one in kept]


def handshakes_s(trial: Trial) -> dict[tuple[str, int], float]:
    """Station and port of each client connection to seconds from its first SYN to its first SYN-ACK, at its port."""
    found = {}
    for node, packets in captured(trial, trial.manifest(), "station"):
        step = packets.flags & (SYN | ACK)
        for port in np.unique(packets.sport[step == SYN]).tolist():
            asked = packets.t_ns[(step == SYN) & (packets.sport == port)].min()
            answered = packets.t_ns[(step == SYN | ACK) & (packets.dport == port)].min()
            found[node, port] = float(answered - asked) / 1e9
    return found


def ports(manifest: Manifest) -> set[tuple[str, int]]:
    """Station and port of every client's connections, as the clients say."""
    clients = [(one.node, one.ports) for one in manifest.workload.producers]
    clients += [(one.node, one.ports) for one in manifest.workload.consumers]
    return {(node, port) for node, some in clients for port in some}


def downlink_fates(trial: Trial) -> tuple[np.ndarray, int]:
    """Which packets down, from go to the drain's end and in order, were not seen at a station; how many came before."""
    manifest = trial.manifest()
    window, offset = manifest.window, manifest.clock_offset_ns
    server = int(IPv4Address(next(one.address for one in manifest.nodes if one.role == "server")))
    ((_, wired),) = captured(trial, manifest, "wired")
    sent = wired.select(wired.src == server)
    t_ns = sent.t_ns - offset
    chosen = (t_ns >= window.go_ns) & (t_ns <= window.drained_ns)
    arrived = {name for _, packets in captured(trial, manifest, "station") for name in _names(packets)}
    lost = np.array([name not in arrived for name in _names(sent.select(chosen))], dtype=bool)
    return lost, int(np.count_nonzero(t_ns < window.go_ns))


def _names(packets: Packets) -> list[tuple[int, ...]]:
    """What a packet is known by at another port."""
    columns = (packets.dst, packets.sport, packets.dport, packets.seq, packets.ip_id)
    return [tuple(row) for row in np.stack([column.astype(np.int64) for column in columns], axis=1).tolist()]


def assert_numbered_from_go(trial: Trial) -> None:
    """The first packet down after go is number 0 of its loss list, whatever passed while clients connected."""
    manifest, proof = trial.manifest(), trial.link()
    lost, before = downlink_fates(trial)
    assert before >= 2 * len(ports(manifest)), "the handshake and the hello of each client were answered"
    (cell,) = [one for one in read_campaign(trial.path.parents[1]).cells if one.name == manifest.cell.name]
    stations = [one.name for one in manifest.nodes if one.role == "station"]
    settings, profile = from_campaign(cell.settings["settings"]), LinkProfile.model_validate(manifest.profile)
    losses = link_plan(profile, settings, stations, manifest.seed).losses
    (listed,) = [one for one in losses if one.direction == "downlink"]
    assert np.flatnonzero(lost).tolist() == np.flatnonzero(listed.lists(np.arange(len(lost)))).tolist() != []
    (counted,) = [one for one in proof.counters if one.during == "trial"]
    (down,) = [one for one in counted.losses if one.direction == "downlink"]
    # The counters are read a moment after the drain's end.
    assert 0 <= down.seen - len(lost) <= 3
    assert sum(queue.dropped for queue in counted.queues) == 0
