"""What the frames and datagrams of simulated nodes are on the wire: Ethernet frames and their bytes, by kind.

What one node sends to another in one turn of its loop is one record (`stacks/iris/session.py`).  Of TCP: headers as
Linux makes them, with timestamps, and acknowledgements that wait for something to go with.  Nothing is lost, and
connections are there already.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from ipaddress import IPv4Network
from itertools import count

from records.airtime import airtime
from stacks.iris.frames import Op
from stacks.iris.patterns import SPLITS, groups_of
from stacks.iris.session import sealed_bytes
from stacks.iris.simulator import DELAY_S, World

BOOTSTRAP, ARP = "bootstrap", "ARP for hosts that are not there"
IP = 14 + 20  # with Ethernet's
TCP, UDP, SEGMENT = IP + 20 + 12, IP + 8, 1448
# Linux (tcp.h, neighbour.h): an acknowledgement waits 40 ms; a host is asked for three times, one second apart.
ACK_S, ARP_BYTES, ARP_TRIES = 0.04, 14 + 28, 3


class Wire:
    """Listens to a world from now on.  frames, bytes: at layer 2, by what they carry.

    An acknowledgement is of the kind of what it acknowledges, a record of that of its first frame.
    """

    def __init__(self, world: World) -> None:
        self.frames, self.bytes = Counter[str](), Counter[str]()
        self._world, self._numbers = world, count()
        self._gathered: dict[tuple[int, int], list[bytes]] = {}
        self._owed: dict[tuple[int, int], int] = {}  # acknowledgements, by who owes them to whom
        world.on_frame, world.on_datagram = self._frame, self._datagram

    def air(self, kind: str, *, rate: float, overhead: float = 0.0, crossings: int = 2) -> float:
        """Seconds on the air of all frames of a kind.

        rate: bit/s.  overhead: seconds that a frame takes beside its bits.  crossings: how often a frame is on the air,
        2 from station to access point to station.
        """
        return crossings * float(airtime(self.bytes[kind], rate=rate, overhead=self.frames[kind] * overhead))

    def _count(self, kind: str, frames: int, size: int) -> None:
        self.frames[kind] += frames
        self.bytes[kind] += size

    def _datagram(self, _: int, receiver: int | None, data: bytes) -> None:
        if receiver is None:
            self._count(ARP, ARP_TRIES, ARP_TRIES * ARP_BYTES)
        else:
            self._count(BOOTSTRAP, 1, UDP + len(data))

    def _frame(self, sender: int, receiver: int, frame: bytes) -> None:
        waiting = self._gathered.setdefault((sender, receiver), [])
        waiting.append(frame)
        if len(waiting) == 1:
            self._world.after(0, partial(self._leave, sender, receiver))

    def _leave(self, sender: int, receiver: int) -> None:
        frames = self._gathered.pop((sender, receiver))
        kind, size = Op(frames[0][0]).name, sealed_bytes(map(len, frames))
        segments = -(-size // SEGMENT)
        self._count(kind, segments, size + segments * TCP)
        self._owed.pop((sender, receiver), None)  # it goes with this
        self._count(kind, segments // 2, segments // 2 * TCP)  # every other segment is acknowledged at once
        if segments % 2 and (receiver, sender) not in self._owed:
            number = self._owed[receiver, sender] = next(self._numbers)
            self._world.after(DELAY_S + ACK_S, partial(self._acknowledge, receiver, sender, kind, number))

    def _acknowledge(self, who: int, whom: int, kind: str, number: int) -> None:
        if self._owed.get((who, whom)) == number:
            del self._owed[who, whom]
            self._count(kind, 1, TCP)


def idle(nodes: int, *, subnet_bits: int, seconds: float, seed: int) -> Wire:
    """What nodes say that have found each other by their subnet, and have two clusters of five groups without load.

    RuntimeError where they have not all found their places.
    """
    world = World(seed, IPv4Network(f"10.0.0.0/{subnet_bits}"))
    ids = [world.add().own.id for _ in range(nodes)]
    world.run(15)
    for number, one in enumerate(ids):
        world.nodes[one].overlay.trees.join(*groups_of("c", ("even", "odd")[number % 2], SPLITS))
    world.run(15)
    if not all(node.overlay.settled(world.now) for node in world.nodes.values()):
        raise RuntimeError(f"not all of {nodes} nodes have found their places by a scan of {subnet_bits} bits in 30 s")
    wire = Wire(world)
    world.run(seconds)
    return wire
