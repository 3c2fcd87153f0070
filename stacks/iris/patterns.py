"""Clusters and topics: what applications ask of their node, as messages of the overlay.  Pure.

Every cluster and every topic is several groups, which take turns, so that no single root has to pass everything on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from random import Random
from typing import NamedTuple

from stacks.iris import relay
from stacks.iris.frames import Kind, Message, Op
from stacks.iris.ids import id_of
from stacks.iris.overlay import Overlay
from stacks.iris.tunnels import Reach, Tunnels
from stacks.iris.wheel import Wheel

SPLITS = 5
LONGEST_MS = 2**32 - 1
NOBODY = "no member of the cluster"
MEMBER_LEFT = "the member has left"
NO_ROOM_FOR_REPLY = "no room for the reply"
FATE_UNKNOWN = frozenset({MEMBER_LEFT, NO_ROOM_FOR_REPLY})  # faults of requests that a member has had
_OF_TUNNELS = (Kind.ACCEPT, Kind.DATA, Kind.ACK, Kind.CLOSE)

Tell = Callable[[int, relay.Message], object]


class _Asked(NamedTuple):
    """A request that waits for its end.  connection, id: whose it is, and its own number of it."""

    connection: int
    id: int
    slot: int


class _Serving(NamedTuple):
    """A request that a member on this node has.  origin, number: where its reply goes."""

    connection: int
    origin: int
    number: int
    slot: int


def groups_of(tag: str, name: str, splits: int) -> tuple[int, ...]:
    """The identifiers of the groups of a cluster (tag 'c') or a topic ('t')."""
    return _groups_again(tag, name, splits) if len(name) <= _REPEATED else _groups(tag, name, splits)


def _groups(tag: str, name: str, splits: int) -> tuple[int, ...]:
    return tuple(id_of(f"{tag}#{number}-{name}") for number in range(splits))


_REPEATED = 256  # characters: of names so long at most the last ones are kept
_groups_again = lru_cache(maxsize=4096)(_groups)


class Patterns:
    """What the applications of one node do.  Each has a number, by which `tell` gives it a message.

    clock: seconds that never go back.  counts: what became of nothing, by why.  reach, ack_every, direct: of its
    `tunnels`.
    """

    def __init__(
        self,
        tell: Tell,
        *,
        reach: Reach,
        random: Random,
        clock: Callable[[], float],
        splits: int = SPLITS,
        ack_every: int = 1,
        direct: bool = False,
    ) -> None:
        self.counts = Counter[str]()
        self._tell, self._random, self._splits = tell, random, splits
        self._wheel, self._clock = Wheel(clock()), clock
        self._members: dict[str, list[int]] = {}
        self._subscribers: dict[str, list[int]] = {}
        self._names: dict[int, str] = {}  # of groups that are local
        self._clusters: dict[int, str] = {}  # of connections
        self._asked: dict[int, _Asked] = {}
        self._serving: dict[int, _Serving] = {}
        # Replies to a node of the same identifier that was here before this one have other numbers.
        self._numbers, self._turns = count(1 + random.getrandbits(40)), count()
        self.tunnels = Tunnels(
            send=self._send,
            tell=tell,
            reach=reach,
            clock=clock,
            wheel=self._wheel,
            numbers=self._numbers,
            ack_every=ack_every,
            direct=direct,
            silence_s=self._silence_s,
        )

    @property
    def overlay(self) -> Overlay:
        """The node's, which whoever makes both sets."""
        return self._overlay

    @overlay.setter
    def overlay(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self.tunnels.own = overlay.own

    def attach(self, connection: int, cluster: str) -> None:
        """An application is there, as a member of a cluster, or of none ('')."""
        self._clusters[connection] = cluster
        if cluster:
            self._enter("c", cluster, self._members, connection)

    def detach(self, connection: int) -> None:
        """It has gone: what it was asked fails, what it has asked is forgotten."""
        cluster = self._clusters.pop(connection, "")
        if cluster:
            self._exit("c", cluster, self._members, connection)
        for topic in [name for name, them in self._subscribers.items() if connection in them]:
            self._exit("t", topic, self._subscribers, connection)
        for number in [one for one, serving in self._serving.items() if serving.connection == connection]:
            self._answer(number, Kind.FAULT, MEMBER_LEFT.encode())
        for number in [one for one, asked in self._asked.items() if asked.connection == connection]:
            self._wheel.cancel(number, self._asked.pop(number).slot)
        self.tunnels.detach(connection)

    def ask(self, connection: int, message: relay.Message) -> None:
        """An application asks for something; relay.RelayError where that cannot be."""
        match message:
            case relay.Request(id, cluster, data, timeout_ms):
                self._request(connection, id, cluster, data, min(timeout_ms, LONGEST_MS))
            case relay.Reply(number, success, data):
                if number in self._serving and self._serving[number].connection == connection:
                    self._answer(number, Kind.REPLY if success else Kind.FAULT, data)
                else:
                    self.counts["reply to no request"] += 1
            case relay.Broadcast(cluster, data):
                self._spread(Kind.BROADCAST, "c", cluster, data)
            case relay.Publish(topic, data):
                self._spread(Kind.PUBLISH, "t", topic, data)
            case relay.Subscribe(topic):
                self._subscribe(connection, topic, wanted=True)
            case relay.Unsubscribe(topic):
                self._subscribe(connection, topic, wanted=False)
            case relay.TunnelOpen():
                self.tunnels.open(connection, message, groups_of("c", message.cluster, self._splits))
            case _:
                self.tunnels.ask(connection, message)

    def arrived(self, message: Message) -> None:
        """The overlay has a message for this node."""
        kind = message.kind
        if kind is Kind.REQUEST:
            self._serve(message)
        elif kind is Kind.REPLY or kind is Kind.FAULT:
            self._ended(message.number, success=kind is Kind.REPLY, data=message.data)
        elif kind is Kind.BROADCAST:
            event: relay.Message = relay.Broadcasted(message.data)
            for connection in self._members.get(self._names.get(message.key, ""), ()):
                self._tell(connection, event)
        elif kind is Kind.TUNNEL:
            if (member := self._member(message.key)) is None:
                self.nobody(message)
            else:
                self.tunnels.offer(member, message)
        elif kind in _OF_TUNNELS:
            self.tunnels.arrived(message)
        else:
            topic = self._names.get(message.key, "")
            event = relay.Published(topic, message.data)
            for connection in self._subscribers.get(topic, ()):
                self._tell(connection, event)

    def nobody(self, message: Message) -> None:
        """A request has found no member: its caller hears at once."""
        self._reply_to(message.origin, message.number, Kind.FAULT, NOBODY.encode())  # numbers tell what it was

    def tick(self) -> None:
        """Requests whose time is up end; to be called every wheel.STEP_S."""
        for number in list(self._wheel.due(self._clock())):
            if (asked := self._asked.pop(number, None)) is not None:
                self._tell(asked.connection, relay.Replied(asked.id, True))
            elif self._serving.pop(number, None) is None and not self.tunnels.expired(number):
                self.counts["timer of nothing"] += 1
        self.tunnels.tend()

    def _request(self, connection: int, number: int, cluster: str, data: bytes, limit_ms: int) -> None:
        own = next(self._numbers)
        self._asked[own] = _Asked(connection, number, self._wheel.set(own, self._clock() + limit_ms / 1000))
        group = groups_of("c", cluster, self._splits)[own % self._splits]
        self._send(Message(Op.BALANCE, Kind.REQUEST, group, self._overlay.own.id, own, data, limit_ms))

    def _serve(self, message: Message) -> None:
        member = self._member(message.key)
        if member is None:
            self.nobody(message)
            return
        number = next(self._numbers)
        slot = self._wheel.set(number, self._clock() + message.limit_ms / 1000)
        self._serving[number] = _Serving(member, message.origin, message.number, slot)
        if self._tell(member, relay.Requested(number, message.data, message.limit_ms)) is False:
            self._answer(number, Kind.FAULT, b"the member has no room")

    def _member(self, group: int) -> int | None:
        members = self._members.get(self._names.get(group, ""))
        if not members:
            return None
        return members[0] if len(members) == 1 else self._random.choice(members)

    def _answer(self, number: int, kind: Kind, data: bytes) -> None:
        serving = self._serving.pop(number)
        self._wheel.cancel(number, serving.slot)
        self._reply_to(serving.origin, serving.number, kind, data)

    def _reply_to(self, origin: int, number: int, kind: Kind, data: bytes) -> None:
        self._send(Message(Op.DIRECT, kind, origin, self._overlay.own.id, number, data))

    def _ended(self, number: int, *, success: bool, data: bytes) -> None:
        asked = self._asked.pop(number, None)
        if asked is None:
            if not self.tunnels.expired(number):
                self.counts["reply too late"] += 1
            return
        self._wheel.cancel(number, asked.slot)
        if self._tell(asked.connection, relay.Replied(asked.id, False, success, data)) is False:
            self._tell(asked.connection, relay.Replied(asked.id, False, False, NO_ROOM_FOR_REPLY.encode()))

    def _spread(self, kind: Kind, tag: str, name: str, data: bytes) -> None:
        turn = next(self._turns)
        group = groups_of(tag, name, self._splits)[turn % self._splits]
        self._send(Message(Op.FLOOD, kind, group, self._overlay.own.id, turn, data))

    def _subscribe(self, connection: int, topic: str, *, wanted: bool) -> None:
        there = connection in self._subscribers.get(topic, ())
        if wanted and not there:
            self._enter("t", topic, self._subscribers, connection)
        elif there and not wanted:
            self._exit("t", topic, self._subscribers, connection)

    def _send(self, message: Message) -> None:
        self._overlay.send(message)

    def _silence_s(self, node: int) -> float:
        return self._overlay.silence_s(node)

    def _enter(self, tag: str, name: str, those: dict[str, list[int]], connection: int) -> None:
        there = those.setdefault(name, [])
        there.append(connection)
        if len(there) == 1:
            groups = groups_of(tag, name, self._splits)
            self._names.update(dict.fromkeys(groups, name))
            self._overlay.trees.join(*groups)

    def _exit(self, tag: str, name: str, those: dict[str, list[int]], connection: int) -> None:
        there = those[name]
        there.remove(connection)
        if not there:
            del those[name]
            for group in groups_of(tag, name, self._splits):
                del self._names[group]
                self._overlay.trees.leave(group)
