"""What TCP did in a capture: directed flows, retransmissions, duplicate acknowledgements, round trips, recovery.

The rules are those of tshark's sequence analysis, which the tests hold this against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.columns import Packets
from analysis.tcp.acknowledgements import advancing, duplicates
from analysis.tcp.before import Before
from analysis.tcp.connections import ACK, FIN, RST, SYN, Flows, find_flows
from analysis.tcp.novelty import new_bytes
from analysis.tcp.probes import Probes, find_probes
from analysis.tcp.recovery import Episodes, find_episodes
from analysis.tcp.retransmissions import Kind, kinds
from analysis.tcp.rtt import Samples, rtt_samples
from analysis.tcp.segments import starts_of
from analysis.tcp.stream import Stream, make_stream

__all__ = ["ACK", "FIN", "RST", "SYN", "Analysis", "Flows", "Kind", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Packets ordered by flow, then by frame; the masks and numbers stand in the same order.

    order: row in `packets` of each row here.  stream: the packets' offsets and times.  kind: of the packets that
    do not go on where their flow had got to (see Kind).  duplicate_ack: empty, says again what was said.
    new: payload bytes not seen before.  first_ns, last_ns: of each flow, its own first and last packet.
    """

    packets: Packets
    flows: Flows
    order: np.ndarray
    stream: Stream
    probes: Probes
    kind: np.ndarray
    duplicate_ack: np.ndarray
    new: np.ndarray
    rtt: Samples
    recovery: Episodes
    first_ns: np.ndarray
    last_ns: np.ndarray

    @property
    def flow(self) -> np.ndarray:
        """Row in `flows` of each row."""
        return self.stream.flow

    @property
    def retr_or_ooo(self) -> np.ndarray:
        """Sent again or overtaken."""
        found: np.ndarray = self.kind != Kind.NONE
        return found


def analyse(packets: Packets) -> Analysis:
    """Analyse all flows of a capture's TCP packets together."""
    flows, flow = find_flows(packets)
    return analyse_flows(packets, flows, flow)


def analyse_flows(packets: Packets, flows: Flows, flow: np.ndarray, before: Before | None = None) -> Analysis:
    """The same, of flows that are known.  flow: of each packet.  before: what earlier packets have left."""
    order = np.argsort(flow.astype(np.uint16) if len(flows.key) <= 0xFFFF else flow, kind="stable")
    stream = make_stream(packets, flows=flows, flow=flow, order=order, before=before)
    probes, acks = find_probes(stream), advancing(stream)
    duplicate = duplicates(stream, probes)
    kind = kinds(stream, probes=probes, acks=acks, duplicate=duplicate)
    new = new_bytes(stream, probes)
    starts = starts_of(stream.flow)
    ends = (np.minimum.reduceat, np.maximum.reduceat)
    first_ns, last_ns = (end(stream.t_ns, starts) if len(starts) else starts for end in ends)
    return Analysis(
        packets=packets,
        flows=flows,
        order=order,
        stream=stream,
        probes=probes,
        kind=kind,
        duplicate_ack=duplicate,
        new=new,
        rtt=rtt_samples(stream, probes=probes, acks=acks),
        recovery=find_episodes(stream, probes=probes, acks=acks, kind=kind, new=new, last_ns=last_ns),
        first_ns=first_ns,
        last_ns=last_ns,
    )
