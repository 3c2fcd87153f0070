"""A capture file's bytes, and the packet records in them."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from analysis.capture import pcap, pcapng
from analysis.capture.format import NotACapture, State
from analysis.capture.links import LINKS
from analysis.capture.scan import scan
from analysis.capture.stretch import Found, Stretch
from records.location import Place, RemoteFile, size_of

_FIRST_BYTES = 28  # of either format's file header


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How to read a file's records, and the byte at which they start."""

    state: State
    at: int


def read_start(path: Place) -> Start:
    """Read the header of a capture file; NotACapture when this reader does not know it, OSError from the system."""
    with path.open("rb") as file:
        first = load(file, start=0, end=_FIRST_BYTES).tobytes()
    if found := pcap.read_header(first, str(path)):
        if found.interfaces[0].link not in LINKS:
            known = ", ".join(str(link) for link in sorted(LINKS))
            raise NotACapture(f"{path}: link type {found.interfaces[0].link}, this reader knows {known}")
        return Start(state=found, at=pcap.FILE_BYTES)
    if found := pcapng.read_header(first, str(path)):
        return Start(state=found, at=0)
    what = f"magic 0x{first[3::-1].hex()}" if len(first) >= 4 else f"{len(first)} bytes"
    raise NotACapture(f"{path}: neither a pcap nor a pcapng file ({what})")


def load(file: BinaryIO | RemoteFile, *, start: int, end: int) -> np.ndarray:
    """Bytes [start, end) of a file, fewer when it is shorter; one of this machine is mapped and not copied.

    Copying costs more than finding and decoding what is in them (measured).  A file must not be cut short by
    another process meanwhile: the system would end this one.
    """
    if isinstance(file, RemoteFile):
        return file.load(start, end)
    end = min(end, size_of(file))
    if start >= end:
        return np.empty(0, dtype=np.uint8)
    aligned = start - start % mmap.ALLOCATIONGRANULARITY
    area = mmap.mmap(file.fileno(), end - aligned, access=mmap.ACCESS_READ, offset=aligned)
    return np.frombuffer(area, dtype=np.uint8, offset=start - aligned)


def find(data: np.ndarray, *, start: int, state: State, base: int) -> Found:
    """All whole packet records from byte `start` of `data`; base: byte of the file at which the data begins."""
    if state.kind == "pcapng":
        return pcapng.find(data, start=start, end=len(data), state=state, base=base)
    first_s = int(data[start : start + 4].view(state.order + "u4")[0]) if len(data) >= start + 4 else 0
    framing = pcap.PcapFraming(order=state.order, second_ends=pcap.second_ends(state), base=base, first_s=first_s)
    found = scan(data, start=start, end=len(data), framing=framing)
    stretch = Stretch(state=state, offsets=found.offsets)
    return Found(stretches=(stretch,), end=found.end, state=state, fault=found.fault, cut=found.cut)
