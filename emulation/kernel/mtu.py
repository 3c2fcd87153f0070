"""The largest packet that an interface sends; links are made for frames of emulation.profile.direction.FULL_FRAME."""

from __future__ import annotations

import fcntl
import socket
import struct

from emulation.profile.direction import FULL_FRAME

USUAL = FULL_FRAME - 14  # without the Ethernet header
_SIOCGIFMTU = 0x8921


def mtu(interface: str) -> int:
    """In bytes, of an interface of the calling thread's namespace; OSError when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _SIOCGIFMTU, struct.pack("16si12x", interface.encode(), 0))
    return int(struct.unpack_from("i", answer, 16)[0])
