"""The rules of analysis.capture once more, packet by packet, to hold the array version against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pcap_files import ACK, FIN, RST, SYN, Segment

NOTHING = -(2**40)
NO_HANDSHAKE_NS, FAST_NS = 3_000_000, 20_000_000
Port = tuple[str, int]


@dataclass
class Sent:
    begin: int
    end: int
    frame: int
    again: bool


@dataclass
class Side:
    """What one direction of a connection has done so far."""

    reached: int | None = None
    sent: int = NOTHING  # the same with probes
    reached_ns: int = 0
    last: Segment | None = None
    last_kind: str = ""
    repeats: int = 0  # duplicate ACKs of the present number
    highest_ack: int | None = None
    unacked: list[Sent] = field(default_factory=list)
    every: list[Sent] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)  # numbers of bytes, SYN and FIN
    recovering: tuple[int, int] | None = None  # since when, until what is acknowledged
    episodes: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Connection:
    sides: dict[Port, Side] = field(default_factory=dict)
    last_ns: int = 0
    syn_ns: int | None = None
    syn_ack: bool = False
    first_rtt_ns: int = NO_HANDSHAKE_NS
    whole: bool = False


@dataclass
class Findings:
    """Frames by kind; rtt: ACK frame to (time, unambiguous); new: frame to payload bytes not seen before.

    episodes: of loss recovery, (start, end) in nanoseconds, by sender and receiver.
    """

    kinds: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    rtt: dict[int, tuple[int, bool]] = field(default_factory=dict)
    new: dict[int, int] = field(default_factory=dict)
    episodes: dict[tuple[Port, Port], list[tuple[int, int]]] = field(default_factory=dict)


def analyse_slowly(segments: Sequence[Segment]) -> Findings:
    """seq and ack of the segments are true, unwrapped numbers; each pair of ports carries one connection."""
    found = Findings()
    connections: dict[frozenset[Port], Connection] = defaultdict(Connection)
    for frame, one in enumerate(segments):
        connection = connections[frozenset({(one.src, one.sport), (one.dst, one.dport)})]
        _packet(one, frame, connection, segments=segments, found=found)
    for connection in connections.values():
        for port, side in connection.sides.items():
            other = next((end for end in connection.sides if end != port), port)
            if side.recovering is not None:
                side.episodes.append((side.recovering[0], max(connection.last_ns, side.recovering[0])))
            found.episodes[port, other] = side.episodes
    return found


def _packet(one: Segment, frame: int, connection: Connection, *, segments: Sequence[Segment], found: Findings) -> None:
    connection.last_ns = max(connection.last_ns, one.t_ns)
    here = connection.sides.setdefault((one.src, one.sport), Side())
    there = connection.sides.setdefault((one.dst, one.dport), Side())
    if one.flags & RST and one.ack > there.sent:  # acknowledges what was never sent
        one = replace(one, ack=NOTHING, flags=one.flags & ~ACK)
    _handshake(one, connection)
    plain, reset = not one.flags & (SYN | FIN | RST), bool(one.flags & RST)
    end = one.seq + one.payload + bool(one.flags & (SYN | FIN))
    kind = _question_or_answer(one, here, there)
    if kind:
        found.kinds[kind].add(frame)
    if not one.window and plain and kind != "probe":
        found.kinds["zero_window"].add(frame)
    here.repeats += kind == "duplicate_ack"
    if here.last is not None and one.ack != here.last.ack:
        here.repeats = 0
    if end > one.seq and not reset:
        _data(one, frame, end, kind, connection, found=found)
    here.sent = here.sent if reset else max(here.sent, end)
    if not reset and kind != "probe" and (here.reached is None or end > here.reached):
        here.reached, here.reached_ns = end, one.t_ns
    if one.flags & ACK:
        _acknowledge(one, frame, kind, here, there, segments=segments, found=found)
    here.last, here.last_kind = one, kind


def _handshake(one: Segment, connection: Connection) -> None:
    step = one.flags & (SYN | ACK)
    if step == SYN:
        connection.syn_ns = one.t_ns
    elif step == SYN | ACK:
        connection.syn_ack = True
    elif step == ACK and connection.syn_ns is not None and connection.syn_ack and not connection.whole:
        connection.first_rtt_ns, connection.whole = one.t_ns - connection.syn_ns, True


def _question_or_answer(one: Segment, here: Side, there: Side) -> str:
    """probe, keep_alive, keep_alive_ack, probe_ack, duplicate_ack or nothing."""
    if here.reached is None or here.last is None or one.flags & RST:
        return ""
    if one.payload == 1 and one.seq == here.reached and there.last is not None and there.last.window == 0:
        return "probe"
    if one.flags & (SYN | FIN):
        return ""
    if one.payload <= 1 and one.seq == here.reached - 1:
        return "keep_alive"
    if one.payload or one.window != here.last.window or one.seq != here.reached:
        return ""
    return _answer(one, one.ack - here.last.ack, there)


def _answer(one: Segment, step: int, there: Side) -> str:
    if one.window and step == 0:
        return "keep_alive_ack" if there.last_kind == "keep_alive" else "duplicate_ack"
    return "probe_ack" if not one.window and there.last_kind == "probe" and step in (0, 1) else ""


def _data(one: Segment, frame: int, end: int, kind: str, connection: Connection, *, found: Findings) -> None:
    here, there = connection.sides[one.src, one.sport], connection.sides[one.dst, one.dport]
    again = _again(one, end, here, there, connection.first_rtt_ns) if kind != "keep_alive" else ""
    if again:
        found.kinds[again].add(frame)
    twice = kind == "probe" or (here.reached is not None and one.seq < here.reached)
    here.unacked.append(Sent(one.seq, end, frame, twice))
    here.every.append(here.unacked[-1])
    if kind != "probe":
        first = one.seq + bool(one.flags & SYN)
        body = set(range(first, first + one.payload))
        found.new[frame] = len(body - here.seen)
        beyond = one.seq if here.reached is None else max(one.seq, here.reached)
        here.seen |= body | set(range(beyond, end))  # with SYN and FIN
    sign = again not in ("", "out_of_order") or (again and found.new.get(frame, 0) < one.payload)
    outstanding = here.reached is not None and (there.highest_ack is None or there.highest_ack < here.reached)
    if sign and outstanding and here.recovering is None:
        assert here.reached is not None
        here.recovering = (one.t_ns, here.reached)


def _again(one: Segment, end: int, here: Side, there: Side, overtaken_ns: int) -> str:
    last = there.last
    if one.payload and last is not None and last.flags & ACK and one.seq + one.payload <= last.ack:
        return "spurious"
    early = here.reached is not None and one.seq < here.reached
    if not early or (one.payload > 1 and one.seq + 1 == here.reached):
        return ""
    if last is not None and there.repeats >= 2 and last.ack == one.seq and one.t_ns - last.t_ns < FAST_NS:
        return "fast"
    if one.t_ns - here.reached_ns < overtaken_ns and end != here.reached:
        return "out_of_order"
    return "retransmission"


def _acknowledge(
    one: Segment, frame: int, kind: str, here: Side, there: Side, *, segments: Sequence[Segment], found: Findings
) -> None:
    before = here.highest_ack
    advances = before is None or one.ack > before
    here.highest_ack = one.ack if before is None else max(one.ack, before)
    matching = [sent for sent in there.unacked if sent.end == one.ack]
    there.unacked = [sent for sent in there.unacked if sent.end > one.ack]
    stepped = here.last is not None and one.ack == here.last.ack + 1
    if kind == "probe_ack" and stepped and there.reached is not None and one.ack == there.reached + 1:
        there.reached = one.ack
    if matching:
        twice = any(
            sent.begin < one.ack and (before is None or sent.end > before) and sent.again for sent in there.every
        )
        found.rtt[frame] = (one.t_ns - segments[matching[0].frame].t_ns, advances and not twice)
    if there.recovering is not None and one.ack >= there.recovering[1]:
        there.episodes.append((there.recovering[0], one.t_ns))
        there.recovering = None
