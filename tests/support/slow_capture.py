"""A capture reader in plain Python, record by record, byte by byte: slow, and independent of the fast one."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

LARGEST, LARGEST_BLOCK, LAST_NS = 262_144, 16 << 20, 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """at: byte at which the packet starts."""

    at: int
    kept: int
    wire: int
    t_ns: int
    interface: int
    link: int


@dataclass(slots=True)
class Reading:
    """stopped: byte of the record or block that is not whole or not right, None at the file's end."""

    records: list[Record]
    stopped: int | None = None


class Refused(Exception):
    """No capture."""


class _Stop(Exception):
    """What follows cannot be read."""


def read(data: bytes) -> Reading:
    """All records before any damage."""
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        return _read_pcapng(data)
    for order in "<>":
        magic = struct.unpack(order + "I", data[:4])[0] if len(data) >= 24 else 0
        if magic in {0xA1B2C3D4, 0xA1B23C4D}:
            return _read_pcap(data, order, 1 if magic == 0xA1B23C4D else 1000)
    raise Refused


def _read_pcap(data: bytes, order: str, unit: int) -> Reading:
    major, minor = struct.unpack_from(order + "HH", data, 4)
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    if (major, minor) != (2, 4) or link not in {0, 1, 12, 14, 101, 108, 113, 228, 229, 276}:
        raise Refused
    reading, at = Reading(records=[]), 24
    while at < len(data):
        try:
            second, fraction, kept, wire = struct.unpack_from(order + "IIII", data, at)
        except struct.error:
            reading.stopped = at
            break
        if kept > LARGEST or at + 16 + kept > len(data):
            reading.stopped = at
            break
        t_ns = second * 10**9 + fraction * unit
        reading.records.append(Record(at=at + 16, kept=kept, wire=wire, t_ns=t_ns, interface=0, link=link))
        at += 16 + kept
    return reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    link: int
    snap: int
    code: int
    offset_s: int


def _read_pcapng(data: bytes) -> Reading:
    reading, at, order = Reading(records=[]), 0, ""
    interfaces: list[_Interface] = []
    earlier = 0
    while at < len(data):
        try:
            if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
                order = _section(data, at)
                earlier += len(interfaces)
                interfaces = []
            if len(data) < at + 12:
                raise _Stop
            kind, total = struct.unpack_from(order + "II", data, at)
            if total < 12 or total % 4 or total > LARGEST_BLOCK or at + total > len(data):
                raise _Stop
            if struct.unpack_from(order + "I", data, at + total - 4)[0] != total:
                raise _Stop
            if kind == 1:
                interfaces.append(_interface(data[at : at + total], order))
            elif kind in {2, 3, 6}:
                reading.records.append(_packet(data, at, order, interfaces, earlier))
        except _Stop:
            if at == 0 and len(data) < 28:
                raise Refused from None
            reading.stopped = at
            break
        at += total
    return reading


def _section(data: bytes, at: int) -> str:
    if at + 28 > len(data):
        raise _Stop
    order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(data[at + 8 : at + 12])
    if order is None or struct.unpack_from(order + "H", data, at + 12)[0] != 1:
        raise Refused if at == 0 else _Stop
    total = struct.unpack_from(order + "I", data, at + 4)[0]
    if total < 28:
        raise _Stop
    return order


def _interface(block: bytes, order: str) -> _Interface:
    if len(block) < 20:
        raise _Stop
    link, _, snap = struct.unpack_from(order + "HHI", block, 8)
    options, code, offset_s = block[16:-4], 6, 0
    while len(options) >= 4:
        kind, length = struct.unpack_from(order + "HH", options)
        value, options = options[4 : 4 + length], options[4 + length + -length % 4 :]
        if kind == 0:
            break
        if len(value) < length or (kind == 14 and length != 8):
            raise _Stop
        if kind == 9 and length == 1:
            code = value[0]
        if kind == 14:
            offset_s = struct.unpack(order + "q", value)[0]
    return _Interface(link=link, snap=snap, code=code, offset_s=offset_s)


def _packet(data: bytes, at: int, order: str, interfaces: list[_Interface], earlier: int) -> Record:
    kind, total = struct.unpack_from(order + "II", data, at)
    if kind == 3:
        if not interfaces:
            raise _Stop
        wire = struct.unpack_from(order + "I", data, at + 8)[0]
        kept = min(wire, interfaces[0].snap) if interfaces[0].snap else wire
        if kept > total - 16 or kept > LARGEST:
            raise _Stop
        return Record(at=at + 12, kept=kept, wire=wire, t_ns=0, interface=earlier, link=interfaces[0].link)
    if total < 32:
        raise _Stop
    number = struct.unpack_from(order + ("I" if kind == 6 else "H"), data, at + 8)[0]
    high, low, kept, wire = struct.unpack_from(order + "IIII", data, at + 12)
    if number >= len(interfaces) or kept > total - 32 or kept > LARGEST:
        raise _Stop
    one, units = interfaces[number], high << 32 | low
    per_second = 2 ** (one.code & 0x7F) if one.code & 0x80 else 10**one.code
    before = units * 10**9 // per_second
    # The fast reader holds whole seconds of binary units below the last second of 2262.
    last = before > LAST_NS or (one.code & 0x80 and units // per_second >= LAST_NS // 10**9)
    if last or abs(one.offset_s) > LAST_NS // 10**9 or before + one.offset_s * 10**9 > LAST_NS:
        before, one = 0, replace(one, offset_s=0)
    t_ns = before + one.offset_s * 10**9
    return Record(at=at + 28, kept=kept, wire=wire, t_ns=t_ns, interface=earlier + number, link=one.link)
