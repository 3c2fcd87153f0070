"""Counters of queueing disciplines: one reading of the namespace for all of them, however many stations there are.

The kernel answers a question after one device's disciplines with those of all devices, so asking for each device takes
time with the square of their number; and pyroute2 takes a third of a millisecond for each discipline that it decodes.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emulation.kernel.netlink import Message, Netlink, attributes

_GET_QDISC = 38  # RTM_GETQDISC
_TCMSG = struct.Struct("BxxxiIII")  # struct tcmsg
_TCA_STATS2, _BASIC, _QUEUE, _PACKETS64 = 7, 1, 3, 8  # TCA_STATS_*
_BASIC_STATS, _QUEUE_STATS, _U64 = struct.Struct("QI"), struct.Struct("IIIII"), struct.Struct("Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCount:
    """bytes and packets have left the queue, at layer 2; dropped found it full; backlog_bytes wait in it.

    Bytes are those of the frames alone: what a frame takes beside them is in records.airtime.
    """

    name: str
    bytes: int
    packets: int
    dropped: int
    backlog_bytes: int


def read(netlink: Netlink, wanted: Mapping[str, Iterable[tuple[int, int]]]) -> tuple[QueueCount, ...]:
    """Counters of queues, in the order of `wanted`: a queue's name to the disciplines (index, handle) that it is.

    netlink: a socket of the access point's namespace.  Counters of several disciplines are added up; one that is not
    there counts nothing.
    """
    question = _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    return added_up(netlink.dump(Message(kind=_GET_QDISC, flags=0, payload=question, what="reading queues")), wanted)


def added_up(listed: Iterable[bytes], wanted: Mapping[str, Iterable[tuple[int, int]]]) -> tuple[QueueCount, ...]:
    """The counters in a listing of disciplines, which is read once."""
    sums = {name: [0, 0, 0, 0] for name in wanted}
    owner = {one: sums[name] for name, ones in wanted.items() for one in ones}
    for message in listed:
        _, index, handle, _, _ = _TCMSG.unpack_from(message)
        total = owner.get((index, handle))
        if total is not None:
            for place, value in enumerate(_stats(message[_TCMSG.size :])):
                total[place] += value
    return tuple(
        QueueCount(name=name, bytes=size, packets=packets, dropped=dropped, backlog_bytes=backlog)
        for name, (size, packets, dropped, backlog) in sums.items()
    )


def _stats(data: bytes) -> tuple[int, int, int, int]:
    """Bytes, packets, drops and backlog of one discipline."""
    size = packets = dropped = backlog = 0
    for kind, content in attributes(data):
        if kind != _TCA_STATS2:
            continue
        for inner, value in attributes(content):
            if inner == _BASIC:
                size, packets = _BASIC_STATS.unpack_from(value)
            elif inner == _PACKETS64:  # follows the basic ones, where 32 bits are not enough
                (packets,) = _U64.unpack_from(value)
            elif inner == _QUEUE:
                _, backlog, dropped, _, _ = _QUEUE_STATS.unpack_from(value)
    return size, packets, dropped, backlog
