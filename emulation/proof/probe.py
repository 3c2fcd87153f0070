"""Probe packets through a link: numbered datagrams, timed by the kernel, sent and read from one process.

Sockets are opened inside the two namespaces and used from here, so there is no second process to start and one
clock.  The receiver's kernel stamps arrivals, so nothing is lost by reading late.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import numpy as np

from emulation.kernel.namespace import in_namespace
from emulation.proof.damage import Watch

FRAME_OVERHEAD = 14 + 20 + 8  # Ethernet, IPv4, UDP
_HEADER = struct.Struct("!QQ")  # number, time sent (wall clock, ns)
MIN_FRAME = FRAME_OVERHEAD + _HEADER.size
PORT = 7007
_TIMESTAMP = struct.Struct("qq")
_BUFFER_BYTES = 64 << 20
HURRY_S = 0.002
_STALL_S, _STALLS = 0.02, 3
_LEAST_SILENCE_S = 0.02
_KNOCK, _KNOCK_S, _KNOCKS = b"open", 0.2, 50  # at most 10 s, past the longest delay of a profile and some losses
# A system call for each frame takes about 10 us, so that a gigabit would never be full.
FASTEST_S, TOGETHER = 40e-6, 16
_UDP_SEGMENT, _SEGMENT = 103, struct.Struct("=H")  # linux/udp.h
# asm-generic/socket.h; the socket module does not name them.
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 32, 33, 35


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """What came of the packets of one direction, in order of arrival.

    number: as sent, from 0.  sent_ns, received_ns: wall clock.  frame_bytes: at layer 2.  sent: how many went out.
    first: the number of the first of them.  went_ns, went_bytes: when each went out, and its size.  damaged: frames
    that came damaged, where they were watched for.
    """

    sent: int
    number: np.ndarray
    sent_ns: np.ndarray
    received_ns: np.ndarray
    frame_bytes: np.ndarray
    first: int = 0
    went_ns: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    went_bytes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    damaged: tuple[bytes, ...] = ()


class ProbePath:
    """One direction between two nodes.  Every packet sent through it has the next number."""

    def __init__(self, sender: socket.socket, receiver: socket.socket, watch: Watch | None = None) -> None:
        self._sender, self._receiver, self._watch = sender, receiver, watch
        self.sent = 0
        self._went: list[tuple[int, int]] = []
        self._in_order = True

    def send(self, frames: Sequence[int], *, spacing_s: float = 0.0) -> Arrivals:
        """Send frames of the given sizes (bytes at layer 2), wait until no more arrive, return those that did."""
        self.hand_over(frames, spacing_s=spacing_s)
        return self.collect(len(frames))

    def hand_over(self, frames: Sequence[int], *, spacing_s: float = 0.0) -> None:
        """Send frames without waiting for them.

        Who was held up for more than HURRY_S does not make that good, as a burst might find the queue full.
        """
        due = time.monotonic()
        together = 1 if spacing_s > FASTEST_S else TOGETHER
        for first in range(0, len(frames), together):
            if spacing_s:
                due = max(_sleep_until(due) - HURRY_S, due) + together * spacing_s
            sizes = frames[first : first + together]
            if len(set(sizes)) == 1:
                self.emit(len(sizes), sizes[0])
            else:
                for size in sizes:
                    self.emit(1, size)

    def emit(self, count: int, size: int) -> None:
        """Send as many frames of `size` bytes (at layer 2) in one system call."""
        now, size = time.time_ns(), size - FRAME_OVERHEAD
        data = b"".join(_HEADER.pack(self.sent + one, now).ljust(size, b"\0") for one in range(count))
        if count == 1:
            self._sender.send(data)
        else:
            self._sender.sendmsg([data], [(socket.SOL_UDP, _UDP_SEGMENT, _SEGMENT.pack(size))])
        self.sent += count
        self._went += [(now, size + FRAME_OVERHEAD)] * count

    def wait(self, seconds: float, *, in_order: bool = True) -> None:
        """How long silence must last before a packet counts as lost; whether nothing comes after the last one."""
        self._receiver.settimeout(seconds)
        self._in_order = in_order

    def collect(self, expected: int, *, since: float | None = None) -> Arrivals:
        """Read what arrives until the last packet sent, or silence.

        since: when the last one was sent (CLOCK_MONOTONIC, s), if other things were done meanwhile: silence lasts from
        then on.  Silence that lasted longer than asked was a stall of this machine, which held up the link as well.
        """
        if since is None:
            return self._collect(expected)
        usual = self._receiver.gettimeout() or 0.0
        self._receiver.settimeout(max(usual - (time.monotonic() - since), _LEAST_SILENCE_S))
        try:
            return self._collect(expected)
        finally:
            self._receiver.settimeout(usual)

    def _collect(self, expected: int) -> Arrivals:
        rows: list[tuple[int, int, int, int]] = []
        silence_s, stalls = self._receiver.gettimeout() or 0.0, 0
        while len(rows) < 2 * expected:  # duplicates included
            since = time.monotonic()
            try:
                data, extra, _, _ = self._receiver.recvmsg(2048, 64)
            except TimeoutError:
                stalls += 1
                if stalls > _STALLS or time.monotonic() - since < silence_s + _STALL_S:
                    break
                continue
            if data == _KNOCK:
                continue
            (_, _, stamp) = extra[0]
            seconds, nanoseconds = _TIMESTAMP.unpack(stamp)
            number, sent_ns = _HEADER.unpack_from(data)
            rows.append((number, sent_ns, seconds * 10**9 + nanoseconds, len(data) + FRAME_OVERHEAD))
            if self._in_order and number == self.sent - 1:
                break
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        went = np.array(self._went, dtype=np.int64).reshape(-1, 2)
        self._went = []
        return Arrivals(
            sent=expected,
            first=self.sent - expected,
            went_ns=went[:, 0],
            went_bytes=went[:, 1],
            damaged=self._watch.damaged() if self._watch else (),
            number=table[:, 0],
            sent_ns=table[:, 1],
            received_ns=table[:, 2],
            frame_bytes=table[:, 3],
        )


@contextmanager
def probe_path(
    *, from_pid: int, to_pid: int, to_address: str, port: int = PORT, watched_address: str = "", answers: str = ""
) -> Iterator[ProbePath]:
    """Open one direction between the namespaces of two processes.

    watched_address: the sender's, if frames that come damaged are wanted, too.  answers: the sender's address, where an
    address translator in front of the receiver lets in only what answers it: the receiver speaks first, and is sent to
    under the address and port by which it was heard.
    """
    receiver = in_namespace(to_pid, _socket)
    sender = in_namespace(from_pid, _socket)
    with ExitStack() as opened:
        opened.enter_context(sender)
        opened.enter_context(receiver)
        watch = in_namespace(to_pid, lambda: Watch(watched_address)) if watched_address else None
        if watch:
            opened.callback(watch.close)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiver.bind((to_address, port))
        # A burst must wait in the emulated queue, not in the sender's socket.
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER_BYTES)
        sender.connect(_heard(receiver, sender, answers, port) if answers else (to_address, port))
        yield ProbePath(sender, receiver, watch)


def _heard(speaker: socket.socket, listener: socket.socket, address: str, port: int) -> tuple[str, int]:
    """The address and port by which what one sends to the other comes; TimeoutError when nothing does."""
    listener.bind((address, port))
    listener.settimeout(_KNOCK_S)
    for _ in range(_KNOCKS):
        speaker.sendto(_KNOCK, (address, port))
        with suppress(TimeoutError):
            _, (host, number) = listener.recvfrom(len(_KNOCK))
            listener.settimeout(None)
            return host, number
    raise TimeoutError(f"nothing that was sent to {address} port {port} in {_KNOCKS * _KNOCK_S:g} s has come there")


def _socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def _sleep_until(when: float) -> float:
    """Sleep; the time it is then."""
    pause = when - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    return time.monotonic()
