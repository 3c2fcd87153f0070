"""The 24 bytes that every message body starts with, so that a delivery can be matched to its publication."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

MAGIC = b"AWR1"
_LAYOUT = struct.Struct("!4sIQQ")
SIZE = _LAYOUT.size
# A marker as numpy reads it, many at a time.
MANY = np.dtype([("magic", "S4"), ("producer", ">u4"), ("seq", ">u8"), ("t_send_ns", ">u8")])


class Marker(NamedTuple):
    """producer: id in the manifest.  seq: from 0, per producer.  t_send_ns: CLOCK_MONOTONIC, nanoseconds."""

    producer: int
    seq: int
    t_send_ns: int


def pack_into(body: bytearray, marker: Marker) -> None:
    """Write `marker` over the first 24 bytes of `body`."""
    _LAYOUT.pack_into(body, 0, MAGIC, marker.producer, marker.seq, marker.t_send_ns)


def decoded(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Markers inside texts: 24 characters below U+0100 in Java's modified UTF-8, from each position of `at`.

    data: uint8.  Returns them as MANY, and how many bytes each takes, 24 to 44; one that the end of the data cuts
    off takes more than is left.
    """
    padded = np.concatenate([data, np.zeros(2 * SIZE, dtype=np.uint8)])
    place, plain = at.copy(), np.empty((len(at), SIZE), dtype=np.uint8)
    for column in range(SIZE):
        first, second = padded[place], padded[place + 1]
        double = first & 0xFC == 0xC0
        plain[:, column] = np.where(double, (first & 0x03) << 6 | second & 0x3F, first)
        place += 1 + double
    return plain.view(MANY).ravel(), place - at


def encoded_bytes(*, producer: np.ndarray, seq: np.ndarray, t_send_ns: np.ndarray) -> np.ndarray:
    """How many bytes these markers take inside a text."""
    markers = np.zeros(len(seq), dtype=MANY)
    markers["magic"], markers["producer"], markers["seq"], markers["t_send_ns"] = MAGIC, producer, seq, t_send_ns
    plain = markers.view(np.uint8).reshape(len(seq), SIZE)
    doubles: np.ndarray = np.count_nonzero((plain == 0) | (plain >= 0x80), axis=1)
    return SIZE + doubles
