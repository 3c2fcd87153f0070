"""Requests to the kernel by netlink (RFC 3549) in bulk: thousands of messages in a few system calls.

pyroute2 serves one request at a time, at a fifth of a millisecond each; 200 stations need 40,000 neighbours, and a
timeline's change has to be in force at once.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from emulation.kernel.namespace import KernelError

REQUEST, ACK, CREATE, EXCLUSIVE, DUMP = 0x1, 0x4, 0x400, 0x200, 0x300  # NLM_F_*
_HEADER = struct.Struct("IHHII")
_ERROR = struct.Struct("i")
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_ATTRIBUTE_KIND = 0x3FFF  # NLA_TYPE_MASK: without the flags
_HAS_ATTRIBUTES = 0x200  # NLM_F_ACK_TLVS
_SOL_NETLINK, _CAP_ACK, _EXT_ACK = 270, 10, 11
_ATTRIBUTE_MESSAGE = 1  # NLMSGERR_ATTR_MSG
_NDMSG = struct.Struct("BxxxiHBB")  # struct ndmsg
_NEW_NEIGHBOUR, _NDA_DST, _NDA_LLADDR, _PERMANENT = 28, 1, 2, 0x80  # RTM_NEWNEIGH, NDA_*, NUD_PERMANENT
_RTMSG = struct.Struct("BBBBBBBBI")  # struct rtmsg
_NEW_ROUTE, _RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC = 24, 1, 4, 5, 7  # RTM_NEWROUTE, RTA_*
_MAIN_TABLE, _BY_ADMINISTRATOR, _ANYWHERE, _UNICAST = 254, 4, 0, 1  # RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_*, RTN_*
_BATCH_BYTES = 32_768
# The kernel keeps an acknowledgement of each until it is read, and charges close to a kilobyte for it: 300 overflow the
# usual buffer of 212,992 bytes.
_BATCH_MESSAGES = 128
_PATIENCE_S = 10
_BATCH_BEGINS, _BATCH_ENDS = 0x10, 0x11  # NFNL_MSG_BATCH_*


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One request.  kind: RTM_*.  flags: beside REQUEST and ACK.  what: the attempted action, for errors."""

    kind: int
    flags: int
    payload: bytes
    what: str


def attribute(kind: int, data: bytes) -> bytes:
    """A netlink attribute, padded."""
    return struct.pack("HH", len(data) + 4, kind) + data + b"\0" * (-len(data) % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each attribute of a message."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("HH", data, at)
        yield kind & _ATTRIBUTE_KIND, data[at + 4 : at + length]
        at += max(length + (-length % 4), 4)


def neighbour(index: int, address: str, mac: str) -> Message:
    """The request that makes a permanent neighbour (IPv4 address and MAC) on interface `index`."""
    payload = _NDMSG.pack(socket.AF_INET, index, _PERMANENT, 0, 0)
    payload += attribute(_NDA_DST, socket.inet_aton(address)) + attribute(
        _NDA_LLADDR, bytes.fromhex(mac.replace(":", ""))
    )
    return Message(
        kind=_NEW_NEIGHBOUR, flags=CREATE | EXCLUSIVE, payload=payload, what=f"adding neighbour {address} at {mac}"
    )


def route(to: str, via: str, index: int, *, source: str = "") -> Message:
    """The request that leads packets for an IPv4 prefix to a neighbour on interface `index`.

    source: the address that packets of this host have then, '' = the interface's.
    """
    address, _, length = to.partition("/")
    payload = _RTMSG.pack(socket.AF_INET, int(length), 0, 0, _MAIN_TABLE, _BY_ADMINISTRATOR, _ANYWHERE, _UNICAST, 0)
    payload += attribute(_RTA_DST, socket.inet_aton(address)) + attribute(_RTA_GATEWAY, socket.inet_aton(via))
    payload += attribute(_RTA_OIF, struct.pack("I", index))
    payload += attribute(_RTA_PREFSRC, socket.inet_aton(source)) if source else b""
    return Message(
        kind=_NEW_ROUTE, flags=CREATE | EXCLUSIVE, payload=payload, what=f"adding the route to {to} via {via}"
    )


class Netlink:
    """A socket of the calling thread's network namespace, of the routing protocol or another one."""

    def __init__(self, protocol: int = socket.NETLINK_ROUTE) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        for option in (_EXT_ACK, _CAP_ACK):
            self._socket.setsockopt(_SOL_NETLINK, option, 1)
        self._socket.settimeout(_PATIENCE_S)
        self._socket.bind((0, 0))
        self._number = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def request(self, messages: Sequence[Message]) -> None:
        """Send all, in order.  KernelError names the first that was refused, with the kernel's answer."""
        batch: dict[int, Message] = {}
        data = bytearray()
        for message in messages:
            self._number += 1
            batch[self._number] = message
            flags = message.flags | REQUEST | ACK
            size = _HEADER.size + len(message.payload)
            data += _HEADER.pack(size, message.kind, flags, self._number, 0)
            data += message.payload + b"\0" * (-size % 4)
            if len(data) > _BATCH_BYTES or len(batch) >= _BATCH_MESSAGES:
                self._exchange(bytes(data), batch)
                batch, data = {}, bytearray()
        if batch:
            self._exchange(bytes(data), batch)

    def transaction(self, message: Message, *, subsystem: int) -> None:
        """Send one to a subsystem of netfilter that takes nothing but transactions.  KernelError when refused."""
        self._number += 1
        bounds = struct.pack("!BBH", socket.AF_UNSPEC, 0, subsystem)  # struct nfgenmsg
        size, whole = _HEADER.size + len(message.payload), _HEADER.size + len(bounds)
        # All have one number: what is wrong with the bounds is an answer to the message, too.
        data = _HEADER.pack(whole, _BATCH_BEGINS, REQUEST, self._number, 0) + bounds
        data += _HEADER.pack(size, message.kind, message.flags | REQUEST | ACK, self._number, 0)
        data += message.payload + b"\0" * (-size % 4)
        data += _HEADER.pack(whole, _BATCH_ENDS, REQUEST, self._number, 0) + bounds
        self._exchange(data, {self._number: message})

    def dump(self, message: Message) -> list[bytes]:
        """Everything that the kernel lists in answer to one request: the messages' payloads.  KernelError when refused.

        The kernel lists all there is of a kind in the namespace, whatever the request asks for.
        """
        self._number += 1
        size = _HEADER.size + len(message.payload)
        head = _HEADER.pack(size, message.kind, message.flags | REQUEST | DUMP, self._number, 0)
        self._socket.send(head + message.payload)
        found: list[bytes] = []
        while True:
            answer = self._socket.recv(1 << 17)
            at = 0
            while at < len(answer):
                size, kind, flags, number, _ = _HEADER.unpack_from(answer, at)
                body = answer[at + _HEADER.size : at + size]
                at += max(size + (-size % 4), _HEADER.size)
                if number != self._number:
                    continue  # of a request before this one, which ended early
                if kind == _NLMSG_ERROR and (problem := _problem(body, flags)):
                    raise KernelError(f"{message.what}: {problem}")
                if kind == _NLMSG_DONE:
                    return found
                found.append(body)

    def _exchange(self, data: bytes, batch: dict[int, Message]) -> None:
        self._socket.send(data)
        waiting, refused = dict(batch), ""
        while waiting:
            answer = self._socket.recv(1 << 17)
            at = 0
            while at < len(answer):
                size, kind, flags, number, _ = _HEADER.unpack_from(answer, at)
                if kind == _NLMSG_ERROR and number in waiting:
                    problem = _problem(answer[at + _HEADER.size : at + size], flags)
                    message = waiting.pop(number)
                    if problem and not refused:
                        refused = f"{message.what}: {problem}"
                at += max(size + (-size % 4), _HEADER.size)
        if refused:
            raise KernelError(refused)


def _problem(body: bytes, flags: int) -> str:
    """What an acknowledgement complains of, '' when it does not."""
    (code,) = _ERROR.unpack_from(body)
    if not code:
        return ""
    said = os.strerror(-code)
    at = _ERROR.size + _HEADER.size  # the request's header comes back, and, capped, nothing more of it
    while flags & _HAS_ATTRIBUTES and at + 4 <= len(body):
        length, kind = struct.unpack_from("HH", body, at)
        if kind == _ATTRIBUTE_MESSAGE:
            said += f" ({body[at + 4 : at + length].rstrip(bytes(1)).decode(errors='replace')})"
        at += max(length + (-length % 4), 4)
    return said
