"""Random frames of every link and header that the reader knows, written field by field, with what is in them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from random import Random

V4, V6 = 0x0800, 0x86DD
LINKS = (0, 1, 12, 14, 101, 108, 113, 228, 229, 276)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a reader must say of a TCP or UDP packet whose headers are all kept."""

    protocol: int
    src: str
    dst: str
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    window: int
    payload: int
    before: int  # bytes before the payload
    ip_id: int
    ttl: int
    tos: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """truth is None for what is neither TCP nor UDP."""

    link: int
    data: bytes
    truth: Truth | None


def random_frame(random: Random, *, link: int, largest: int = 300) -> Frame:
    """A frame for that link type; one in eight is something else than TCP or UDP."""
    version = {228: 4, 229: 6}.get(link, random.choice((4, 4, 6)))
    protocol = random.choice((6, 6, 6, 6, 6, 17, 17, 58 if version == 6 else 1))
    ports = random.randrange(65536), random.randrange(65536)
    numbers = random.randrange(2**32), random.randrange(2**32), random.randrange(256), random.randrange(65536)
    payload = random.randbytes(random.randrange(largest))
    transport = _transport(random, protocol, ports, numbers, payload)
    tos, ttl, ip_id = random.randrange(256), random.randrange(256), random.randrange(65536)
    ends = random.randbytes(4 if version == 4 else 16), random.randbytes(4 if version == 4 else 16)
    if version == 4:
        header = _ipv4(random, protocol=protocol, after=len(transport), tos=tos, ttl=ttl, ip_id=ip_id, ends=ends)
    else:
        header = _ipv6(random, protocol=protocol, after=len(transport), tos=tos, ttl=ttl, ends=ends)
        ip_id = 0
    front = _link(random, link, V4 if version == 4 else V6)
    name = IPv4Address if version == 4 else IPv6Address
    truth = None
    if protocol in {6, 17}:
        seq, ack, flags, window = numbers if protocol == 6 else (0, 0, 0, 0)
        truth = Truth(
            protocol=protocol, src=str(name(ends[0])), dst=str(name(ends[1])), sport=ports[0], dport=ports[1],
            seq=seq, ack=ack, flags=flags, window=window, payload=len(payload),
            before=len(front) + len(header) + len(transport) - len(payload), ip_id=ip_id, ttl=ttl, tos=tos,
        )  # fmt: skip
    padding = bytes(random.choice((0, 0, 4, 18)) if link == 1 else 0)
    return Frame(link=link, data=front + header + transport + padding, truth=truth)


def _transport(
    random: Random, protocol: int, ports: tuple[int, int], numbers: tuple[int, int, int, int], payload: bytes
) -> bytes:
    if protocol == 6:
        options = random.randrange(11)
        seq, ack, flags, window = numbers
        fixed = struct.pack("!HHIIBBHHH", *ports, seq, ack, (5 + options) << 4, flags, window, 0, 0)
        return fixed + random.randbytes(4 * options) + payload
    if protocol == 17:
        return struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    return b"\x08\x00\x00\x00" + payload


def _ipv4(
    random: Random, *, protocol: int, after: int, tos: int, ttl: int, ip_id: int, ends: tuple[bytes, bytes]
) -> bytes:
    options = random.choice((0, 0, 0, 1, 10))
    total = 20 + 4 * options + after
    fixed = struct.pack("!BBHHHBBH", 0x45 + options, tos, total, ip_id, random.choice((0, 0x4000)), ttl, protocol, 0)
    return fixed + ends[0] + ends[1] + random.randbytes(4 * options)


def _ipv6(random: Random, *, protocol: int, after: int, tos: int, ttl: int, ends: tuple[bytes, bytes]) -> bytes:
    kinds = random.choices((0, 43, 60, 44, 51), k=random.choice((0, 0, 1, 2, 5)))
    chain = b""
    for kind, follows in zip(kinds, [*kinds, protocol][1:], strict=True):
        words = random.randrange(4)
        if kind == 44:  # an atomic fragment (RFC 6946): the only one
            chain += struct.pack("!BBHI", follows, 0, 0, 7)
        elif kind == 51:
            chain += bytes([follows, words + 1]) + random.randbytes(4 * (words + 3) - 2)
        else:
            # One option of padding (PadN, RFC 8200, 4.2), or a routing header of an experimental type.
            chain += bytes([follows, words, 253 if kind == 43 else 1, 8 * words + 4]) + bytes(8 * words + 4)
    first = 6 << 28 | tos << 20 | random.randrange(2**20)
    return struct.pack("!IHBB", first, len(chain) + after, (kinds or [protocol])[0], ttl) + ends[0] + ends[1] + chain


def _link(random: Random, link: int, ethertype: int) -> bytes:
    tags = b""
    if link in {1, 113, 276}:
        for _ in range(random.choice((0, 0, 1, 2))):
            tags += struct.pack("!HH", random.choice((0x8100, 0x88A8, 0x9100)), random.randrange(65536))
    kinds = tags + struct.pack("!H", ethertype)
    if link == 1:
        return random.randbytes(12) + kinds
    if link == 113:
        return struct.pack("!HHH", 4, 1, 6) + random.randbytes(8) + kinds
    if link == 276:
        rest = kinds[2:]
        return kinds[:2] + struct.pack("!HIHBB", 0, 3, 1, 4, 6) + random.randbytes(8) + rest
    if link == 0:
        family = 2 if ethertype == V4 else random.choice((24, 28, 30))
        return struct.pack(random.choice("<>") + "I", family)
    if link == 108:
        return struct.pack("!I", 2 if ethertype == V4 else random.choice((24, 28, 30)))
    return b""
