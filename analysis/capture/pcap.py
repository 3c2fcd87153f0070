"""Classic pcap (libpcap's savefile format, pcap-savefile(5)): its file header and its records."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from analysis.capture.format import LARGEST_RECORD, ORDERS, Interface, NotACapture, Order, State

FILE_BYTES = 24
RECORD_BYTES = 16
_MAGIC = {0xA1B2C3D4: 6, 0xA1B23C4D: 9}  # magic number to digits of a time's fraction
_VERSION = (2, 4)
_DAY_S = 86_400


def read_header(start: bytes, name: str) -> State | None:
    """Decode the first 24 bytes of the file `name`; None when they are not of a pcap file at all.

    Raises NotACapture when it is one that this reader would misread.
    """
    for order in ORDERS:
        magic = struct.unpack(order + "I", start[:4])[0] if len(start) >= 4 else 0
        if magic not in _MAGIC:
            continue
        if len(start) < FILE_BYTES:
            raise NotACapture(f"{name}: {len(start)} bytes, shorter than the {FILE_BYTES} of a pcap header")
        major, minor, _zone, _sigfigs, snap, link = struct.unpack(order + "HHiIII", start[4:FILE_BYTES])
        if (major, minor) != _VERSION:
            raise NotACapture(f"{name}: pcap version {major}.{minor}, this reader knows 2.4")
        # The upper bits tell of frame check sequences (draft-ietf-opsawg-pcap, section 4).
        interface = Interface(link=link & 0xFFFF, exponent=_MAGIC[magic], snap_bytes=snap)
        return State(kind="pcap", order=order, interfaces=(interface,))
    return None


def second_ends(state: State) -> int:
    """Units of a fraction of a second in one second."""
    return int(10 ** state.interfaces[0].exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class PcapFraming:
    """base: byte of the file at which the data begins.  first_s: time of the first record, for guesses only."""

    order: Order
    second_ends: int
    base: int = 0
    first_s: int = 0
    head_bytes: int = RECORD_BYTES

    def walk(self, view: memoryview, *, start: int, end: int, stops: frozenset[int]) -> tuple[list[int], int]:
        """Record by record from `start` on."""
        length = struct.Struct(self.order + "I").unpack_from
        offsets: list[int] = []
        append = offsets.append
        at = start
        while at + RECORD_BYTES <= end:
            size = length(view, at + 8)[0]
            after = at + RECORD_BYTES + size
            if size > LARGEST_RECORD or after > end:
                break
            append(at)
            at = after
            if at in stops:
                break
        return offsets, at

    def fault(self, view: memoryview, *, at: int, end: int) -> tuple[str | None, bool]:
        """What is wrong at `at`, where no whole record is, and whether the bytes merely end too early."""
        place = self.base + at
        if at == end:
            return None, False
        if at + RECORD_BYTES > end:
            return f"ends inside a record header at byte {place}", True
        size = struct.unpack_from(self.order + "I", view, at + 8)[0]
        if size > LARGEST_RECORD:
            return (
                f"record at byte {place} claims {size} bytes, more than any capture stores ({LARGEST_RECORD})"
            ), False
        kept = end - at - RECORD_BYTES
        return f"ends inside the record at byte {place}: {kept} of its {size} bytes are there", True

    def steps(self, words: np.ndarray, here: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the next records start, and which of these are whole."""
        after = words[8:][here].astype(np.int64)
        whole = after <= LARGEST_RECORD
        after += here
        after += RECORD_BYTES
        whole &= after <= end
        return after, whole

    def candidates(self, words: np.ndarray, *, start: int, stop: int) -> np.ndarray:
        """Places whose first number is a time from a day before the first record's to a month after."""
        low = np.array(max(self.first_s - _DAY_S, 0), dtype=words.dtype)
        found: np.ndarray = start + (words[start:stop] - low <= 31 * _DAY_S).nonzero()[0]
        return found

    def likely(self, words: np.ndarray, here: np.ndarray) -> np.ndarray:
        """Which places hold a time near the first record's and lengths that agree."""
        second = words[here].astype(np.int64)
        kept = words[here + 8]
        found: np.ndarray = (second >= self.first_s - _DAY_S) & (second <= self.first_s + 30 * _DAY_S)
        found &= (words[here + 4] < self.second_ends) & (kept <= LARGEST_RECORD) & (kept <= words[here + 12])
        return found
