"""Link headers: where in each frame the network header starts, and of what protocol it is.

Link types are tcpdump.org's: 1 Ethernet, 113 and 276 Linux cooked capture (SLL, SLL2), 101, 12, 14, 228 and
229 raw IP, 0 and 108 loopback.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.capture.format import ETHERNET
from analysis.capture.gather import u8, u16
from analysis.capture.kinds import Kind

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
_TAGS = (0x8100, 0x88A8, 0x9100)  # IEEE 802.1Q, 802.1ad, and what switches used before it
_MOST_TAGS = 2
UNKNOWN = -1
_CUT = -2
# Address families of loopback captures: each system has its own number for IPv6 (tcpdump.org, LINKTYPE_NULL).
_FAMILIES_V6 = (10, 24, 28, 30)
_FAMILY_V4 = 2
# Kinds of hardware whose cooked "protocol" is no Ethernet type: netlink, radiotap, frame relay (tcpdump.org).
_NOT_ETHERTYPES = (824, 803, 770)

Found = tuple[np.ndarray, np.ndarray]  # protocol of each frame, byte of the frame at which its header starts


def network(data: np.ndarray, at: np.ndarray, kept: np.ndarray, link: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Protocol (an Ethernet type), first byte of the network header in its frame, and Kind of frames of one link.

    Kind is PACKET where the protocol is IPv4 or IPv6.
    """
    if link not in LINKS:
        nothing = np.zeros(len(at), dtype=np.int64)
        return nothing, nothing, np.full(len(at), Kind.OTHER, dtype=np.uint8)
    protocol, start = LINKS[link](data, at, kept)
    _pass_tags(data, at, kept, protocol, start)
    kinds = np.full(len(at), Kind.OTHER, dtype=np.uint8)
    kinds[(protocol == IPV4) | (protocol == IPV6)] = Kind.PACKET
    kinds[protocol == ARP] = Kind.ARP
    kinds[np.isin(protocol, _TAGS)] = Kind.VLAN
    kinds[protocol == _CUT] = Kind.CUT
    return protocol, start, kinds


def _pass_tags(data: np.ndarray, at: np.ndarray, kept: np.ndarray, protocol: np.ndarray, start: np.ndarray) -> None:
    for _ in range(_MOST_TAGS):
        rows = np.flatnonzero(np.isin(protocol, _TAGS))
        if not len(rows):
            return
        whole = kept[rows] >= start[rows] + 4
        protocol[rows[~whole]] = _CUT
        rows = rows[whole]
        protocol[rows] = u16(data, at[rows] + start[rows] + 2)
        start[rows] += 4


def _ethertype_at(place: int, header: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Found]:
    """Links whose header is always as long, with an Ethernet type at one place of it."""

    def read(data: np.ndarray, at: np.ndarray, kept: np.ndarray) -> Found:
        protocol, start = np.full(len(at), _CUT, dtype=np.int64), np.full(len(at), header, dtype=np.int64)
        rows = np.flatnonzero(kept >= header)
        protocol[rows] = u16(data, at[rows] + place)
        return protocol, start

    return read


def _cooked(place: int, header: int, hardware: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Found]:
    """Linux cooked captures: an Ethernet type, unless the hardware has numbers of its own."""
    plain = _ethertype_at(place, header)

    def read(data: np.ndarray, at: np.ndarray, kept: np.ndarray) -> Found:
        protocol, start = plain(data, at, kept)
        rows = np.flatnonzero(protocol != _CUT)
        own = np.isin(u16(data, at[rows] + hardware), _NOT_ETHERTYPES)
        protocol[rows[own]] = UNKNOWN
        return protocol, start

    return read


def _raw(*versions: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Found]:
    """No link header: the first half byte is IP's version."""

    def read(data: np.ndarray, at: np.ndarray, kept: np.ndarray) -> Found:
        protocol, start = np.full(len(at), _CUT, dtype=np.int64), np.zeros(len(at), dtype=np.int64)
        rows = np.flatnonzero(kept >= 1)
        version = u8(data, at[rows]) >> 4
        protocol[rows] = UNKNOWN
        for number, ethertype in ((4, IPV4), (6, IPV6)):
            if number in versions:
                protocol[rows[version == number]] = ethertype
        return protocol, start

    return read


def _loopback(data: np.ndarray, at: np.ndarray, kept: np.ndarray) -> Found:
    """An address family of four bytes, in the byte order of whoever wrote it."""
    protocol, start = np.full(len(at), _CUT, dtype=np.int64), np.full(len(at), 4, dtype=np.int64)
    rows = np.flatnonzero(kept >= 4)
    high, low = u16(data, at[rows]), u16(data, at[rows] + 2)
    family = np.where(high == 0, low, np.where(low == 0, (high & 0xFF) << 8 | high >> 8, UNKNOWN))
    protocol[rows] = UNKNOWN
    protocol[rows[family == _FAMILY_V4]] = IPV4
    protocol[rows[np.isin(family, _FAMILIES_V6)]] = IPV6
    return protocol, start


LINKS: dict[int, Callable[[np.ndarray, np.ndarray, np.ndarray], Found]] = {
    0: _loopback,
    ETHERNET: _ethertype_at(12, 14),
    12: _raw(4, 6),
    14: _raw(4, 6),
    101: _raw(4, 6),
    108: _loopback,
    113: _cooked(14, 16, 2),
    228: _raw(4),
    229: _raw(6),
    276: _cooked(0, 20, 8),
}
