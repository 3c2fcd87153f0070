"""nftables by netlink, where its library takes too long: it reads all sets of a table before it lists a counter.

Lists have 100,000s of elements, each of which takes it microseconds of a processor (benchmarks/nftables_cost.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from emulation.kernel.netlink import CREATE, Message, Netlink, attribute, attributes

NETFILTER = 12  # NETLINK_NETFILTER
_NFTABLES = 10  # NFNL_SUBSYS_NFTABLES
_NEW_ELEMENTS, _GET_OBJECT = _NFTABLES << 8 | 12, _NFTABLES << 8 | 19  # NFT_MSG_NEWSETELEM, NFT_MSG_GETOBJ
_BRIDGE = struct.pack("BBH", 7, 0, 0)  # struct nfgenmsg: NFPROTO_BRIDGE
_OBJECT_TABLE, _OBJECT_NAME, _OBJECT_TYPE, _OBJECT_DATA = 1, 2, 3, 4  # NFTA_OBJ_*
_COUNTER, _COUNTER_PACKETS = 1, 2  # NFT_OBJECT_COUNTER, NFTA_COUNTER_PACKETS
_ELEMENTS_TABLE, _ELEMENTS_SET, _ELEMENTS = 1, 2, 3  # NFTA_SET_ELEM_LIST_*
_NESTED = 0x8000  # NLA_F_NESTED
# An element of a set of numbers: three headers, each of what is in it (NFTA_LIST_ELEM, NFTA_SET_ELEM_KEY,
# NFTA_DATA_VALUE), and the number as the kernel has it.
_ELEMENT = np.frombuffer(struct.pack("HHHHHHI", 16, 1 | _NESTED, 12, 1 | _NESTED, 8, 1, 0), np.uint32)
_TOGETHER = 4000  # an attribute has less than 64 KiB


def counters(netlink: Netlink, table: str) -> dict[str, int]:
    """Packets of every counter object of a table of the family bridge.  netlink: of NETFILTER."""
    wanted = attribute(_OBJECT_TABLE, _text(table)) + attribute(_OBJECT_TYPE, struct.pack("!I", _COUNTER))
    question = Message(kind=_GET_OBJECT, flags=0, payload=_BRIDGE + wanted, what=f"reading counters of table {table}")
    found = {}
    for body in netlink.dump(question):
        about = dict(attributes(body[len(_BRIDGE) :]))
        if about.get(_OBJECT_TABLE) != _text(table) or about[_OBJECT_TYPE] != struct.pack("!I", _COUNTER):
            continue
        values = dict(attributes(about[_OBJECT_DATA]))
        (packets,) = struct.unpack("!Q", values[_COUNTER_PACKETS])
        found[about[_OBJECT_NAME].rstrip(b"\0").decode()] = packets
    return found


def fill(netlink: Netlink, table: str, name: str, numbers: np.ndarray) -> None:
    """Add numbers to a set of theirs (`typeof numgen`) in a table of the family bridge.  netlink: of NETFILTER.

    KernelError when that was refused; some may be in the set then.
    """
    for part in _parts(numbers):
        elements = np.tile(_ELEMENT, (len(part), 1))
        elements[:, -1] = part
        payload = _BRIDGE + attribute(_ELEMENTS_TABLE, _text(table)) + attribute(_ELEMENTS_SET, _text(name))
        payload += attribute(_ELEMENTS | _NESTED, elements.tobytes())
        netlink.transaction(
            Message(kind=_NEW_ELEMENTS, flags=CREATE, payload=payload, what=f"filling set {name} of table {table}"),
            subsystem=_NFTABLES,
        )


def open_netfilter() -> Netlink:
    """A socket of the calling thread's network namespace."""
    return Netlink(NETFILTER)


def _parts(numbers: np.ndarray) -> Iterator[np.ndarray]:
    return (numbers[first : first + _TOGETHER] for first in range(0, len(numbers), _TOGETHER))


def _text(words: str) -> bytes:
    return words.encode() + b"\0"
