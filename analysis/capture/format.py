"""What every capture format shares: its interfaces, its limits, and how a file is refused or found damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Order = Literal["<", ">"]
ORDERS: tuple[Order, ...] = ("<", ">")
LARGEST_RECORD = 262_144  # libpcap's MAXIMUM_SNAPLEN: no writer stores more of one packet
ETHERNET = 1


class NotACapture(ValueError):
    """The file is not a capture that this reader knows; the message names the file and what it found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """Where packets were captured: link type (of tcpdump.org's registry) and what a unit of its times is.

    A time is units / base**exponent + offset_s, in seconds since 1970.  snap_bytes: 0 when unlimited.
    """

    link: int = ETHERNET
    base: int = 10
    exponent: int = 6
    offset_s: int = 0
    snap_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that must be known to read records from some byte of a file on.

    interfaces: those that records may name (of the section, in pcapng).  earlier: interfaces of sections before.
    """

    kind: Literal["pcap", "pcapng"]
    order: Order
    interfaces: tuple[Interface, ...] = ()
    earlier: int = 0
