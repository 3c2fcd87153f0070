"""Many nodes in one process, over links of a constant delay, by a clock of its own.

Nothing waits, and what is drawn follows from the seed.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import IPv4Network
from itertools import count
from random import Random

from stacks.iris.bootstrap import Bootstrap
from stacks.iris.frames import Message, Op, Peer
from stacks.iris.ids import BITS
from stacks.iris.overlay import Overlay

DELAY_S, TICK_S = 0.001, 0.1


class SimulatedNode:
    """A node's overlay, and what it was given.  Its host has the number that its address ends with.

    serves: messages for one member per second for which this node needs all of its processors; None = they are used in
    any case.
    """

    def __init__(self, world: World, own: Peer) -> None:
        self.own, self.arrivals = own, list[Message]()
        self.refused: list[Message] = []
        self.serves: float | None = None
        self._world = world
        self._served: deque[float] = deque()
        self._dialled: set[int] = set()
        self.overlay = Overlay(own, self, random=world.random, now=world.now)
        self.bootstrap = Bootstrap(
            own, key=bytes(32), network="", subnet=world.subnet, port=1, random=world.random, now=world.now
        )

    @property
    def load(self) -> float:
        """The share of its processors that it has used in the last second."""
        if self.serves is None:
            return 1.0
        while self._served and self._served[0] < self._world.now - 1:
            self._served.popleft()
        return min(1.0, len(self._served) / self.serves)

    def send(self, node: int, *parts: bytes, beside: bytes = b"") -> bool:
        """Over the link, if there is one."""
        if node not in self.overlay.peers:
            return False
        frame = b"".join((*parts, beside))
        if self._world.no_room is not None and self._world.no_room(frame):
            return False
        self._world.watch(self.own.id, node, frame)
        self._world.after(DELAY_S, partial(self._world.deliver, self.own.id, node, frame))
        return True

    def connected(self, node: int) -> bool:
        """Whether there is a link."""
        return node in self.overlay.peers

    def dial(self, peer: Peer) -> None:
        """A session takes two round trips: TCP's own and the handshake's."""
        if peer.id not in self._dialled:
            self._dialled.add(peer.id)
            self._world.after(4 * DELAY_S, partial(self._connect, peer.id))

    def _connect(self, node: int) -> None:
        self._dialled.discard(node)
        self._world.connect(self.own.id, node)

    def hang_up(self, node: int) -> None:
        """Both sides learn of it."""
        self.overlay.peer_down(node)
        self._world.after(DELAY_S, partial(self._world.cut, node, self.own.id))

    def probe(self, peer: Peer) -> None:
        """A datagram there and back, which does not wait as frames do."""
        self._world.after(2 * DELAY_S, partial(self._world.answer, self.own.id, peer.id))

    def arrived(self, message: Message) -> None:
        """Kept for whoever looks."""
        self.arrivals.append(message)
        if self.serves is not None and message.op is Op.BALANCE:
            self._served.append(self._world.now)

    def nobody(self, message: Message) -> None:
        """Kept for whoever looks."""
        self.refused.append(message)


class World:
    """Nodes, and what is under way between them.

    subnet: whose hosts nodes ask whether they are one; None = none.  counts: frames that were sent, by their operation.
    on_frame, on_datagram: called with sender, receiver (None = nobody has that address) and what is sent.  no_room:
    asked with a frame whether there is no room for it.
    """

    def __init__(self, seed: int, subnet: IPv4Network | None = None) -> None:
        self.random, self.now, self.subnet = Random(seed), 0.0, subnet  # noqa: S311
        self.nodes: dict[int, SimulatedNode] = {}
        self.on_frame: Callable[[int, int, bytes], object] | None = None
        self.on_datagram: Callable[[int, int | None, bytes], object] | None = None
        self.no_room: Callable[[bytes], bool] | None = None
        self._at: dict[str, int] = {}
        self.vanished: set[int] = set()
        self.counts = Counter[int]()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._held: list[Callable[[], None]] | None = None
        self._cut_off = False
        self._beyond: set[int] = set()

    def add(self, through: int | None = None, *, identifier: int | None = None) -> SimulatedNode:
        """A new node, which knows one other, or none."""
        own = self.random.getrandbits(BITS) if identifier is None else identifier
        number = len(self.nodes) + 1
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        node = self.nodes[own] = SimulatedNode(self, Peer(own, address, 1))
        self._at[address] = own
        self.after(self.random.random() * TICK_S, partial(self._tick, own))
        if through is not None:
            node.dial(self.nodes[through].own)
        return node

    def grow(self, nodes: int, *, every_s: float) -> None:
        """So many more nodes, one after the other, each of which knows any one that is there."""
        for _ in range(nodes):
            self.add(self.random.choice(sorted(self.nodes)) if self.nodes else None)
            self.run(every_s)

    def kill(self, those: Iterable[int]) -> None:
        """Nodes end; all who are connected to them learn of it."""
        for one in those:
            node = self.nodes.pop(one)
            for other in list(node.overlay.peers):
                self.after(DELAY_S, partial(self.cut, other, one))

    def vanish(self, those: Iterable[int]) -> None:
        """Nodes neither say nor hear anything any more; nobody is told."""
        self.vanished.update(those)

    def part(self, those: Iterable[int]) -> None:
        """From now on what these and the others send each other is lost; nobody is told.  With nobody, that is over."""
        self._beyond = set(those)

    def _deaf(self, one: int, other: int) -> bool:
        """Whether two do not hear each other."""
        return bool({one, other} & self.vanished) or (one in self._beyond) != (other in self._beyond)

    def hold(self) -> None:
        """Links are gone from now on: frames wait, as those of TCP do, and datagrams are lost."""
        self._held, self._cut_off = [], True

    def mend(self) -> None:
        """Links are there again, which TCP learns of at its next try."""
        self._cut_off = False

    def release(self) -> None:
        """Frames all arrive, in the order in which they were sent."""
        self.mend()
        held, self._held = self._held or [], None
        for action in held:
            self.after(DELAY_S, action)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self._events and self._events[0][0] <= until:
            self.now, _, action = heapq.heappop(self._events)
            action()
        self.now = until

    def way(self, start: int, key: int) -> list[int]:
        """The nodes from one to that which is the closest to a key, as their tables say."""
        found = [start]
        while (hop := self.nodes[found[-1]].overlay.table.next_hop(key)) is not None:
            if hop in found:
                raise AssertionError(f"the way to {key:#x} goes in a circle")
            found.append(hop)
        return found

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something happen; what happens at one moment keeps its order."""
        heapq.heappush(self._events, (self.now + seconds, next(self._order), action))

    def watch(self, sender: int, receiver: int, frame: bytes) -> None:
        """A frame is sent."""
        self.counts[frame[0]] += 1
        if self.on_frame is not None:
            self.on_frame(sender, receiver, frame)

    def datagram(self, sender: int, address: str, data: bytes) -> None:
        """A datagram is sent."""
        receiver = self._at.get(address)
        if self.on_datagram is not None:
            self.on_datagram(sender, receiver, data)
        if receiver is not None and not self._cut_off:
            self.after(DELAY_S, partial(self._hear, sender, receiver, data))

    def _hear(self, sender: int, receiver: int, data: bytes) -> None:
        if sender not in self.nodes or receiver not in self.nodes or self._deaf(sender, receiver):
            return
        heard = self.nodes[receiver].bootstrap.heard(data, self.nodes[sender].own.address)
        if heard.answer is not None:
            self.datagram(receiver, self.nodes[sender].own.address, heard.answer)
        if heard.peer is not None:
            self.nodes[receiver].overlay.learn(heard.peer)

    def deliver(self, sender: int, receiver: int, frame: bytes) -> None:
        """A frame arrives, if its connection is still there."""
        if self._held is not None:
            self._held.append(partial(self.deliver, sender, receiver, frame))
            return
        node = self.nodes.get(receiver)
        if node is None or self._deaf(sender, receiver):
            return
        if sender not in node.overlay.peers:  # as TCP does, which knows nothing of that connection
            self.after(DELAY_S, partial(self.cut, sender, receiver))
            return
        node.overlay.heard(sender)
        node.overlay.received(sender, frame)

    def connect(self, one: int, other: int) -> None:
        """A session begins, if both are there and have none."""
        first, second = self.nodes.get(one), self.nodes.get(other)
        if first is None or second is None or self._deaf(one, other) or self._cut_off:
            return
        if other in first.overlay.peers:
            return
        second.overlay.peer_up(first.own)
        first.overlay.peer_up(second.own)

    def answer(self, asking: int, asked: int) -> None:
        """A node that was asked is heard, if both are there."""
        node = self.nodes.get(asking)
        if node is None or asked not in self.nodes or self._deaf(asking, asked) or self._cut_off:
            return
        if asked in node.overlay.peers:
            node.overlay.heard(asked)

    def cut(self, one: int, other: int) -> None:
        """A node learns that a connection has ended, if it hears the other's machine."""
        if (node := self.nodes.get(one)) is not None and not self._deaf(one, other):
            node.overlay.peer_down(other)

    def _tick(self, one: int) -> None:
        if (node := self.nodes.get(one)) is not None:
            if one not in self.vanished:
                node.overlay.tick(self.now, node.load)
                for address, data in node.bootstrap.due(self.now, settled=node.overlay.settled(self.now)):
                    self.datagram(one, address, data)
            self.after(TICK_S, partial(self._tick, one))
