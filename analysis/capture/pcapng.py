"""pcapng (draft-ietf-opsawg-pcapng): sections, each with its byte order and its interfaces."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np

from analysis.capture.blocks import (
    INTERFACE,
    OLD_PACKET,
    PACKET,
    SECTION,
    SIMPLE_PACKET,
    BlockFraming,
    block_fault,
)
from analysis.capture.format import ORDERS, NotACapture, Order, State
from analysis.capture.framing import Scan
from analysis.capture.interfaces import DamagedBlock, read_interface
from analysis.capture.scan import scan
from analysis.capture.stretch import Found, Stretch

_ORDER_MAGIC = 0x1A2B3C4D
_SECTION_BYTES = 28
_SECTION_MARK = struct.pack("<I", SECTION)  # the same in either byte order
_FIRST_WINDOW = 64 << 10  # short enough for the plain walk: chains beyond a section's end are wasted


def read_header(start: bytes, name: str) -> State | None:
    """How to read the file `name` that begins with these 28 bytes; None when it is no pcapng file.

    Raises NotACapture when its first section is one that this reader would misread.
    """
    if start[:4] != _SECTION_MARK:
        return None
    header = _section(memoryview(start), at=0, end=len(start), base=0)
    if len(start) < _SECTION_BYTES:
        raise NotACapture(f"{name}: {len(start)} bytes, shorter than a pcapng section header ({_SECTION_BYTES})")
    if header.order is None:
        raise NotACapture(f"{name}: not a pcapng file that this reader knows ({header.fault})")
    return State(kind="pcapng", order=header.order)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """order: None when nothing after this header can be read."""

    order: Order | None = None
    end: int = 0
    fault: str | None = None
    cut: bool = False


def _section(view: memoryview, *, at: int, end: int, base: int) -> _Section:
    """Decode the section header block at `at`."""
    place = base + at
    if at + _SECTION_BYTES > end:
        return _Section(fault=f"ends inside a section header at byte {place}", cut=True)
    order = next((o for o in ORDERS if struct.unpack_from(o + "I", view, at + 8)[0] == _ORDER_MAGIC), None)
    if order is None:
        return _Section(fault=f"section at byte {place} has no byte order: {bytes(view[at + 8 : at + 12]).hex()}")
    total, _magic, major, minor = struct.unpack_from(order + "IIHH", view, at + 4)
    if major != 1:
        return _Section(fault=f"section at byte {place} has version {major}.{minor}, this reader knows 1")
    if total < _SECTION_BYTES:
        what = f"section header at byte {place} claims {total} bytes, it has {_SECTION_BYTES} at least"
        return _Section(order=order, fault=what)
    fault, cut = block_fault(view, order, at=at, total=total, end=end, place=place)
    return _Section(order=order, end=at + total, fault=fault, cut=cut)


def find(data: np.ndarray, *, start: int, end: int, state: State, base: int) -> Found:
    """All whole packet records from byte `start` of `data`, where a block starts, to byte `end`.

    base: byte of the file at which the data begins.
    """
    stretches: list[Stretch] = []
    at = start
    while True:
        blocks = _blocks(data, start=at, end=end, framing=BlockFraming(order=state.order, base=base))
        stretch, fault = _stretch(data, blocks.offsets, state=state, base=base)
        stretches.append(stretch)
        state, at = stretch.state, blocks.end
        if fault is not None:
            return Found(stretches=tuple(stretches), end=fault.at, state=state, fault=fault.text, cut=False)
        if blocks.fault is not None or at == end:
            return Found(stretches=tuple(stretches), end=at, state=state, fault=blocks.fault, cut=blocks.cut)
        section = _section(data.data, at=at, end=end, base=base)
        if section.fault is not None or section.order is None:
            return Found(stretches=tuple(stretches), end=at, state=state, fault=section.fault, cut=section.cut)
        state = State(kind="pcapng", order=section.order, earlier=state.earlier + len(state.interfaces))
        at = section.end


def _blocks(data: np.ndarray, *, start: int, end: int, framing: BlockFraming) -> Scan:
    """Blocks of one section, in windows that grow."""
    pieces: list[np.ndarray] = []
    at, window = start, _FIRST_WINDOW
    while True:
        stop = min(at + window, end)
        found = scan(data, start=at, end=stop, framing=framing)
        pieces.append(found.offsets)
        at, window = found.end, window * 4
        if stop == end or not (found.cut or at == stop):
            return replace(found, offsets=np.concatenate(pieces))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    at: int
    text: str


def _stretch(data: np.ndarray, blocks: np.ndarray, *, state: State, base: int) -> tuple[Stretch, _Fault | None]:
    """The packet blocks among these, and the interfaces that are described between them."""
    words = np.ndarray(max(len(data) - 3, 0), dtype=state.order + "u4", buffer=data.data, strides=(1,))
    kinds = words[blocks]
    interfaces, since, fault = list(state.interfaces), [-1] * len(state.interfaces), None
    for at in blocks[kinds == INTERFACE].tolist():
        block = data[at : at + int(words[at + 4])].data
        try:
            interfaces.append(read_interface(block, state.order, place=base + at))
        except DamagedBlock as error:
            fault = _Fault(at=at, text=str(error))
            break
        since.append(at)
    kinds = _before(kinds, blocks, fault)
    plain = kinds == PACKET
    packets = plain | (kinds == SIMPLE_PACKET) | (kinds == OLD_PACKET)
    offsets = _before(blocks, blocks, fault)
    every = bool(packets.all())
    stretch = Stretch(
        state=State(kind="pcapng", order=state.order, interfaces=tuple(interfaces), earlier=state.earlier),
        offsets=offsets if every else offsets[packets],
        kinds=None if plain[packets].all() else kinds[packets].astype(np.uint8),
        since=np.array(since, dtype=np.int64),
    )
    return stretch, fault


def _before(values: np.ndarray, blocks: np.ndarray, fault: _Fault | None) -> np.ndarray:
    return values if fault is None else values[: np.searchsorted(blocks, fault.at)]
