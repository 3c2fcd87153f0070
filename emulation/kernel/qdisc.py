"""Queueing disciplines as netlink messages: htb, fifo and netem, with the options that this project uses.

pyroute2 has no delay distributions and no frame overhead, which is why the options are packed here
(linux/pkt_sched.h, linux/rtnetlink.h).
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

import numpy as np

from emulation.kernel.netlink import CREATE, EXCLUSIVE, Message, Netlink, attribute

ROOT = 0xFFFFFFFF
_NEW_QDISC, _DELETE_QDISC, _NEW_CLASS = 36, 37, 40  # RTM_NEWQDISC, RTM_DELQDISC, RTM_NEWTCLASS
_TCMSG = struct.Struct("BxxxiIII")  # struct tcmsg
_TICK_NS = 64
_ETHERNET = 1  # TC_LINKLAYER_ETHERNET: lengths as they are, no tables
_MAX_U16, _MAX_U32 = 0xFFFF, 0xFFFFFFFF
_QUANTUM = 1600
_HTB_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """One queueing discipline (or class) to be: where it hangs, its kind and its packed options."""

    device: str
    handle: int
    parent: int
    kind: str
    options: bytes = b""
    is_class: bool = False

    def __str__(self) -> str:
        what = "class" if self.is_class else "qdisc"
        return f"{what} {self.kind} {self.handle >> 16:x}:{self.handle & 0xFFFF:x} on {self.device}"


def add(netlink: Netlink, *planned: tuple[int, Discipline]) -> None:
    """Make them, each on the interface with that index, parents first; KernelError names one that was refused."""
    netlink.request([_message(index, one, CREATE | EXCLUSIVE, "adding") for index, one in planned])


def change(netlink: Netlink, *planned: tuple[int, Discipline]) -> None:
    """Change their options in place: what waits in them goes on waiting."""
    netlink.request([_message(index, one, 0, "changing") for index, one in planned])


def remove(netlink: Netlink, *planned: tuple[int, Discipline]) -> None:
    """Take them away, and what hangs below them; at the root the interface's usual one is back then."""
    netlink.request([_message(index, one, 0, "removing", kind=_DELETE_QDISC) for index, one in planned])


def _message(index: int, one: Discipline, flags: int, doing: str, *, kind: int | None = None) -> Message:
    payload = _TCMSG.pack(socket.AF_UNSPEC, index, one.handle, one.parent, 0) + attribute(1, one.kind.encode() + b"\0")
    if one.options:
        payload += attribute(2, one.options)
    kind = kind or (_NEW_CLASS if one.is_class else _NEW_QDISC)
    return Message(kind=kind, flags=flags, payload=payload, what=f"{doing} {one}")


def _ratespec(rate: float, overhead: float) -> tuple[bytes, int]:
    """struct tc_ratespec of a rate (bit/s) and a time (s) that each frame takes beside its bits; and bytes/s."""
    bytes_per_s, overhead_bytes = _bytes(rate, overhead)
    return struct.pack("BBHhHI", 0, _ETHERNET, overhead_bytes, 0, 0, min(bytes_per_s, _MAX_U32)), bytes_per_s


def _bytes(rate: float, overhead: float) -> tuple[int, int]:
    """A rate (bit/s) in bytes/s, and a time (s) in bytes at that rate."""
    bytes_per_s = max(round(rate / 8), 1)
    return bytes_per_s, min(round(overhead * bytes_per_s), _MAX_U16)


def _ticks(seconds: float) -> int:
    return min(int(seconds * 1e9 / _TICK_NS), _MAX_U32)


def fifo(*, packets: int | None = None, limit_bytes: int | None = None) -> tuple[str, bytes]:
    """Kind and options of a first-in-first-out queue with one of the two limits."""
    if packets is not None:
        return "pfifo", struct.pack("I", packets)
    assert limit_bytes is not None
    return "bfifo", struct.pack("I", min(limit_bytes, _MAX_U32))


def htb(*, default: int) -> bytes:
    """Options of an htb root; unclassified packets go to class `default`."""
    return attribute(2, struct.pack("IIIII", _HTB_VERSION, 10, default, 0, 0))


def htb_class(*, rate: float, ceil: float, overhead: float, burst_bytes: int, rank: int = 0) -> bytes:
    """Options of an htb class.

    rate, ceil: guaranteed and largest rate, bit/s.  overhead: seconds that each frame takes beside its bits.
    burst_bytes: what may pass at once after a pause.  rank: of two classes that borrow, that of the lower one first.
    """
    (spec, guaranteed), (ceil_spec, ceiling) = _ratespec(rate, overhead), _ratespec(ceil, overhead)
    buffer, ceil_buffer = _ticks(burst_bytes / guaranteed), _ticks(burst_bytes / ceiling)
    options = attribute(1, spec + ceil_spec + struct.pack("IIIII", buffer, ceil_buffer, _QUANTUM, 0, rank))
    if guaranteed > _MAX_U32:
        options += attribute(6, struct.pack("Q", guaranteed))
    if ceiling > _MAX_U32:
        options += attribute(7, struct.pack("Q", ceiling))
    return options


def netem(
    *,
    delay: float,
    jitter: float,
    distribution: np.ndarray,
    keep_order: bool,
    reorder: float,
    duplicate: float,
    corrupt: float,
    limit: int,
    rate: float | None = None,
    overhead: float = 0.0,
) -> bytes:
    """Options of netem: seconds and shares.  distribution: quantiles times 8192, int16.

    rate: bit/s at which each packet is being sent after its delay, one after the other, overhead: seconds beside its
    bits; None: that takes no time.  Every option is given each time: what is absent in a change keeps its old value.
    With a rate netem keeps packets in order (each leaves after the one before it), whatever is asked; the largest rate
    there is adds 0.4 us to a full frame.
    """
    packet_rate, packet_overhead = _MAX_U32 if keep_order else 0, 0
    if rate is not None:
        packet_rate, packet_overhead = _bytes(rate, overhead)
    return (
        struct.pack("IIIIII", 0, limit, 0, 1 if reorder else 0, _chance(duplicate), 0)
        + attribute(2, distribution.astype("<i2").tobytes())
        + attribute(3, struct.pack("II", _chance(reorder), 0))
        + attribute(4, struct.pack("II", _chance(corrupt), 0))
        + attribute(6, struct.pack("IiIi", min(packet_rate, _MAX_U32), packet_overhead, 0, 0))
        + attribute(10, struct.pack("q", int(delay * 1e9)))
        + attribute(11, struct.pack("q", int(jitter * 1e9)))
    )


def _chance(share: float) -> int:
    return min(round(share * (_MAX_U32 + 1)), _MAX_U32)
