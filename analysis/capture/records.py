"""What the headers of packet records say: where each packet's bytes are, when it was captured, on what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.blocks import PACKET, SIMPLE_PACKET
from analysis.capture.format import LARGEST_RECORD
from analysis.capture.gather import fields, gather
from analysis.capture.pcap import RECORD_BYTES, second_ends
from analysis.capture.stretch import Stretch
from analysis.capture.times import nanoseconds

_NS = 1_000_000_000
_BLOCK_BYTES = 28  # of an enhanced or an obsolete packet block before its packet
_SIMPLE_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Packet records, one array each.

    at: byte of the data at which the packet starts.  kept, wire: its bytes in the file and on the wire.
    interface: number of its interface, counted through the file.  link: its link type, one for all or each.
    front: the packet's first bytes, of those packets that are `direct`.  fault: what is wrong with the record
    after these, None when nothing is.  timeless: which have no time (simple packet blocks, and times beyond the year
    2262); theirs is 0; None where all have one.
    """

    at: np.ndarray
    kept: np.ndarray
    wire: np.ndarray
    t_ns: np.ndarray
    interface: np.ndarray
    link: np.ndarray | int
    front: np.ndarray
    direct: np.ndarray | None = None
    fault: str | None = None
    timeless: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.at)

    @property
    def untimed(self) -> int:
        """How many have no time."""
        return 0 if self.timeless is None else int(np.count_nonzero(self.timeless))

    def first(self, count: int, fault: str) -> Records:
        """The first `count` of them, and what is wrong with the next."""
        return Records(
            at=self.at[:count], kept=self.kept[:count], wire=self.wire[:count], t_ns=self.t_ns[:count],
            interface=self.interface[:count], link=self.link if isinstance(self.link, int) else self.link[:count],
            front=self.front[:count], direct=None if self.direct is None else self.direct[:count], fault=fault,
            timeless=None if self.timeless is None else self.timeless[:count],
        )  # fmt: skip


def describe(data: np.ndarray, stretch: Stretch, *, start: int, stop: int, front: int, base: int) -> Records:
    """Records [start, stop) of a stretch, with the first `front` bytes of each packet."""
    if stretch.state.kind == "pcap":
        return _pcap(data, stretch, start=start, stop=stop, front=front)
    return _pcapng(data, stretch, start=start, stop=stop, front=front, base=base)


def _pcap(data: np.ndarray, stretch: Stretch, *, start: int, stop: int, front: int) -> Records:
    state, offsets = stretch.state, stretch.offsets[start:stop]
    number = state.order + "u4"
    rows = gather(data, offsets, RECORD_BYTES + front)
    head = fields(rows, 0, np.dtype([(name, number) for name in ("second", "fraction", "kept", "wire")]))
    return Records(
        at=offsets + RECORD_BYTES,
        kept=head["kept"].astype(np.int64),
        wire=head["wire"].astype(np.int64),
        # A fraction of a second or more is carried into the seconds.
        t_ns=head["second"] * np.int64(_NS) + head["fraction"] * np.int64(_NS // second_ends(state)),
        interface=np.zeros(len(offsets), dtype=np.int32),
        link=state.interfaces[0].link,
        front=rows[:, RECORD_BYTES:],
    )


def _pcapng(data: np.ndarray, stretch: Stretch, *, start: int, stop: int, front: int, base: int) -> Records:
    state, offsets = stretch.state, stretch.offsets[start:stop]
    rows = gather(data, offsets, _BLOCK_BYTES + front)
    names = ("kind", "total", "interface", "high", "low", "kept", "wire")
    head = fields(rows, 0, np.dtype([(name, state.order + "u4") for name in names]))
    known = np.searchsorted(stretch.since, offsets)
    wide = {name: head[name].astype(np.int64) for name in ("interface", "kept", "wire", "total")}
    room, before = wide["total"] - (_BLOCK_BYTES + 4), np.full(len(offsets), _BLOCK_BYTES)
    units = head["high"].astype(np.uint64) << np.uint64(32) | head["low"]
    direct, simple = None, np.zeros(len(offsets), dtype=bool)
    if stretch.kinds is not None:
        kinds = stretch.kinds[start:stop]
        direct, simple = kinds == PACKET, kinds == SIMPLE_PACKET
        _obsolete(wide, rows, np.flatnonzero(~direct & ~simple), order=state.order)
        _simple(wide, rows, np.flatnonzero(simple), stretch=stretch)
        room[simple] += _BLOCK_BYTES - _SIMPLE_BYTES
        before[simple] = _SIMPLE_BYTES
    interface = np.where(wide["interface"] < known, wide["interface"], 0)
    t_ns, timeless = _times(units, interface, stretch)
    timeless |= simple
    t_ns[timeless] = 0
    links = np.array([one.link for one in state.interfaces] or [0])
    found = Records(
        at=offsets + before, kept=wide["kept"], wire=wide["wire"], t_ns=t_ns,
        interface=(interface + state.earlier).astype(np.int32),
        link=int(links[0]) if (links == links[0]).all() else links[interface],
        front=rows[:, _BLOCK_BYTES:], direct=direct, timeless=timeless,
    )  # fmt: skip
    strange = wide["interface"] >= known
    lying = (wide["kept"] > room) | (wide["kept"] > LARGEST_RECORD)
    bad = strange | lying
    if not bad.any():
        return found
    first = int(np.argmax(bad))
    place = base + int(offsets[first])
    if strange[first]:
        what = f"names interface {wide['interface'][first]}, {known[first]} are described before it"
    else:
        what = f"claims {wide['kept'][first]} bytes of a packet, it has room for {max(room[first], 0)}"
    return found.first(first, f"packet block at byte {place} {what}")


def _obsolete(wide: dict[str, np.ndarray], rows: np.ndarray, which: np.ndarray, *, order: str) -> None:
    """Obsolete packet blocks: two numbers of 16 bits where an enhanced one has its interface."""
    if len(which):
        halves = np.ascontiguousarray(rows[which, 8:10]).view(order + "u2")[:, 0]
        wide["interface"][which] = halves


def _simple(wide: dict[str, np.ndarray], rows: np.ndarray, which: np.ndarray, *, stretch: Stretch) -> None:
    """Simple packet blocks: of the first interface, without a time, as long as the snap length lets them be."""
    if not len(which):
        return
    interfaces = stretch.state.interfaces
    wire = np.ascontiguousarray(rows[which, 8:12]).view(stretch.state.order + "u4")[:, 0].astype(np.int64)
    snap = interfaces[0].snap_bytes if interfaces else 0
    wide["interface"][which] = 0
    wide["wire"][which] = wire
    wide["kept"][which] = np.minimum(wire, snap) if snap else wire


def _times(units: np.ndarray, interface: np.ndarray, stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
    """Times in ns, and which are beyond what 64 bits of them hold."""
    interfaces = stretch.state.interfaces
    if not interfaces:
        return np.zeros(len(units), dtype=np.int64), np.zeros(len(units), dtype=bool)
    clocks = [(one.base, one.exponent, one.offset_s) for one in interfaces]
    if len(set(clocks)) == 1:
        return nanoseconds(units, interfaces[0])
    t_ns, bad = np.zeros(len(units), dtype=np.int64), np.zeros(len(units), dtype=bool)
    numbers = {clock: number for number, clock in enumerate(clocks)}
    like = np.array([numbers[clock] for clock in clocks])[interface]
    for number in np.unique(like).tolist():
        rows = np.flatnonzero(like == number)
        t_ns[rows], bad[rows] = nanoseconds(units[rows], interfaces[number])
    return t_ns, bad
