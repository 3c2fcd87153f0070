"""When frames left, as the sender's device stamped them: a capture's view, without what the system call took."""

from __future__ import annotations

import socket
import struct

import numpy as np

from emulation.proof.probe import Arrivals, ProbePath

# asm-generic/socket.h and linux/net_tstamp.h
_SO_RCVBUFFORCE, _SO_TIMESTAMPING = 33, 37
_TX_SOFTWARE, _SOFTWARE, _NUMBERED, _STAMP_ONLY = 1 << 1, 1 << 4, 1 << 7, 1 << 11
_IP_RECVERR = 11
_BUFFER_BYTES = 16 << 20
_STAMP = struct.Struct("qq")
_EXTENDED_ERROR = struct.Struct("=IBBBBII")


def stamp_sent(path: ProbePath) -> None:
    """Have all further frames of a path stamped when they leave; they are numbered from 0."""
    sender = path._sender
    sender.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    sender.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _TX_SOFTWARE | _SOFTWARE | _NUMBERED | _STAMP_ONLY)


def sent_ns(path: ProbePath, packets: int) -> np.ndarray:
    """The stamps (wall clock, ns) of frames that were sent one by one; -1 of one that has none."""
    found = np.full(packets, -1, dtype=np.int64)
    while True:
        try:
            _, extra, _, _ = path._sender.recvmsg(1, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return found
        stamp = number = None
        for level, kind, data in extra:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPING):
                seconds, nanoseconds = _STAMP.unpack_from(data)
                stamp = seconds * 10**9 + nanoseconds
            elif (level, kind) == (socket.SOL_IP, _IP_RECVERR):
                number = _EXTENDED_ERROR.unpack_from(data)[-1]
        if stamp is not None and number is not None and number < packets:
            found[number] = stamp


def delays_s(arrivals: Arrivals, left_ns: np.ndarray) -> np.ndarray:
    """From a frame's leaving to its arrival, in the order of arrival.  RuntimeError where frames have no stamps."""
    if (left_ns < 0).any():
        raise RuntimeError(f"{(left_ns < 0).sum()} of {len(left_ns)} frames were not stamped when they left")
    found: np.ndarray = (arrivals.received_ns - left_ns[arrivals.number]) / 1e9
    return found
