"""What TCP did in a capture: directed flows, retransmissions, duplicate acknowledgements, round-trip times.

The rules are those of tshark's sequence analysis, which the tests hold this against.  A packet is
`retr_or_ooo` when it carries data (or SYN, FIN) that does not begin where or after the highest byte seen so
far of its flow ends: seen from one place, a retransmission and an overtaken packet look alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.columns import Packets
from analysis.capture.rtt import Samples, rtt_samples
from analysis.capture.segments import SPAN, highest_before, starts_of, unwrap

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Directed flows, one row each, sorted by `key`; the opposite direction of key k is k ^ 1."""

    key: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    dport: np.ndarray
    reverse: np.ndarray  # row of the opposite direction, -1 when the capture has none of its packets


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Packets ordered by flow, then by frame; the masks and numbers stand in the same order.

    order: row in `packets` of each row here.  flow: row in `flows`.  data: carries payload, SYN or FIN.
    """

    packets: Packets
    flows: Flows
    order: np.ndarray
    flow: np.ndarray
    data: np.ndarray
    retr_or_ooo: np.ndarray
    duplicate_ack: np.ndarray
    rtt: Samples


def analyse(packets: Packets) -> Analysis:
    """Analyse all flows of a capture together."""
    flows, flow = _flows(packets)
    order = np.argsort(flow.astype(np.uint16) if len(flows.key) <= 0xFFFF else flow, kind="stable")
    flow = flow[order]
    starts = starts_of(flow)
    flags, payload = packets.flags[order], packets.payload[order]
    seq, ack = packets.seq[order], packets.ack[order]
    marks = (flags & SYN != 0).astype(np.int64) + (flags & FIN != 0)
    reset = flags & RST != 0
    begin = unwrap(seq, starts)
    end = begin + payload + marks
    # The number in a reset may be anything (RFC 9293, 3.10.7.1): it must not raise what the flow has reached.
    reached = highest_before(np.where(reset, -(SPAN // 4), end), starts, first=begin[starts])
    data = (payload + marks > 0) & ~reset
    keep_alive = (payload <= 1) & (marks == 0) & (begin == reached - 1)
    retr = data & (begin < reached) & ~keep_alive
    return Analysis(
        packets=packets,
        flows=flows,
        order=order,
        flow=flow,
        data=data,
        retr_or_ooo=retr,
        duplicate_ack=_duplicate_acks(
            flags=flags, payload=payload, window=packets.window[order], ack=ack, starts=starts,
            expected=begin == reached,
        ),
        rtt=rtt_samples(
            flow=flow, reverse=flows.reverse, first_seq=seq[starts], frame=packets.frame[order],
            t_ns=packets.t_ns[order], begin=begin, end=end, data=data, retr=retr,
            ack=ack, is_ack=(flags & ACK != 0) & ~reset,
        ),
    )  # fmt: skip


def _duplicate_acks(
    *, flags: np.ndarray, payload: np.ndarray, window: np.ndarray, ack: np.ndarray, starts: np.ndarray,
    expected: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Empty acknowledgements that repeat number and window of the packet before them in their direction."""
    same = np.zeros(len(flags), dtype=bool)
    same[1:] = (ack[1:] == ack[:-1]) & (window[1:] == window[:-1])
    same[starts] = False
    plain = flags & (SYN | FIN | RST | ACK) == ACK
    found: np.ndarray = same & plain & (payload == 0) & (window > 0) & expected
    return found


def _flows(packets: Packets) -> tuple[Flows, np.ndarray]:
    source, target = packets.src << 16 | packets.sport, packets.dst << 16 | packets.dport
    ends = np.unique(np.concatenate([np.unique(source), np.unique(target)]))
    a, b = np.searchsorted(ends, source), np.searchsorted(ends, target)
    pair = np.minimum(a, b) * len(ends) + np.maximum(a, b)
    backward = (a > b).astype(np.int64)
    epoch = _epochs(packets, pair=pair, backward=backward)
    key = (pair * (int(epoch.max(initial=0)) + 1) + epoch) * 2 + backward
    keys, first = np.unique(key, return_index=True)
    opposite = np.searchsorted(keys, keys ^ 1)
    opposite[opposite == len(keys)] = 0
    flows = Flows(
        key=keys,
        src=packets.src[first],
        dst=packets.dst[first],
        sport=packets.sport[first],
        dport=packets.dport[first],
        reverse=np.where(keys[opposite] == keys ^ 1, opposite, -1) if len(keys) else opposite,
    )
    return flows, np.searchsorted(keys, key)


def _epochs(packets: Packets, *, pair: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Which connection of its pair of ports a packet belongs to: a SYN with another number opens the next."""
    count = len(pair)
    opening = np.flatnonzero(packets.flags & (SYN | ACK) == SYN)
    if not len(opening):
        return np.zeros(count, dtype=np.int64)
    opening = opening[np.argsort(pair[opening], kind="stable")]
    number = packets.seq[opening].astype(np.int64) << 1 | backward[opening]
    fresh = np.ones(len(opening), dtype=bool)
    fresh[1:] = (pair[opening][1:] != pair[opening][:-1]) | (number[1:] != number[:-1])
    opening = opening[fresh]
    starts = starts_of(pair[opening])
    rank = np.arange(len(opening)) - np.repeat(starts, np.diff(np.append(starts, len(opening)))) + 1
    last = np.searchsorted(pair[opening] * count + opening, pair * count + np.arange(count), side="right") - 1
    found: np.ndarray = np.where((last >= 0) & (pair[opening][last] == pair), rank[last], 0)
    return found
