"""What the kernel of a network namespace knows of its TCP connections: sock_diag(7), as `ss -ti` asks it.

In this process: starting ss in every node of a trial takes a quarter of a processor second each in the lab kernel.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from emulation.kernel.namespace import KernelError

_NETLINK_SOCK_DIAG, _BY_FAMILY = 4, 20  # linux/netlink.h, linux/sock_diag.h
_REQUEST_DUMP = 0x1 | 0x300  # NLM_F_REQUEST, NLM_F_DUMP
_ERROR, _DONE = 2, 3  # NLMSG_ERROR, NLMSG_DONE
_ESTABLISHED = 1 << 1  # TCP_ESTABLISHED of net/tcp_states.h
_INFO, _CONGESTION = 2, 4  # INET_DIAG_INFO, INET_DIAG_CONG of linux/inet_diag.h
_HEADER = struct.Struct("IHHII")
_ASK = struct.Struct("BBBxI48x")  # struct inet_diag_req_v2, any socket
_SOCKET = struct.Struct("BBBB2s2s16s16sI8xIIIII")  # struct inet_diag_msg
_FAMILIES = (socket.AF_INET, socket.AF_INET6)  # Java's servers take IPv4 clients on IPv6 sockets
_NO_SAMPLE = 0xFFFFFFFF
_INITIAL_THRESHOLD = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
_RECEIVE_BYTES = 1 << 17
_PATIENCE_S = 5.0

Address = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpState:
    """One end of an established connection (struct tcp_info of linux/tcp.h); addresses are IPv4 where they can be.

    rtt_s, min_rtt_s: smoothed and smallest round trip, None before the first sample.  rto_s: retransmission timeout.
    cwnd, ssthresh: congestion window and slow start threshold, segments; None = no threshold yet.  unacked_bytes: what
    the peer has not acknowledged, sent or not.
    """

    local: Address
    remote: Address
    rtt_s: float | None
    min_rtt_s: float | None
    rto_s: float
    cwnd: int
    ssthresh: int | None
    congestion_control: str
    unacked_bytes: int


class SockDiag:
    """Asks the network namespace of the thread that makes it; afterwards any thread may use it, one at a time."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(_PATIENCE_S)
        self._socket.bind((0, 0))
        self._number = 0

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def ask(self) -> bytes:
        """The kernel's answers, for `tcp_states`.  KernelError when it gives none: it takes CONFIG_INET_TCP_DIAG."""
        return b"".join(part for family in _FAMILIES for part in self._dump(family))

    def _dump(self, family: int) -> Iterator[bytes]:
        self._number += 1
        wanted = _ASK.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1) | 1 << (_CONGESTION - 1), _ESTABLISHED)
        header = _HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _REQUEST_DUMP, self._number, 0)
        try:
            self._socket.send(header + wanted)
            while True:
                answer = self._socket.recv(_RECEIVE_BYTES)
                yield answer
                for kind, body in _messages(answer):
                    if kind == _DONE:
                        return
                    if kind == _ERROR:
                        raise OSError(-struct.unpack_from("i", body)[0], os.strerror(-struct.unpack_from("i", body)[0]))
        except OSError as error:
            raise KernelError(
                f"asking the kernel for TCP connections (sock_diag): {error.strerror or error}: it may be without "
                "CONFIG_INET_TCP_DIAG; try modprobe tcp_diag, or run with --kernel lab"
            ) from error


def tcp_states(answers: bytes) -> tuple[TcpState, ...]:
    """What `SockDiag.ask` brought, read."""
    return tuple(_state(body) for kind, body in _messages(answers) if kind == _BY_FAMILY)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and payload of each netlink message."""
    at = 0
    while at + _HEADER.size <= len(data):
        size, kind, _, _, _ = _HEADER.unpack_from(data, at)
        yield kind, data[at + _HEADER.size : at + size]
        at += max(size + (-size % 4), _HEADER.size)


def _state(body: bytes) -> TcpState:
    family, _, _, _, sport, dport, src, dst, _, _, _, unacked, _, _ = _SOCKET.unpack_from(body)
    attributes = dict(_attributes(body[_SOCKET.size :]))
    info = attributes.get(_INFO, b"")

    def word(at: int) -> int:
        """A field of struct tcp_info; 0 where an older kernel's ends before it."""
        return int(struct.unpack_from("I", info, at)[0]) if at + 4 <= len(info) else 0

    threshold = word(76)
    return TcpState(
        local=(_address(family, src), int.from_bytes(sport)),
        remote=(_address(family, dst), int.from_bytes(dport)),
        rtt_s=_seconds(word(68)),
        min_rtt_s=_seconds(word(148)),
        rto_s=word(8) / 1e6,
        cwnd=word(80),
        ssthresh=None if threshold >= _INITIAL_THRESHOLD else threshold,
        congestion_control=attributes.get(_CONGESTION, b"").rstrip(b"\0").decode(),
        unacked_bytes=unacked,
    )


def _seconds(microseconds: int) -> float | None:
    return None if microseconds in (0, _NO_SAMPLE) else microseconds / 1e6


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("HH", data, at)
        yield kind, data[at + 4 : at + size]
        at += max(size + (-size % 4), 4)


def _address(family: int, raw: bytes) -> str:
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(raw[:4]))
    address = ipaddress.IPv6Address(raw)
    return str(address.ipv4_mapped or address)
