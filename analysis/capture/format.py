"""The classic pcap file header (libpcap's savefile format, pcap-savefile(5))."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

HEADER_BYTES = 24
RECORD_BYTES = 16
ETHERNET = 1
LARGEST_RECORD = 262_144  # libpcap's MAXIMUM_SNAPLEN: no writer stores more of one packet
_MAGIC = {  # magic number to nanoseconds per unit of the fraction
    0xA1B2C3D4: 1000,
    0xA1B23C4D: 1,
}
_PCAPNG = 0x0A0D0D0A


class NotACapture(ValueError):
    """The file is not a classic pcap of Ethernet frames; the message names the file and what it found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """order: byte order as struct and numpy write it.  unit_ns: nanoseconds per unit of a time's fraction."""

    order: Literal["<", ">"]
    unit_ns: int
    snap_bytes: int


def read_format(start: bytes, name: str) -> Format:
    """Decode the first 24 bytes of the file `name`; NotACapture when they are not what this reader knows."""
    if len(start) < HEADER_BYTES:
        raise NotACapture(f"{name}: {len(start)} bytes, shorter than the {HEADER_BYTES} of a pcap header")
    orders: tuple[Literal["<", ">"], ...] = ("<", ">")
    for order in orders:
        magic, _major, _minor, _zone, _sigfigs, snap, link = struct.unpack(order + "IHHiIII", start[:HEADER_BYTES])
        if magic in _MAGIC:
            if link & 0xFFFF != ETHERNET:
                raise NotACapture(f"{name}: link type {link & 0xFFFF}, this reader knows {ETHERNET} (Ethernet)")
            return Format(order=order, unit_ns=_MAGIC[magic], snap_bytes=snap)
    magic = struct.unpack("<I", start[:4])[0]
    what = "a pcapng file; convert it with `editcap -F nsecpcap`" if magic == _PCAPNG else f"magic {magic:#010x}"
    raise NotACapture(f"{name}: not a classic pcap file ({what})")
