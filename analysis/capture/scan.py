"""Finding where each record of a pcap file starts.

A record's place is known only from the one before it.  Small files are walked record by record.  Large ones
are walked by many chains at once, each from a guessed record start; the guesses are proven afterwards: the
chain from byte 24 is right, and a chain that ends exactly on the next chain's start proves that start.  Where
a guess fails, the walk goes on record by record from the last proven place.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from analysis.capture.format import HEADER_BYTES, LARGEST_RECORD, RECORD_BYTES, Format

LARGE = 4 << 20  # below this the plain walk costs less than setting chains up
_DAY_S = 86_400
_GUESS_BYTES = (1 << 12, 1 << 15, 1 << 19)
_GUESS_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Scan:
    """offsets: byte of each whole record's header.  damage: what is wrong after them, None when nothing is."""

    offsets: np.ndarray
    damage: str | None


def walk(data: memoryview, *, order: str, start: int, end: int) -> Scan:
    """Walk record by record from byte `start` (a record's header) to `end` (the file's length)."""
    length = struct.Struct(order + "I").unpack_from
    offsets: list[int] = []
    append = offsets.append
    at = start
    while at + RECORD_BYTES <= end:
        size = length(data, at + 8)[0]
        after = at + RECORD_BYTES + size
        if size > LARGEST_RECORD or after > end:
            break
        append(at)
        at = after
    return Scan(np.array(offsets, dtype=np.int64), _damage(data, order=order, at=at, end=end))


def _damage(data: memoryview, *, order: str, at: int, end: int) -> str | None:
    if at == end:
        return None
    if at + RECORD_BYTES > end:
        return f"ends inside a record header at byte {at}"
    size = struct.unpack_from(order + "I", data, at + 8)[0]
    if size > LARGEST_RECORD:
        return f"record at byte {at} claims {size} bytes, more than any capture stores ({LARGEST_RECORD})"
    return f"ends inside the record at byte {at}: {end - at - RECORD_BYTES} of its {size} bytes are there"


def scan(data: np.ndarray, *, size: int, form: Format) -> Scan:
    """Offsets of every whole record in the first `size` bytes of `data` (uint8, at least 16 bytes longer)."""
    view = data.data
    if size < LARGE:
        return walk(view, order=form.order, start=HEADER_BYTES, end=size)
    proven = _lockstep(data, size=size, form=form)
    rest = walk(view, order=form.order, start=proven[1], end=size)
    return Scan(np.concatenate([proven[0], rest.offsets]), rest.damage)


def _lockstep(data: np.ndarray, *, size: int, form: Format) -> tuple[np.ndarray, int]:
    """Offsets proven by joined chains, and the byte from which the plain walk must go on."""
    fields = np.ndarray(len(data) - 3, dtype=form.order + "u4", buffer=data.data, strides=(1,))
    starts = _guesses(fields, size=size, form=form)
    stops = np.append(starts[1:], size)
    at = starts.copy()
    steps: list[np.ndarray] = []
    running = np.arange(len(starts))
    while len(running):
        here = at[running]
        lengths = fields[here + 8].astype(np.int64)
        after = here + RECORD_BYTES + lengths
        whole = (lengths <= LARGEST_RECORD) & (after <= size)
        row = np.full(len(starts), -1, dtype=np.int64)
        row[running[whole]] = here[whole]
        steps.append(row)
        at[running[whole]] = after[whole]
        running = running[whole & (after < stops[running]) & (after + RECORD_BYTES <= size)]
    joined = at == stops
    good = len(starts) if joined.all() else int(np.argmin(joined)) + 1
    table = np.array(steps, dtype=np.int64).reshape(len(steps), len(starts)).T[:good].ravel()
    # A chain that failed to join is right up to where it stands when it starts at a proven place.
    return table[table >= 0], int(at[good - 1])


def _guesses(fields: np.ndarray, *, size: int, form: Format) -> np.ndarray:
    first_s = int(fields[HEADER_BYTES])
    # A guess costs some 40 µs and a step of all chains 12 µs (measured), so the best number grows slowly.
    chains = min(max(size >> 17, 64), 512)
    wanted = np.linspace(HEADER_BYTES, size, chains, endpoint=False).astype(np.int64)
    found = [HEADER_BYTES]
    for place in wanted[1:]:
        if place <= found[-1]:
            continue
        guess = _plausible(fields, place=int(place), size=size, form=form, first_s=first_s)
        if guess is not None and guess > found[-1]:
            found.append(guess)
    return np.array(found, dtype=np.int64)


def _plausible(fields: np.ndarray, *, place: int, size: int, form: Format, first_s: int) -> int | None:
    for span in _GUESS_BYTES:
        stop = min(place + span, size - RECORD_BYTES)
        seconds = fields[place:stop]
        near = place + np.flatnonzero((seconds >= max(first_s - _DAY_S, 0)) & (seconds <= first_s + 30 * _DAY_S))
        for candidate in near.tolist():
            if _chain_holds(fields, at=candidate, size=size, form=form, first_s=first_s):
                return int(candidate)
    return None


def _chain_holds(fields: np.ndarray, *, at: int, size: int, form: Format, first_s: int) -> bool:
    for _ in range(_GUESS_DEPTH):
        if at + RECORD_BYTES > size:
            return at == size
        second, fraction, kept, wire = (int(fields[at + place]) for place in (0, 4, 8, 12))
        if not first_s - _DAY_S <= second <= first_s + 30 * _DAY_S:
            return False
        if fraction * form.unit_ns >= 1_000_000_000 or kept > LARGEST_RECORD or kept > wire:
            return False
        at += RECORD_BYTES + kept
    return True
