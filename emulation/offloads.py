"""Segmentation offloads off: with them on, loss and queues act on packets of up to 64 KB that no radio sends."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from functools import cache

_SIOCETHTOOL = 0x8946
# ETHTOOL_G* and ETHTOOL_S* of linux/ethtool.h
_GET = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_SET = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
_STRINGS, _SET_INFO, _GET_FEATURES, _SET_FEATURES = 0x1B, 0x37, 0x3A, 0x3B
_FEATURES, _NAME_BYTES = 4, 32  # ETH_SS_FEATURES, ETH_GSTRING_LEN
_ANY_INTERFACE = "lo"  # all have the same names


def turn_off(interface: str) -> None:
    """Turn TSO, GSO, GRO and the segmentation of UDP and SCTP of an interface in the calling thread's namespace off."""
    for command in _SET.values():
        _value(interface, command, 0)
    bits = _segmentations()
    blocks = max(bits.values()) // 32 + 1
    wanted = [0] * (2 * blocks)  # of each block of 32: which are meant, which shall be on
    for bit in bits.values():
        wanted[2 * (bit // 32)] |= 1 << bit % 32
    _ethtool(interface, struct.pack(f"II{2 * blocks}I", _SET_FEATURES, blocks, *wanted))


def still_on(interface: str) -> list[str]:
    """Names of those that are on, read back from the kernel."""
    bits = _segmentations()
    blocks = max(bits.values()) // 32 + 1
    answer = _ethtool(interface, struct.pack("II", _GET_FEATURES, blocks) + bytes(16 * blocks))
    words = struct.unpack_from(f"{4 * blocks}I", answer, 8)  # available, requested, active, never changed
    on = [name for name, bit in bits.items() if words[4 * (bit // 32) + 2] >> bit % 32 & 1]
    return [name for name, command in _GET.items() if _value(interface, command, 0)] + on


@cache
def _segmentations() -> dict[str, int]:
    """Features by which a packet is cut only after it has left an interface: the name and bit that this kernel has."""
    info = _ethtool(_ANY_INTERFACE, struct.pack("IIQI", _SET_INFO, 0, 1 << _FEATURES, 0))
    (count,) = struct.unpack_from("I", info, 16)
    request = struct.pack("III", _STRINGS, _FEATURES, count) + bytes(count * _NAME_BYTES)
    names = struct.unpack_from(f"{_NAME_BYTES}s" * count, _ethtool(_ANY_INTERFACE, request), 12)
    words = [name.partition(b"\0")[0].decode() for name in names]
    return {name: bit for bit, name in enumerate(words) if name.startswith("tx-") and "segmentation" in name}


def _value(interface: str, command: int, value: int) -> int:
    """One ethtool_value request: struct ethtool_value {u32 cmd, data} behind struct ifreq's pointer."""
    return int(struct.unpack_from("I", _ethtool(interface, struct.pack("II", command, value)), 4)[0])


def _ethtool(interface: str, request: bytes) -> bytes:
    """One request of SIOCETHTOOL, and what the kernel made of it."""
    memory = array.array("B", request)
    address, _ = memory.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP", interface.encode(), address))
    return memory.tobytes()
