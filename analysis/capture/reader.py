"""Reading a capture file: the whole records before any damage, and what the damage is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.capture.columns import TCP, Columns, Packets
from analysis.capture.content import Content
from analysis.capture.decode import FRONT_BYTES, decode
from analysis.capture.format import Interface, NotACapture
from analysis.capture.ranges import Range
from analysis.capture.records import describe
from analysis.capture.source import find, load, read_start
from analysis.capture.stretch import Found
from records.location import Place, size_of

__all__ = ["Capture", "NotACapture", "read_capture", "read_range"]

_BATCH = 16_384  # records decoded at once: their columns stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """packets: the TCP and UDP packets.  records: all whole records.  others: those that are not among them, by kind.

    data: the file's bytes (uint8), into which `packets.at` points, from byte `start` of the file on; of one that tasks
    share, those that are asked for.
    v6: IPv6 addresses by the numbers that stand for them.  interfaces: by the numbers in `packets.interface`.
    untimed: records for which the file has no time.
    damage: what is wrong with the file and at which byte, None when it is whole.
    """

    packets: Packets
    data: Content
    records: int
    others: dict[str, int]
    damage: str | None
    start: int = 0
    v6: dict[int, bytes] = field(default_factory=dict)
    interfaces: dict[int, Interface] = field(default_factory=dict)
    untimed: int = 0

    @property
    def tcp(self) -> Packets:
        """The TCP packets among `packets`."""
        return self.packets.select(self.packets.protocol == TCP)

    @property
    def kinds(self) -> dict[str, int]:
        """How many records were what: tcp, udp where there are any, and what `others` counts."""
        tcp = int(np.count_nonzero(self.packets.protocol == TCP))
        udp = len(self.packets) - tcp
        return {"tcp": tcp} | ({"udp": udp} if udp else {}) | self.others


def read_capture(path: Place) -> Capture:
    """Read a pcap (micro- or nanoseconds, either byte order) or pcapng file.

    Raises NotACapture when it is another kind of file, OSError when it cannot be read, AddressCollision when
    two IPv6 addresses of it cannot be told apart.  A file that is cut or damaged gives what stands before the
    damage.
    """
    begin = read_start(path)
    with path.open("rb") as file:
        data = load(file, start=0, end=size_of(file))
    return _decode(data, find(data, start=begin.at, state=begin.state, base=0), base=0, first_frame=0)


def read_range(path: Place, piece: Range) -> Capture:
    """Read the records of one range of a capture that `ranges.index` found, alone.

    Frames and interfaces are numbered as in the whole file; `packets.at` points into the range's own data.
    Raises NotACapture when the file is no longer what was indexed, and what read_capture raises.
    """
    with path.open("rb") as file:
        data = load(file, start=piece.start, end=piece.end)
    found = find(data, start=0, state=piece.state, base=piece.start)
    capture = _decode(data, found, base=piece.start, first_frame=piece.first_frame)
    if capture.records != piece.records or capture.damage is not None:
        raise NotACapture(
            f"{path}: bytes {piece.start} to {piece.end} hold {capture.records} records, the index says "
            f"{piece.records}: the file has changed, index it again"
        )
    return capture


def _decode(data: np.ndarray, found: Found, *, base: int, first_frame: int) -> Capture:
    columns = Columns(sum(len(stretch.offsets) for stretch in found.stretches))
    others: dict[str, int] = {}
    v6: dict[int, bytes] = {}
    interfaces: dict[int, Interface] = {}
    records, untimed, damage = 0, 0, None
    for stretch in found.stretches:
        state = stretch.state
        interfaces |= dict(enumerate(state.interfaces, start=state.earlier))
        for start in range(0, len(stretch.offsets), _BATCH):
            part = describe(data, stretch, start=start, stop=start + _BATCH, front=FRONT_BYTES, base=base)
            columns.add(*decode(data, part, frame=first_frame + records, others=others, v6=v6))
            records, untimed, damage = records + len(part), untimed + part.untimed, part.fault
            if damage is not None:
                break
        if damage is not None:
            break
    return Capture(
        packets=columns.packets(), data=data, records=records, others=others, start=base, v6=v6,
        interfaces=interfaces, untimed=untimed, damage=damage or found.fault,
    )  # fmt: skip
