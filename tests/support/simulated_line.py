"""A line in virtual time between one station and a server, probed as a real one is, in no time."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from emulation.line.air import NEVER
from emulation.line.layout import Line
from emulation.line.medium import WIRED
from emulation.plan.linkplan import LinkPlan
from emulation.profile.timeline import LinkState
from emulation.proof.asked import asked_of
from emulation.proof.damage import number_of
from emulation.proof.lanes import shared_uses
from emulation.proof.probe import Arrivals
from emulation.proof.proof import Samples, probe_direction
from emulation.proof.sidebyside import Lane, run
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck

STATION, SERVER = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 1, 0])
_UDP = 17


def frame(number: int, sent_ns: int, size: int, direction: Direction) -> bytes:
    """A probe packet as a kernel sends it."""
    data = struct.pack("!QQ", number, sent_ns).ljust(size - 42, b"\0")
    addresses = bytes([10, 77, 0, 1, 10, 77, 0, 2])
    udp = struct.pack("!HHHH", 40000, 7007, len(data) + 8, 0)
    pseudo = addresses + struct.pack("!HH", _UDP, len(udp) + len(data))
    udp = udp[:6] + (_checksum(pseudo + udp + data) or 0xFFFF).to_bytes(2) + udp[8:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, size - 14, number & 0xFFFF, 0x4000, 64, _UDP, 0) + addresses
    ip = ip[:10] + _checksum(ip).to_bytes(2) + ip[12:]
    ends = SERVER + STATION if direction == "uplink" else STATION + SERVER
    return ends + b"\x08\x00" + ip + udp + data


def _checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


class World:
    """The line and its clock: time passes only while somebody waits."""

    def __init__(self, line: Line) -> None:
        self.line, self.time = line, 100.0
        self.came: dict[int, list[tuple[int, bytes]]] = defaultdict(list)

    def now(self) -> float:
        return self.time

    def sleep_until(self, when: float) -> None:
        self.time = max(self.time, when)

    def now_ns(self) -> int:
        return round(self.time * 1e9)

    def drain(self) -> None:
        """Wait until nothing is under way."""
        medium = self.line.medium
        while True:
            for moment, port, data in medium.come_out(self.now_ns()):
                self.came[port].append((moment, data))
            if (due := medium.due()) == NEVER:
                return
            self.time = max(self.time, due / 1e9 + 1e-9)
            medium.advance(self.now_ns())


class Path:
    """One direction, as emulation.proof.probe.ProbePath has it; or from a station to another, by ports and MAC
    addresses.
    """

    def __init__(
        self, world: World, direction: Direction, *, ports: tuple[int, int] | None = None, ends: bytes = b""
    ) -> None:
        """ends: the addresses of receiver and sender."""
        self.world, self.direction, self.sent, self.ends = world, direction, 0, ends
        self.port, self.to_port = ports or ((1, WIRED) if direction == "uplink" else (WIRED, 1))
        self._went: list[tuple[int, int]] = []

    def emit(self, count: int, size: int) -> None:
        now = self.world.now_ns()
        for _ in range(count):
            data = frame(self.sent, now, size, self.direction)
            self.world.line.medium.arrive(now, self.port, self.ends + data[len(self.ends) :])
            self._went.append((now, size))
            self.sent += 1

    def collect(self, expected: int, *, since: float | None = None) -> Arrivals:  # noqa: ARG002 - no time to wait
        self.world.drain()
        came = self.world.came[self.to_port]
        frames = [(at, data, number_of(data)) for at, data in came]
        rows = [
            (number, int.from_bytes(data[50:58]), at, len(data)) for at, data, number in frames if number is not None
        ]
        came.clear()
        table, went = np.array(rows, dtype=np.int64).reshape(-1, 4), np.array(self._went, dtype=np.int64).reshape(-1, 2)
        self._went = []
        return Arrivals(
            sent=expected, number=table[:, 0], sent_ns=table[:, 1], received_ns=table[:, 2], frame_bytes=table[:, 3],
            first=self.sent - expected, went_ns=went[:, 0], went_bytes=went[:, 1],
            damaged=tuple(data for _, data, number in frames if number is None),
        )  # fmt: skip


def prove(
    asked: LinkPlan, made: LinkPlan | None = None, *, samples: Samples, states: Sequence[LinkState] = ()
) -> list[LinkCheck]:
    """Probe both directions of a line for what `asked` says, which is as `made` says, taken through `states`."""
    stations = [name for members in asked.groups for name in members]
    macs = {name: STATION if name == "sta1" else bytes([2, 0, 0, 0, 0, 1 + n]) for n, name in enumerate(stations)}
    world = World(Line(made or asked, macs))
    for state in states:
        world.line.enter(world.now_ns(), state)
    now = states[-1] if states else asked.first
    lanes = [
        Lane(Path(world, way), probe_direction(asked_of(asked, now, 0, way), samples), shared_uses(asked, 0, way))
        for way in DIRECTIONS
    ]
    return [check for checks in run(lanes, clock=world) for check in checks]
