"""The rules of analysis.capture.tcp once more, packet by packet, to hold the array version against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pcap_files import ACK, FIN, RST, SYN, Segment


@dataclass
class Side:
    reached: int | None = None
    last: Segment | None = None
    acked: int | None = None
    sent: list[tuple[int, int, int, bool]] = field(default_factory=list)  # begin, end, frame, sent again


def analyse_slowly(segments: Sequence[Segment]) -> tuple[set[int], set[int], dict[int, tuple[int, bool]]]:
    """Frames that are retr_or_ooo, frames that are duplicate ACKs, ACK frame to (rtt, karn).

    seq and ack of the segments are true, unwrapped numbers; each pair of ports carries one connection.
    """
    sides: dict[tuple[object, ...], Side] = {}
    retr: set[int] = set()
    duplicate: set[int] = set()
    rtt: dict[int, tuple[int, bool]] = {}
    for number, one in enumerate(segments):
        here = sides.setdefault((one.src, one.sport, one.dst, one.dport), Side())
        marks = bool(one.flags & SYN) + bool(one.flags & FIN)
        end, reset = one.seq + one.payload + marks, bool(one.flags & RST)
        data = one.payload + marks > 0 and not reset
        reached = one.seq if here.last is None else here.reached
        if (
            reached is not None
            and data
            and one.seq < reached
            and not (one.payload <= 1 and not marks and one.seq == reached - 1)
        ):
            retr.add(number)
        last = here.last
        if (
            last is not None and one.flags & (SYN | FIN | RST | ACK) == ACK and not one.payload and one.window
            and (one.window, one.ack) == (last.window, last.ack) and one.seq == reached
        ):  # fmt: skip
            duplicate.add(number)
        if data:
            here.sent.append((one.seq, end, number, number in retr))
        other = sides.get((one.dst, one.dport, one.src, one.sport), Side())
        if one.flags & ACK and not reset:
            _acknowledge(one, number, here, other, segments=segments, rtt=rtt)
        if not reset:
            here.reached = end if here.reached is None else max(here.reached, end)
        here.last = one
    return retr, duplicate, rtt


def _acknowledge(
    one: Segment,
    number: int,
    here: Side,
    other: Side,
    *,
    segments: Sequence[Segment],
    rtt: dict[int, tuple[int, bool]],
) -> None:
    before = here.acked
    if before is not None and one.ack <= before:
        return
    here.acked = one.ack
    again = any(begin < one.ack and (before is None or end > before) and repeat for begin, end, _, repeat in other.sent)
    firsts = [frame for _, end, frame, _ in other.sent if end == one.ack]
    if firsts:
        rtt[number] = (one.t_ns - segments[firsts[0]].t_ns, not again)
