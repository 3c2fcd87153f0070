"""IPv4 and IPv6 headers of any shape: options, extension headers, fragments."""

from __future__ import annotations

import numpy as np

from analysis.capture.addresses import number_v6, register
from analysis.capture.columns import TCP, UDP
from analysis.capture.gather import fields, gather, u8, u16
from analysis.capture.kinds import Kind

_V4_BYTES, _V6_BYTES = 20, 40
_LARGEST_PACKET = 8 * 65_535  # Linux's GSO_MAX_SIZE: what one frame may hold when its IP header says 0
_V4 = np.dtype({
    "names": ["version", "tos", "length", "ip_id", "fragment", "ttl", "protocol", "src", "dst"],
    "formats": ["u1", "u1", ">u2", ">u2", ">u2", "u1", "u1", ">u4", ">u4"],
    "offsets": [0, 1, 2, 4, 6, 8, 9, 12, 16], "itemsize": _V4_BYTES,
})  # fmt: skip
_V6 = np.dtype([("first", ">u4"), ("length", ">u2"), ("next", "u1"), ("ttl", "u1"), ("ends", ">u8", (2, 2))])
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
_EXTENSIONS = (_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION)
_MOST_EXTENSIONS = 16  # RFC 8200 names each once, destination options twice; more are no packet but an attack
_KINDS = {TCP: Kind.PACKET, UDP: Kind.PACKET, 1: Kind.ICMP, 58: Kind.ICMPV6}

Network = dict[str, np.ndarray]
"""Columns tos, ttl, ip_id, src, dst, protocol; length: bytes of the IP packet; header: bytes of them before TCP or
UDP; first: whether it is the first of several fragments; kind: PACKET where TCP or UDP should follow."""


def ipv4(data: np.ndarray, at: np.ndarray, kept: np.ndarray, frame: np.ndarray) -> Network:
    """IPv4 headers at `at`; kept and frame: bytes from there on, in the file and in all."""
    whole = np.flatnonzero(kept >= _V4_BYTES)
    head = fields(gather(data, at[whole], _V4_BYTES), 0, _V4)
    found = _empty(len(at))
    for name in ("tos", "ttl", "ip_id", "src", "dst", "protocol", "length"):
        found[name][whole] = head[name]
    header, place = (head["version"] & 0x0F).astype(np.int64) * 4, head["fragment"] & 0x1FFF
    found["header"][whole] = header
    found["first"][whole] = (place == 0) & (head["fragment"] & 0x2000 != 0)
    kind = found["kind"]
    kind[whole] = _kinds(head["protocol"].astype(np.int64))
    kind[whole[place != 0]] = Kind.FRAGMENT
    kind[whole[(head["version"] >> 4 != 4) | (header < _V4_BYTES)]] = Kind.MALFORMED
    _length_of_the_frame(found, frame)
    return found


def ipv6(data: np.ndarray, at: np.ndarray, kept: np.ndarray, frame: np.ndarray, v6: dict[int, bytes]) -> Network:
    """IPv6 headers at `at`, with their extension headers; addresses are noted in `v6`."""
    whole = np.flatnonzero(kept >= _V6_BYTES)
    head = fields(gather(data, at[whole], _V6_BYTES), 0, _V6)
    good = head["first"] >> 28 == 6
    found = _empty(len(at))
    found["kind"][whole[~good]] = Kind.MALFORMED
    whole, head = whole[good], head[good]
    found["tos"][whole] = head["first"] >> 20 & 0xFF
    found["ttl"][whole] = head["ttl"]
    found["length"][whole] = np.where(head["length"] == 0, 0, head["length"].astype(np.int64) + _V6_BYTES)
    found["header"][whole] = _V6_BYTES
    found["protocol"][whole] = head["next"]
    _length_of_the_frame(found, frame)
    _pass_extensions(data, at, kept, found, whole)
    # Only of packets: others may hold any bytes, and their addresses are not asked for.
    rows = np.flatnonzero(found["kind"][whole] == Kind.PACKET)
    for name, end in (("src", 0), ("dst", 1)):
        halves = head["ends"][rows, end].astype(np.uint64)
        numbers = number_v6(halves)
        register(numbers, halves, v6)
        found[name][whole[rows]] = numbers
    return found


def _pass_extensions(data: np.ndarray, at: np.ndarray, kept: np.ndarray, found: Network, rows: np.ndarray) -> None:
    """Move past extension headers, all packets one header at a time, and say what follows."""
    protocol, header, kind = found["protocol"], found["header"], found["kind"]
    kind[rows] = Kind.PACKET
    for _ in range(_MOST_EXTENSIONS):
        more = rows[np.isin(protocol[rows], _EXTENSIONS) & (kind[rows] == Kind.PACKET)]
        if not len(more):
            break
        room = kept[more] >= header[more] + 8
        kind[more[~room]] = Kind.CUT
        more = more[room]
        this, place = protocol[more], at[more] + header[more]
        fragment = this == _FRAGMENT
        later = fragment & (u16(data, place + 2) >> 3 != 0)
        kind[more[later]] = Kind.FRAGMENT
        found["first"][more] |= fragment & (u8(data, place + 3) & 1 != 0)
        protocol[more] = u8(data, place)
        words = u8(data, place + 1)
        size = np.where(this == _AUTHENTICATION, (words + 2) * 4, (words + 1) * 8)
        header[more] += np.where(fragment, 8, size)
    going = rows[kind[rows] == Kind.PACKET]
    kind[going] = _kinds(protocol[going])
    kind[going[np.isin(protocol[going], _EXTENSIONS) | (header[going] > found["length"][going])]] = Kind.MALFORMED


def _kinds(protocol: np.ndarray) -> np.ndarray:
    table = np.full(256, Kind.OTHER, dtype=np.uint8)
    for number, kind in _KINDS.items():
        table[number] = kind
    found: np.ndarray = table[protocol]
    return found


def _length_of_the_frame(found: Network, frame: np.ndarray) -> None:
    """A length of 0 is a segmentation-offload packet or a jumbogram: its length is the frame's."""
    none = found["length"] == 0
    found["length"][none] = np.where(frame[none] <= _LARGEST_PACKET, frame[none], 0)


def _empty(count: int) -> Network:
    found = {
        name: np.zeros(count, dtype=np.int64)
        for name in ("tos", "ttl", "ip_id", "src", "dst", "protocol", "length", "header")
    }
    return found | {"first": np.zeros(count, dtype=bool), "kind": np.full(count, Kind.CUT, dtype=np.uint8)}
