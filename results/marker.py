"""The 24 bytes that every message body starts with, so that a delivery can be matched to its publication."""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"AWR1"
_LAYOUT = struct.Struct("!4sIQQ")
SIZE = _LAYOUT.size


class Marker(NamedTuple):
    """producer: id in the manifest.  seq: from 0, per producer.  t_send_ns: CLOCK_MONOTONIC, nanoseconds."""

    producer: int
    seq: int
    t_send_ns: int


class NotAMarker(ValueError):
    """The bytes do not start with a marker."""


def pack_into(body: bytearray, marker: Marker) -> None:
    """Write `marker` over the first 24 bytes of `body`."""
    _LAYOUT.pack_into(body, 0, MAGIC, marker.producer, marker.seq, marker.t_send_ns)


def unpack(body: bytes | bytearray | memoryview) -> Marker:
    """Read the marker at the start of `body`; NotAMarker when there is none."""
    if len(body) < SIZE:
        raise NotAMarker(f"a body of {len(body)} bytes is shorter than the marker's {SIZE}")
    magic, producer, seq, t_send_ns = _LAYOUT.unpack_from(body)
    if magic != MAGIC:
        raise NotAMarker(f"a body starts with {bytes(magic).hex()}, not with {MAGIC.hex()}")
    return Marker(producer, seq, t_send_ns)
