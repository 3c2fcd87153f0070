"""Interface descriptions of a pcapng section: link type, time resolution and offset, snap length."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from analysis.capture.format import Interface, Order

_END, _RESOLUTION, _OFFSET = 0, 9, 14
_HEAD_BYTES = 16
_DAMAGED = "interface description at byte {place}: {what}"


class DamagedBlock(ValueError):
    """A block contradicts itself; the message names its byte and what is wrong."""


def read_interface(block: memoryview, order: Order, *, place: int) -> Interface:
    """Decode an interface description block, whose length has been checked; `place` is its byte in the file.

    Raises DamagedBlock when it is too short or an option of it reaches beyond it.
    """
    if len(block) < _HEAD_BYTES + 4:
        raise DamagedBlock(_DAMAGED.format(place=place, what=f"{len(block)} bytes are too few"))
    link, _reserved, snap = struct.unpack_from(order + "HHI", block, 8)
    base, exponent, offset_s = 10, 6, 0
    for code, value in _options(block[_HEAD_BYTES:-4], order, place=place):
        if code == _RESOLUTION and len(value) == 1:  # tshark ignores one of another length, too
            base, exponent = (2 if value[0] & 0x80 else 10), value[0] & 0x7F
        elif code == _OFFSET:
            if len(value) != 8:
                raise DamagedBlock(_DAMAGED.format(place=place, what=f"a time offset of {len(value)} bytes"))
            offset_s = struct.unpack(order + "q", value)[0]
    return Interface(link=link, base=base, exponent=exponent, offset_s=offset_s, snap_bytes=snap)


def _options(area: memoryview, order: Order, *, place: int) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at + 4 <= len(area):
        code, length = struct.unpack_from(order + "HH", area, at)
        if code == _END:
            return
        if at + 4 + length > len(area):
            what = f"option {code} claims {length} bytes, {len(area) - at - 4} are left"
            raise DamagedBlock(_DAMAGED.format(place=place, what=what))
        yield code, area[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
