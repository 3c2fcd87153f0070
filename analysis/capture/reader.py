"""Reading a capture file: the whole records before any damage, and what the damage is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.capture.columns import HEADROOM, Packets, columns, first_bad_time, headers
from analysis.capture.format import HEADER_BYTES, read_format
from analysis.capture.scan import scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """packets: the TCP packets.  records: all whole records.  others: records that are not TCP, by kind.

    data: the file's bytes (uint8), into which `packets.at` points.

    damage: what is wrong with the file and at which byte, None when it is whole.
    """

    packets: Packets
    data: np.ndarray
    records: int
    others: dict[str, int]
    damage: str | None


def read_capture(path: Path) -> Capture:
    """Read a classic pcap file (micro- or nanoseconds, either byte order) of Ethernet frames.

    Raises NotACapture when it is another kind of file, OSError when it cannot be read.  A file that is cut
    or damaged gives what stands before the damage.
    """
    data, size = _load(path)
    form = read_format(data[: min(size, HEADER_BYTES)].tobytes(), str(path))
    found = scan(data, size=size, form=form)
    offsets, damage = found.offsets, found.damage
    head = headers(data, offsets, form)
    bad = first_bad_time(head, form)
    if bad is not None:
        damage = f"record at byte {offsets[bad]} has a time whose fraction is not below one second"
        head, offsets = head[:bad], offsets[:bad]
    packets, others = columns(head, data=data, offsets=offsets, form=form)
    return Capture(packets=packets, data=data, records=len(offsets), others=others, damage=damage)


def _load(path: Path) -> tuple[np.ndarray, int]:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = np.empty(size + HEADROOM, dtype=np.uint8)
        read = file.readinto(data[:size].data)
        data[read:] = 0
        return data, read
