"""Packets as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

TCP, UDP = 6, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """TCP and UDP packets in file order, one array each.

    frame: number of the record in the file, from 0.  t_ns: wall clock, 0 when the file has none for it.
    interface: number of its interface in the file.  kept: bytes of the packet in the file.  wire: bytes on the
    wire, with the link header and without its checksum.  tos: IPv4's type of service or IPv6's traffic class.
    ttl: or hop limit.  ip_id: IPv4's identification, by which a packet is known again elsewhere; 0 in IPv6.
    protocol: 6 TCP, 17 UDP.  src, dst: as addresses.py numbers them.  seq, ack, flags, window: 0 in UDP.
    payload: bytes of TCP or UDP payload, as the IP header says (so it is whole when the capture was cut short
    by its snap length; of a first fragment, those in it), but no more than the frame has, on the wire or in the file
    (it has fewer where the capture was trimmed and its records say so); kept_payload: how many of them are in the
    file, from byte `at` of the data on.
    """

    frame: np.ndarray
    t_ns: np.ndarray
    interface: np.ndarray
    kept: np.ndarray
    wire: np.ndarray
    payload: np.ndarray
    kept_payload: np.ndarray
    at: np.ndarray
    ip_id: np.ndarray
    tos: np.ndarray
    ttl: np.ndarray
    protocol: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    dport: np.ndarray
    seq: np.ndarray
    ack: np.ndarray
    window: np.ndarray
    flags: np.ndarray

    def __len__(self) -> int:
        return len(self.frame)

    def select(self, which: np.ndarray) -> Packets:
        """The packets of a mask, a slice or row numbers, in that order."""
        if which.dtype == bool and which.all():
            return self
        return Packets(**{name: getattr(self, name)[which] for name in NAMES})

    def between(self, low: int, high: int) -> Packets:
        """Those rows, without a copy."""
        return Packets(**{name: getattr(self, name)[low:high] for name in NAMES})


NAMES = tuple(field.name for field in fields(Packets))
# As narrow as the numbers are; ports stay wide because they are shifted into keys.
TYPES = {
    "frame": np.int64, "t_ns": np.int64, "interface": np.int32, "kept": np.int32, "wire": np.int32,
    "payload": np.int32, "kept_payload": np.int32, "at": np.int64, "ip_id": np.uint16, "tos": np.uint8,
    "ttl": np.uint8, "protocol": np.uint8, "src": np.int64, "dst": np.int64, "sport": np.int32, "dport": np.int32,
    "seq": np.uint32, "ack": np.uint32, "window": np.uint16, "flags": np.uint8,
}  # fmt: skip


class Columns:
    """Packets that are added part by part; room for the most there can be is set aside but not touched."""

    def __init__(self, most: int) -> None:
        self._arrays = {name: np.empty(most, dtype=TYPES[name]) for name in NAMES}
        self._count = 0

    def add(self, part: dict[str, np.ndarray], count: int) -> None:
        """Add `count` packets; a column that `part` does not have is 0."""
        start, stop = self._count, self._count + count
        for name, array in self._arrays.items():
            array[start:stop] = part.get(name, 0)
        self._count = stop

    def packets(self) -> Packets:
        """All that was added."""
        return Packets(**{name: array[: self._count] for name, array in self._arrays.items()})
