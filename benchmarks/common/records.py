"""Records of a pcap file as numpy writes them: Ethernet, IPv4 without options, TCP."""

from __future__ import annotations

import numpy as np

Field = tuple[str, str]
_COMMON: tuple[Field, ...] = (
    ("second", "<u4"), ("fraction", "<u4"), ("kept", "<u4"), ("wire", "<u4"), ("ethernet", "V12"),
    ("ethertype", ">u2"), ("version", "u1"), ("tos", "u1"), ("length", ">u2"), ("id", ">u2"), ("fragment", ">u2"),
    ("ttl", "u1"), ("protocol", "u1"), ("sum", ">u2"), ("src", ">u4"), ("dst", ">u4"), ("sport", ">u2"),
    ("dport", ">u2"), ("seq", ">u4"), ("ack", ">u4"), ("offset", "u1"), ("flags", "u1"), ("window", ">u2"),
)  # fmt: skip


def record(*rest: Field) -> np.dtype[np.void]:
    """The layout of a record up to TCP's window, with what comes after that; little-endian file, times in units."""
    return np.dtype([*_COMMON, *rest])
