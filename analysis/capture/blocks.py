"""Blocks of a pcapng section (draft-ietf-opsawg-pcapng, section 3): how they follow each other.

A block says its length at both its ends: the two must agree, or the block is not one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from analysis.capture.format import LARGEST_RECORD, Order

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET = 0x0A0D0D0A, 1, 2, 3, 6
LARGEST_BLOCK = 16 << 20  # Wireshark's limit (wiretap/pcapng.c)
SMALLEST_BLOCK = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFraming:
    """Blocks of one section, up to the next section's header.  base: byte of the file at which the data begins."""

    order: Order
    base: int = 0
    head_bytes: int = SMALLEST_BLOCK

    def walk(self, view: memoryview, *, start: int, end: int, stops: frozenset[int]) -> tuple[list[int], int]:
        """Block by block from `start` on."""
        head = struct.Struct(self.order + "II").unpack_from
        length = struct.Struct(self.order + "I").unpack_from
        offsets: list[int] = []
        append = offsets.append
        at = start
        while at + SMALLEST_BLOCK <= end:
            kind, total = head(view, at)
            after = at + total
            if kind == SECTION or total < SMALLEST_BLOCK or total & 3 or total > LARGEST_BLOCK or after > end:
                break
            if length(view, after - 4)[0] != total:
                break
            append(at)
            at = after
            if at in stops:
                break
        return offsets, at

    def fault(self, view: memoryview, *, at: int, end: int) -> tuple[str | None, bool]:
        """What is wrong with the block at `at`, and whether it merely ends too early; a section's header is right."""
        place = self.base + at
        if at == end:
            return None, False
        if at + SMALLEST_BLOCK > end:
            return f"ends inside a block header at byte {place}", True
        kind, total = struct.unpack_from(self.order + "II", view, at)
        if kind == SECTION:
            return None, False
        return block_fault(view, self.order, at=at, total=total, end=end, place=place)

    def steps(self, words: np.ndarray, here: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the next blocks start, and which of these are whole."""
        total = words[4:][here].astype(np.int64)
        after = here + total
        whole = (after <= end) & (total >= SMALLEST_BLOCK) & (total & 3 == 0) & (total <= LARGEST_BLOCK)
        again = words[after - 4] if whole.all() else words[np.where(whole, after - 4, 0)]
        whole &= (again == total) & (words[here] != SECTION)
        return after, whole

    def candidates(self, words: np.ndarray, *, start: int, stop: int) -> np.ndarray:
        """Places, four bytes apart as blocks are, that begin with the type of a packet block."""
        first = start + -start % 4
        found: np.ndarray = first + 4 * (words[first:stop:4] == PACKET).nonzero()[0]
        return found

    def likely(self, words: np.ndarray, here: np.ndarray) -> np.ndarray:
        """Which places hold the head of a block of a type in use and of a packet's length."""
        found: np.ndarray = (words[here] <= 0x0D) & (words[here + 4] <= LARGEST_RECORD)
        return found


def block_fault(
    view: memoryview, order: Order, *, at: int, total: int, end: int, place: int
) -> tuple[str | None, bool]:
    """What is wrong with a block of `total` bytes at `at`, byte `place` of the file; None when it is whole."""
    if total < SMALLEST_BLOCK or total % 4:
        return f"block at byte {place} claims {total} bytes, no length that a block may have", False
    if total > LARGEST_BLOCK:
        return f"block at byte {place} claims {total} bytes, more than any writer makes ({LARGEST_BLOCK})", False
    if at + total > end:
        return f"ends inside the block at byte {place}: {end - at} of its {total} bytes are there", True
    again = struct.unpack_from(order + "I", view, at + total - 4)[0]
    if again != total:
        return f"block at byte {place} says {total} bytes at its start and {again} at its end", False
    return None, False
