"""Segmentation offloads off: with them on, loss and queues act on packets of up to 64 KB that no radio sends."""

from __future__ import annotations

import array
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
# ETHTOOL_G* and ETHTOOL_S* of linux/ethtool.h
_GET = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_SET = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}


def turn_off(interface: str) -> None:
    """Turn TSO, GSO and GRO of an interface in the calling thread's namespace off."""
    for command in _SET.values():
        _ethtool(interface, command, 0)


def still_on(interface: str) -> list[str]:
    """Names of those of the three that are on, read back from the kernel."""
    return [name for name, command in _GET.items() if _ethtool(interface, command, 0)]


def _ethtool(interface: str, command: int, value: int) -> int:
    """One ethtool_value request: struct ethtool_value {u32 cmd, data} behind struct ifreq's pointer."""
    request = array.array("B", struct.pack("II", command, value))
    address, _ = request.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP", interface.encode(), address))
    (_, answer) = struct.unpack("II", request)
    return int(answer)
