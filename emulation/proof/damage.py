"""Frames that arrive damaged: no socket of a receiver sees them, for their checksums are wrong."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from emulation.kernel.namespace import KernelError
from emulation.line.fate import damaged

_IP, _UDP, _ETHERNET_BYTES, _IP_BYTES, _UDP_BYTES = 0x0800, 17, 14, 20, 8
_NUMBER = struct.Struct("!Q")
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33  # asm-generic/socket.h
_BUFFER_BYTES = 64 << 20
_MOST = 2048
_INSTRUCTION = struct.Struct("HBBI")  # linux/filter.h: sock_filter


class Watch:
    """Frames of one sender as they come in at a node.  The calling thread is in that node's namespace.

    address: the sender's; KernelError when the node does not know where it is.
    """

    def __init__(self, address: str) -> None:
        device, mac = _neighbour(address)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            _attach(self._socket, _only_from(mac))
            self._socket.setblocking(False)
            self._socket.bind((device, _IP))
        except OSError:
            self._socket.close()
            raise

    def damaged(self) -> tuple[bytes, ...]:
        """Frames that came since the last time and are not sound."""
        found: list[bytes] = []
        while True:
            try:
                frame = self._socket.recv(_MOST)
            except BlockingIOError:
                return tuple(found)
            if number_of(frame) is None:
                found.append(frame)

    def close(self) -> None:
        """Watch no more."""
        self._socket.close()


def number_of(frame: bytes) -> int | None:
    """The number of a probe packet (emulation.proof.probe) by its frame; None when that is damaged, or something
    else.
    """
    header, rest = frame[_ETHERNET_BYTES : _ETHERNET_BYTES + _IP_BYTES], frame[_ETHERNET_BYTES + _IP_BYTES :]
    if len(rest) < _UDP_BYTES + _NUMBER.size or header[0] != 0x45 or header[9] != _UDP:
        return None
    (length,) = struct.unpack_from("!H", rest, 4)
    pseudo = header[12:20] + struct.pack("!HH", _UDP, length)
    if _sum(header) != 0xFFFF or length != len(rest) or _sum(pseudo + rest) != 0xFFFF:
        return None
    return int(_NUMBER.unpack_from(rest, _UDP_BYTES)[0])


def differences(wanted: Iterable[tuple[int, int]], frames: Sequence[bytes]) -> int:
    """How much of what came damaged is not what was to be: packets that should have been, and frames that should not.

    wanted: packets to be damaged, and what chooses the bit of each (emulation.line.fate).  A frame is one of them when
    it is sound again, checksums and all, with that bit turned back.
    """
    left, wrong = list(frames), 0
    for number, draw in wanted:
        found = next((place for place, one in enumerate(left) if number_of(damaged(one, draw)) == number), None)
        if found is None:
            wrong += 1
        else:
            del left[found]
    return wrong + len(left)


def _sum(data: bytes) -> int:
    """The one's complement sum of 16-bit words (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = int(sum(struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _neighbour(address: str) -> tuple[str, bytes]:
    """Behind which interface of the calling thread's namespace an address is, and its MAC address."""
    for line in Path("/proc/thread-self/net/arp").read_text().splitlines()[1:]:
        known, _, _, mac, _, device = line.split()
        if known == address:
            return device, bytes.fromhex(mac.replace(":", ""))
    raise KernelError(f"watching frames of {address}: no neighbour has this address")


def _only_from(mac: bytes) -> list[tuple[int, int, int, int]]:
    """A filter of frames by their source, as instructions of the classic BPF."""
    load, load_half, equal, give = 0x20, 0x28, 0x15, 0x06
    return [
        (load, 0, 0, 6),
        (equal, 0, 3, int.from_bytes(mac[:4])),
        (load_half, 0, 0, 10),
        (equal, 0, 1, int.from_bytes(mac[4:])),
        (give, 0, 0, _MOST),
        (give, 0, 0, 0),
    ]


def _attach(to: socket.socket, instructions: Sequence[tuple[int, int, int, int]]) -> None:
    program = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*one) for one in instructions))
    to.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(instructions), ctypes.addressof(program)))
