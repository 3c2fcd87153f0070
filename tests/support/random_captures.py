"""Random capture files of every format, written field by field, with where each record went."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random

from random_frames import LINKS, Frame, random_frame

T0_NS = 1_700_000_000_123_456_789


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A record: the byte at which its packet starts and the byte after the record, its time as the file has it."""

    frame: Frame
    at: int
    end: int
    kept: int
    t_ns: int
    interface: int


@dataclass(slots=True)
class File:
    """A capture in the making."""

    data: bytearray = field(default_factory=bytearray)
    records: list[Written] = field(default_factory=list)


def random_capture(random: Random, *, packets: int, largest: int = 300) -> File:
    """A pcap or pcapng file of either byte order."""
    make = random.choice((random_pcap, random_pcapng))
    return make(random, packets=packets, largest=largest)


def random_pcap(random: Random, *, packets: int, largest: int = 300) -> File:
    """Micro- or nanoseconds, any link, cut by a snap length or not."""
    order, nano, link = random.choice("<>"), random.random() < 0.5, random.choice(LINKS)
    snap = random.choice((262_144, 262_144, 96, random.randrange(1, 120)))
    made = File()
    made.data += struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap, link)
    for when in _times(random, packets):
        frame = random_frame(random, link=link, largest=largest)
        unit = 1 if nano else 1000
        kept = frame.data[:snap]
        at = len(made.data) + 16
        t_ns = when - when % unit
        made.data += struct.pack(order + "IIII", t_ns // 10**9, t_ns % 10**9 // unit, len(kept), len(frame.data))
        made.data += kept
        made.records.append(Written(frame=frame, at=at, end=len(made.data), kept=len(kept), t_ns=t_ns, interface=0))
    return made


def random_pcapng(random: Random, *, packets: int, largest: int = 300) -> File:
    """One to three sections, each of one to three interfaces; packet blocks of all three kinds, and others."""
    made, earlier = File(), 0
    times = _times(random, packets)
    for _ in range(random.randrange(1, 4)):
        order = random.choice("<>")
        options = random.choice((b"", struct.pack(order + "HH8s", 4, 8, b"airwire!") + bytes(4)))
        _block(made, order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + options)
        interfaces: list[_Interface] = []
        share = len(times) if random.random() < 0.3 else len(times) // 2
        for t_ns in times[:share]:
            if not interfaces or (len(interfaces) < 3 and random.random() < 0.1):
                interfaces.append(_interface(random))
                _describe(made, random, order, interfaces[-1])
            if random.random() < 0.1:
                number = random.randrange(len(interfaces))
                statistics = 5, struct.pack(order + "III", number, 0, 0)
                names = 4, bytes(4)
                unknown = random.choice((0x0BAE, 0x80000001)), random.randbytes(4 * random.randrange(9))
                _block(made, order, *random.choice((statistics, names, unknown)))
            _packet(made, random, order, interfaces=interfaces, t_ns=t_ns, earlier=earlier, largest=largest)
        earlier += len(interfaces)
        times = times[share:]
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    link: int
    code: int | None  # if_tsresol; None: not said, microseconds
    offset_s: int | None
    snap: int

    def units(self, t_ns: int) -> int:
        """The largest number of units that is not after t_ns."""
        t_ns -= (self.offset_s or 0) * 10**9
        code = 6 if self.code is None else self.code
        per_second = 2 ** (code & 0x7F) if code & 0x80 else 10**code
        return t_ns * per_second // 10**9

    def t_ns(self, units: int) -> int:
        """The time of so many units, rounded down to a nanosecond."""
        code = 6 if self.code is None else self.code
        per_second = 2 ** (code & 0x7F) if code & 0x80 else 10**code
        return units * 10**9 // per_second + (self.offset_s or 0) * 10**9


def _interface(random: Random) -> _Interface:
    # 64 bits hold 1.7e9 s in units of 10**-10 s and of 2**-33 s, not finer; with an offset, finer ones too.
    offset_s = random.choice((None, None, 1_600_000_000, -3600, T0_NS // 10**9 - 1))
    near = offset_s is not None and offset_s == T0_NS // 10**9 - 1
    finest, finest_binary = (18, 60) if near else (10, 33)
    code = random.choice((None, 6, 9, random.randrange(finest + 1), 0x80 | random.randrange(finest_binary + 1)))
    return _Interface(link=random.choice(LINKS), code=code, offset_s=offset_s, snap=random.choice((0, 0, 65535, 80)))


def _describe(made: File, random: Random, order: str, interface: _Interface) -> None:
    options = struct.pack(order + "HH3sx", 2, 3, b"if0") if random.random() < 0.5 else b""
    if interface.code is not None:
        options += struct.pack(order + "HHB3x", 9, 1, interface.code)
    if interface.offset_s is not None:
        options += struct.pack(order + "HHq", 14, 8, interface.offset_s)
    if options and random.random() < 0.7:
        options += bytes(4)
    _block(made, order, 1, struct.pack(order + "HHI", interface.link, 0, interface.snap) + options)


def _packet(
    made: File, random: Random, order: str, *, interfaces: list[_Interface], t_ns: int, earlier: int, largest: int
) -> None:
    kind = random.choice((6, 6, 6, 6, 6, 6, 2, 3))
    number = 0 if kind == 3 else random.randrange(len(interfaces))
    one = interfaces[number]
    frame = random_frame(random, link=one.link, largest=largest)
    kept = frame.data[: one.snap or None]
    units = one.units(t_ns)
    start = len(made.data)
    if kind == 3:
        head = struct.pack(order + "I", len(frame.data))
        t_ns = 0
    else:
        which = struct.pack(order + "I", number) if kind == 6 else struct.pack(order + "HH", number, 0xFFFF)
        head = which + struct.pack(order + "IIII", units >> 32, units & 0xFFFFFFFF, len(kept), len(frame.data))
        t_ns = one.t_ns(units)
    options = struct.pack(order + "HHI", 2, 4, 1) + bytes(4) if kind == 6 and random.random() < 0.2 else b""
    _block(made, order, kind, head + kept + bytes(-len(kept) % 4) + options)
    made.records.append(
        Written(frame=frame, at=start + 8 + len(head), end=len(made.data), kept=len(kept), t_ns=t_ns,
                interface=earlier + number))  # fmt: skip


def _block(made: File, order: str, kind: int, body: bytes) -> None:
    total = struct.pack(order + "I", len(body) + 12)
    made.data += struct.pack(order + "I", kind) + total + body + total


def _times(random: Random, packets: int) -> list[int]:
    t_ns, times = T0_NS, []
    for _ in range(packets):
        t_ns += random.randrange(10**7)
        times.append(t_ns)
    return times
