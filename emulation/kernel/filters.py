"""Filters that lead packets into queues: u32 matches with mirred actions, as netlink messages (linux/pkt_cls.h).

A packet that waits in a queue must be a copy.  The packet itself is charged to its sender's socket for as long as it
lives, and TCP lets only some of these wait (TCP small queues: tcp_limit_output_bytes, and what its socket may have
written): on 10 Mbit/s with a queue of 300 packets a single upload then kept 154 KB waiting, where a download filled all
454 KB.  At an egress hook the kernel copies what it redirects, at an ingress hook it moves it, unless the action lets
the packet go on (act_mirred.c, tcf_mirred_can_reinsert).  So packets are redirected where they come in and go on, which
makes a copy, and end in a second action: in a device whose queue holds nothing.  (mirred's `mirror` makes a copy, too,
but an ifb takes in redirected packets only.)

What comes back from a device is spared the hook that led it there, once (tc_skip_classify).  Packets of many stations
are told apart by the last byte of an address first, in a hash table, so that none walks past the others' filters.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulation.kernel import qdisc
from emulation.kernel.netlink import CREATE, EXCLUSIVE, Message, attribute
from emulation.kernel.qdisc import Discipline

INGRESS, EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # of a clsact
SINK = "sink"
SOURCE, DESTINATION = 12, 16  # where an IPv4 header has its addresses
MAC_DESTINATION, MAC_SOURCE = -14, -8  # where a frame has its own, seen from there
_TO_A_GROUP = 0x01000000  # the lowest bit of an address's first byte (IEEE 802)
_CLSACT_HANDLE, _CLSACT_PARENT = 0xFFFF0000, 0xFFFFFFF1
_ETH_P_ALL, _ETH_P_IP = 0x0003, 0x0800
_NEW_FILTER = 44  # RTM_NEWTFILTER
_TCMSG = struct.Struct("BxxxiIII")  # struct tcmsg
_TCA_KIND, _TCA_OPTIONS = 1, 2
_CLASSID, _HASH, _LINK, _DIVISOR, _SEL, _ACT, _INDEV = 1, 2, 3, 4, 5, 7, 8  # TCA_U32_*
_ACT_KIND, _ACT_OPTIONS, _MIRRED_PARMS = 1, 2, 2  # TCA_ACT_*, TCA_MIRRED_PARMS
_TO_EGRESS = 1  # TCA_EGRESS_REDIR
_GO_ON, _END = 3, 4  # TC_ACT_PIPE, TC_ACT_STOLEN
_TERMINAL = 1  # TC_U32_TERMINAL
_ANY_CLASS = 0x10000
_BUCKETS = 256


def hooks(device: str) -> Discipline:
    """The discipline that lets filters be hung on both hooks of a port."""
    return Discipline(device=device, handle=_CLSACT_HANDLE, parent=_CLSACT_PARENT, kind="clsact")


def sink() -> Discipline:
    """A queue that holds nothing: packets that are led to its device end there."""
    kind, options = qdisc.fifo(packets=0)
    return Discipline(device=SINK, handle=0x10000, parent=qdisc.ROOT, kind=kind, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """Frames to be led to interface `to`: those of a MAC address, and, if given, come in by interface `came_by`.

    An interface is a number where it is led to, and a name where it came by.
    """

    mac: str
    to: int
    came_by: str = ""


def lead(port: int, to: int, *, sink: int) -> Message:
    """The request that leads what comes in by interface `port` to interface `to`.

    sink: the interface where the originals end.
    """
    return _filter(
        port, f"leading packets of interface {port} to {to}",
        parent=INGRESS, target=_ANY_CLASS, keys=_EVERY, actions=_redirected(to, sink),
    )  # fmt: skip


def lead_out(port: int, to: int, *, rank: int = 1, came_by: str = "") -> Message:
    """The request that leads what goes out by interface `port` to interface `to`.

    to: 0 lets it go out, whatever filters of a higher rank say.  rank: of two such, the lower one first.  came_by: only
    frames that came in by the interface of that name.
    """
    return _filter(
        port, f"leading packets out of interface {port} to {to}",
        parent=EGRESS, target=_ANY_CLASS, keys=_EVERY, actions=_redirected(to) if to else b"", rank=rank,
        came_by=came_by,
    )  # fmt: skip


def lead_each(port: int, parent: int, field: int, led: Sequence[Led], *, sink: int = 0) -> Iterator[Message]:
    """The requests that lead frames of interface `port` by their MAC address, each with a look at a few filters.

    parent: INGRESS, EGRESS, or a discipline.  field: MAC_SOURCE or MAC_DESTINATION.  sink: where the originals end, for
    what comes in.
    """
    assert sink or parent != INGRESS, "what is redirected at an ingress hook is moved, and stays charged to its sender"
    what, table = f"leading packets of interface {port} by their address", _table(parent)
    yield _request(port, what, parent=parent, rank=1, handle=table, options=attribute(_DIVISOR, _u32(_BUCKETS)))
    yield _request(
        port, what, parent=parent, rank=1,
        options=_selector(_EVERY, flags=0, hashed=field + 2) + attribute(_LINK, _u32(table)),
    )  # fmt: skip
    for one in led:
        address = bytes.fromhex(one.mac.replace(":", ""))
        yield _filter(
            port, f"{what} {one.mac} to {one.to}",
            parent=parent, target=_ANY_CLASS, bucket=table | address[-1] << 12, came_by=one.came_by,
            keys=(_key(int.from_bytes(address[:2]) << 16, 0xFFFF0000, field),
                  _key(int.from_bytes(address[2:]), 0xFFFFFFFF, field + 2)),
            actions=_redirected(one.to, sink),
        )  # fmt: skip


def move(port: int, to: int) -> Message:
    """The request that has whatever interface `port` receives leave by interface `to`, and go nowhere else."""
    return _filter(
        port, f"leading frames of interface {port} to {to}",
        parent=INGRESS, target=_ANY_CLASS, keys=_EVERY, actions=_redirected(to),
    )  # fmt: skip


def turn(port: int) -> Message:
    """The request that has each frame to one node that interface `port` receives leave by it again."""
    return _filter(
        port, f"sending frames of interface {port} back",
        parent=INGRESS, target=_ANY_CLASS, keys=(_key(0, _TO_A_GROUP, MAC_DESTINATION),), actions=_redirected(port),
    )  # fmt: skip


def classify(device: int, lane: int, address: str, offset: int) -> Message:
    """The request that puts IPv4 packets of an address (SOURCE or DESTINATION) into a class of an htb."""
    return _filter(
        device, f"leading packets of {address} to class {lane:x}",
        parent=0x10000, protocol=_ETH_P_IP, target=lane, keys=(_address(address, offset),), rank=0,
    )  # fmt: skip


def _table(parent: int) -> int:
    """The handle of a hash table; both hooks of a port have theirs in common."""
    return (2 if parent == EGRESS else 1) << 20


def _redirected(to: int, sink: int = 0) -> bytes:
    """The action that leads a packet to interface `to`; a copy of it where there is a sink for itself."""
    if not sink:
        return attribute(_ACT, _mirred(1, to, _END))
    return attribute(_ACT, _mirred(1, to, _GO_ON) + _mirred(2, sink, _END))


def _mirred(order: int, to: int, then: int) -> bytes:
    """The action number `order`: redirect to interface `to`, and `then` go on or end."""
    parameters = struct.pack("IIiiiiI", 0, 0, then, 0, 0, _TO_EGRESS, to)  # struct tc_mirred
    options = attribute(_ACT_OPTIONS, attribute(_MIRRED_PARMS, parameters))
    return attribute(order, attribute(_ACT_KIND, b"mirred\0") + options)


def _key(value: int, mask: int, offset: int) -> bytes:
    """struct tc_u32_key: network order, then the machine's."""
    return struct.pack("!II", mask, value) + struct.pack("ii", offset, 0)


_EVERY = (_key(0, 0, 0),)


def _address(address: str, offset: int) -> bytes:
    return _key(int(ipaddress.IPv4Address(address)), 0xFFFFFFFF, offset)


def _u32(value: int) -> bytes:
    return struct.pack("I", value)


def _selector(keys: Sequence[bytes], *, flags: int, hashed: int = 0) -> bytes:
    """struct tc_u32_sel with its keys.  hashed: where the word is whose last byte says which bucket comes next."""
    head = struct.pack("=BBBxHHhh", flags, 0, len(keys), 0, 0, 0, hashed)
    return attribute(_SEL, head + struct.pack("!I", 0xFF if hashed else 0) + b"".join(keys))


def _filter(
    device: int, what: str, *, parent: int, target: int, keys: Sequence[bytes], protocol: int = _ETH_P_ALL,
    actions: bytes = b"", rank: int = 1, came_by: str = "", bucket: int = 0,
) -> Message:  # fmt: skip
    options = attribute(_CLASSID, _u32(target)) + _selector(keys, flags=_TERMINAL) + actions
    options += attribute(_INDEV, came_by.encode() + b"\0") if came_by else b""
    options += attribute(_HASH, _u32(bucket)) if bucket else b""
    return _request(device, what, parent=parent, protocol=protocol, rank=rank, options=options)


def _request(
    device: int, what: str, *, parent: int, options: bytes, rank: int, protocol: int = _ETH_P_ALL, handle: int = 0
) -> Message:
    """rank: of filters of one parent the lower one first, those of one rank together; 0: before all there are."""
    payload = _TCMSG.pack(socket.AF_UNSPEC, device, handle, parent, rank << 16 | socket.htons(protocol))
    payload += attribute(_TCA_KIND, b"u32\0") + attribute(_TCA_OPTIONS, options)
    return Message(kind=_NEW_FILTER, flags=CREATE | EXCLUSIVE, payload=payload, what=what)
