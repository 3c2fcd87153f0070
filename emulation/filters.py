"""Filters that lead packets into queues: u32 matches with mirred actions, as netlink messages (linux/pkt_cls.h).

A packet that waits in the uplink's queue must be a copy.  The packet itself is charged to its sender's socket for as
long as it lives, and TCP lets only some of these wait (TCP small queues: tcp_limit_output_bytes, and what its socket
may have written): on 10 Mbit/s with a queue of 300 packets a single upload then kept 154 KB waiting, where a download
filled all 454 KB.  At an egress hook the kernel copies what it redirects, at an ingress hook it moves it, unless the
action lets the packet go on (act_mirred.c, tcf_mirred_can_reinsert).  So uplink packets are redirected and go on, which
makes a copy, and end in a second action: in a device whose queue holds nothing.  (mirred's `mirror` makes a copy, too,
but an ifb takes in redirected packets only.)
"""

from __future__ import annotations

import ipaddress
import socket
import struct

from emulation import qdisc
from emulation.loss import Direction
from emulation.netlink import CREATE, EXCLUSIVE, Message, attribute
from emulation.qdisc import Discipline

HOOK: dict[Direction, int] = {"uplink": 0xFFFFFFF2, "downlink": 0xFFFFFFF3}  # clsact ingress and egress
SINK = "sink"
SOURCE, DESTINATION = 12, 16  # where an IPv4 header has its addresses
_CLSACT_HANDLE, _CLSACT_PARENT = 0xFFFF0000, 0xFFFFFFF1
_ETH_P_ALL, _ETH_P_IP = 0x0003, 0x0800
_NEW_FILTER = 44  # RTM_NEWTFILTER
_TCMSG = struct.Struct("BxxxiIII")  # struct tcmsg
_TCA_KIND, _TCA_OPTIONS = 1, 2
_CLASSID, _SEL, _ACT = 1, 5, 7  # TCA_U32_*
_ACT_KIND, _ACT_OPTIONS, _MIRRED_PARMS = 1, 2, 2  # TCA_ACT_*, TCA_MIRRED_PARMS
_TO_EGRESS = 1  # TCA_EGRESS_REDIR
_GO_ON, _END = 3, 4  # TC_ACT_PIPE, TC_ACT_STOLEN
_TERMINAL = 1  # TC_U32_TERMINAL
_ANY_CLASS = 0x10000


def hooks(device: str) -> Discipline:
    """The discipline that lets filters be hung on both hooks of a port."""
    return Discipline(device=device, handle=_CLSACT_HANDLE, parent=_CLSACT_PARENT, kind="clsact")


def sink() -> Discipline:
    """A queue that holds nothing: packets that are led to its device end there."""
    kind, options = qdisc.fifo(packets=0)
    return Discipline(device=SINK, handle=0x10000, parent=qdisc.ROOT, kind=kind, options=options)


def lead(port: int, to: int, direction: Direction, *, sink: int = 0, source: str = "") -> Message:
    """The request that leads what passes a hook of interface `port` to interface `to`.

    direction: whose hook.  sink: the interface where an uplink's originals end.  source: packets from that IPv4
    address only.
    """
    if direction == "uplink":
        assert sink, "what is redirected at an ingress hook is moved, and stays charged to its sender"
        actions = _mirred(1, to, _GO_ON) + _mirred(2, sink, _END)
    else:
        actions = _mirred(1, to, _END)
    protocol, key = (_ETH_P_IP, _address(source, SOURCE)) if source else (_ETH_P_ALL, _key(0, 0, 0))
    return _filter(
        port, f"leading {direction} packets of interface {port} to {to}",
        parent=HOOK[direction], protocol=protocol, target=_ANY_CLASS, key=key, actions=attribute(_ACT, actions),
    )  # fmt: skip


def classify(device: int, lane: int, address: str, offset: int) -> Message:
    """The request that puts IPv4 packets of an address (SOURCE or DESTINATION) into a class of an htb."""
    return _filter(
        device, f"leading packets of {address} to class {lane:x}",
        parent=0x10000, protocol=_ETH_P_IP, target=lane, key=_address(address, offset),
    )  # fmt: skip


def _mirred(order: int, to: int, then: int) -> bytes:
    """The action number `order`: redirect to interface `to`, and `then` go on or end."""
    parameters = struct.pack("IIiiiiI", 0, 0, then, 0, 0, _TO_EGRESS, to)  # struct tc_mirred
    options = attribute(_ACT_OPTIONS, attribute(_MIRRED_PARMS, parameters))
    return attribute(order, attribute(_ACT_KIND, b"mirred\0") + options)


def _key(value: int, mask: int, offset: int) -> bytes:
    """struct tc_u32_key: network order, then the machine's."""
    return struct.pack("!II", mask, value) + struct.pack("ii", offset, 0)


def _address(address: str, offset: int) -> bytes:
    return _key(int(ipaddress.IPv4Address(address)), 0xFFFFFFFF, offset)


def _filter(
    device: int, what: str, *, parent: int, protocol: int, target: int, key: bytes, actions: bytes = b""
) -> Message:
    selector = struct.pack("=BBBxHHhhI", _TERMINAL, 0, 1, 0, 0, 0, 0, 0) + key  # struct tc_u32_sel
    options = attribute(_CLASSID, struct.pack("I", target)) + attribute(_SEL, selector) + actions
    payload = _TCMSG.pack(socket.AF_UNSPEC, device, 0, parent, socket.htons(protocol))
    payload += attribute(_TCA_KIND, b"u32\0") + attribute(_TCA_OPTIONS, options)
    return Message(kind=_NEW_FILTER, flags=CREATE | EXCLUSIVE, payload=payload, what=what)
