"""Writing small captures with known contents."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
STATION, SERVER = "10.0.0.1", "10.0.0.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One TCP segment at wall-clock time t_ns; payload is its number of bytes."""

    t_ns: int
    src: str = STATION
    dst: str = SERVER
    sport: int = 40000
    dport: int = 61613
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    window: int = 512
    payload: int = 0
    ip_options: int = 0  # words

    def back(self, **changes: int) -> Segment:
        """The same connection, the other direction."""
        swapped = replace(self, src=self.dst, dst=self.src, sport=self.dport, dport=self.sport, payload=0)
        return replace(swapped, **changes)  # type: ignore[arg-type]


def address(text: str) -> bytes:
    return bytes(int(part) for part in text.split("."))


def frame(segment: Segment) -> bytes:
    ihl = 5 + segment.ip_options
    total = ihl * 4 + 20 + segment.payload
    ethernet = b"\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"
    ip = struct.pack("!BBHHHBBH", 0x40 | ihl, 0, total, 1, 0x4000, 64, 6, 0)
    ip += address(segment.src) + address(segment.dst) + b"\x01" * (segment.ip_options * 4)
    numbers = (segment.sport, segment.dport, segment.seq % 2**32, segment.ack % 2**32)
    tcp = struct.pack("!HHIIBBHHH", *numbers, 0x50, segment.flags, segment.window, 0, 0)
    return ethernet + ip + tcp + bytes(segment.payload)


def pcap(
    frames: Iterable[tuple[int, bytes]], *, order: str = "<", nano: bool = True, snap: int = 65535, link: int = 1
) -> bytes:
    """A capture file of (t_ns, frame) pairs."""
    parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap, link)]
    for t_ns, data in frames:
        fraction = t_ns % 10**9 // (1 if nano else 1000)
        kept = data[:snap]
        parts += [struct.pack(order + "IIII", t_ns // 10**9, fraction, len(kept), len(data)), kept]
    return b"".join(parts)


def pcapng(frames: Iterable[tuple[int, int, bytes]], *, interfaces: int) -> bytes:
    """A file of (interface, t_ns, frame): one section, Ethernet, times in microseconds."""
    bodies = [(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    bodies += [(1, struct.pack("<HHI", 1, 0, 65535))] * interfaces
    for interface, t_ns, data in frames:
        time = struct.pack("<II", t_ns // 1000 >> 32, t_ns // 1000 & 0xFFFFFFFF)
        head = struct.pack("<I", interface) + time + struct.pack("<II", len(data), len(data))
        bodies.append((6, head + data + bytes(-len(data) % 4)))
    return b"".join(
        struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12) for kind, body in bodies
    )


def segments_pcap(segments: Sequence[Segment], **how: object) -> bytes:
    return pcap([(segment.t_ns, frame(segment)) for segment in segments], **how)  # type: ignore[arg-type]


def write(path: Path, segments: Sequence[Segment], **how: object) -> Path:
    path.write_bytes(segments_pcap(segments, **how))
    return path
