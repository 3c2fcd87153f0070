"""One node's part in the overlay: who its peers are, where messages go, which trees it belongs to.  Pure: time, chance
and connections come from outside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Set
from random import Random
from typing import Protocol

from stacks.iris import frames
from stacks.iris.frames import FrameError, Message, Op, Peer
from stacks.iris.ids import shared
from stacks.iris.payload import BULK_BYTES, PayloadError, Sealer, opened
from stacks.iris.table import Table
from stacks.iris.trees import Trees

BEAT_S, REPORT_S, SILENT_S = 3.0, 1.0, 12.0
# The node with the smaller identifier speaks first, and who was asked answers at once: so TCP's acknowledgement goes
# with the answer.
_ANSWER_S, _SCAN_S = 0.3, 0.25  # how much later the other one does, by itself; who has to speak is looked for so often
# A node has found its place when its table has not changed for so long; if it is alone, for longer.
SETTLED_S, ALONE_S = 3.0, 10.0
# After a change of the table others are told with what else changes meanwhile.
STATE_S = 0.2
# So often one of the leaves is told everything once more, as what it was told may have been of no use then: a node that
# could not be reached just now.
WHOLE_S = 60.0
_OF_A_ROW = 2  # nodes that are asked who else could be in the row of one that is lost
# TCP waits longer after each try, so when a link that was gone is back, a connection may stay silent for as long again.
# A datagram does not wait.
PROBE_AFTER_S, PROBE_S = 1.0, 0.5  # beyond a beat without a word; between two
_MOST_BETWEEN_TICKS_S = 0.5  # in longer ones this node itself did not run, and could hear nobody


class Outside(Protocol):
    """What a node's overlay needs done, by sockets or by a simulator."""

    def send(self, node: int, *parts: bytes, beside: bytes = b"") -> bool:
        """Have a frame go to a connected node; False where there is no room, or it is not connected.

        beside: the rest of it, which is sealed already.
        """

    def connected(self, node: int) -> bool:
        """Whether there is a connection to a node, which has not just been ended."""

    def dial(self, peer: Peer) -> None:
        """Connect to a node, unless it is connected or being dialled; `Overlay.peer_up` when it is there."""

    def hang_up(self, node: int) -> None:
        """End a connection; `Overlay.peer_down` follows."""

    def probe(self, peer: Peer) -> None:
        """Ask a node beside its connection whether it is there; `Overlay.heard` when it answers."""

    def arrived(self, message: Message) -> None:
        """A message is for this node."""

    def nobody(self, message: Message) -> None:
        """A message for one member of a group has found none."""


class Overlay:
    """Connected peers, the table of those that are of use, the groups' trees.

    counts: what was dropped, by why.
    """

    def __init__(
        self,
        own: Peer,
        outside: Outside,
        *,
        random: Random,
        now: float,
        beat_s: float = BEAT_S,
        silent_s: float = SILENT_S,
    ) -> None:
        self.own, self.table, self.counts = own, Table(own.id), Counter[str]()
        self._outside, self._random = outside, random
        self._beat_s, self._silent_s = beat_s, silent_s
        self._sealer = Sealer()
        self._peers: dict[int, Peer] = {}
        self._said: dict[int, float] = {}  # when something was sent, by the ticks
        self._told: dict[int, Set[int]] = {}  # of which nodes
        self._untold = set[int]()  # who has still to be told of the last change
        self._heard: dict[int, float] = {}  # by the clock of _listened
        self._listened = self._ticked = now  # a clock that stands while this node cannot hear
        self._probed: dict[int, float] = {}
        self.trees = Trees(self.table, self._tell, random)
        self._changed, self._changed_at, self._lost = False, now, set[int]()
        self._due_report, self._due_state, self._due_whole = now + REPORT_S, now, now + WHOLE_S * random.random()
        self._due_beat = self._due_listen = 0.0  # not before then there is something to do; the latter as _heard

    @property
    def peers(self) -> dict[int, Peer]:
        """The nodes that this one is connected to."""
        return self._peers

    def peer_up(self, peer: Peer) -> None:
        """A session with a node is there, for the first time or in the place of one that was."""
        first, replaced = not self._peers, peer.id in self._peers
        self._peers[peer.id] = peer
        self.heard(peer.id)
        self._said[peer.id] = self._ticked
        self._due_beat = self._due_listen = 0.0
        if self.table.add(peer.id):
            self._rerouted()
        if replaced:
            self.trees.gone(peer.id)  # the other side, which has lost the old one, has forgotten what this one is to it
        self._state(peer.id, whole=True)
        if first:
            self._tell(peer.id, frames.join(self.own))

    def peer_down(self, node: int) -> None:
        """A session has ended."""
        if self._peers.pop(node, None) is None:
            return
        self._heard.pop(node, None)
        self._said.pop(node, None)
        self._told.pop(node, None)
        self._probed.pop(node, None)
        lost = self.table.remove(node)
        if lost:
            for peer in self._peers:
                self.table.add(peer)
        self.trees.gone(node)
        if lost:
            self._rerouted()
            self._lost.add(node)

    def heard(self, node: int) -> None:
        """Something came from a connected node, be it a part of a frame."""
        self._heard[node] = self._listened

    def received(self, node: int, frame: bytes) -> None:
        """A frame has come; FrameError where it is none."""
        op = frame[0] if frame else -1
        if op in (Op.BALANCE, Op.FLOOD, Op.DIRECT):
            message = frames.message(frame, further=1)
            if message.hops > frames.MOST_HOPS:
                self.counts["too many hops"] += 1
                return
            self._pass(message, node)
        elif op == Op.BEAT:
            self._beaten(node, of_use=frame[1:] != b"\0")
        elif op == Op.STATE:
            for peer in frames.read_peers(frame):
                self.learn(peer)
        elif op == Op.JOIN:
            self._joining(*frames.read_join(frame))
        elif op == Op.REPAIR:
            self._state(node, whole=True)
        elif op == Op.SUBSCRIBE:
            self.trees.adopt(node, *frames.read_group(frame))
        elif op == Op.UNSUBSCRIBE:
            self.trees.dismiss(node, frames.read_group(frame)[0])
        elif op == Op.REPORT:
            self.trees.told(node, frames.read_report(frame))
        else:
            raise FrameError(f"{op} is no operation of a frame")

    def _beaten(self, node: int, *, of_use: bool) -> None:
        if not of_use and node not in self.table.known:
            self._outside.hang_up(node)  # neither has any use of the other
        elif self._ticked - self._said.get(node, self._ticked) > self._beat_s / 2:
            self._beat(node)

    def learn(self, peer: Peer) -> None:
        """Somebody tells of a node: it is dialled if it would be of use."""
        if peer.id not in self._peers and self.table.wants(peer.id):
            self._outside.dial(peer)

    def send(self, message: Message) -> None:
        """Have a message go to where it belongs."""
        self._pass(message, None)

    def silence_s(self, node: int) -> float:
        """For how long nothing has come over the connection to a node; infinite where there is none."""
        at = self._heard.get(node)
        return math.inf if at is None else self._listened - at

    def tick(self, now: float, load: float) -> None:
        """Do what is due; to be called a few times a second.  load: share of the processors that is used, 0 to 1."""
        self._listened += min(now - self._ticked, _MOST_BETWEEN_TICKS_S)
        self._ticked = now
        if now >= self._due_state and (self._changed or self._untold):
            self._due_state = now + STATE_S
            self._tell_all(now)
        if self._lost:
            self._repair()
        if now >= self._due_whole and self._peers:
            self._due_whole = now + WHOLE_S
            self._state(self._random.choice(sorted(self.table.leaves)), whole=True)
        if now >= self._due_report:
            self._due_report = now + REPORT_S
            self.trees.beat(load)
        if now >= self._due_beat:
            self._due_beat = max(min(self._said.values(), default=math.inf) + self._beat_s, now + _SCAN_S)
            for node in self._quiet(now):
                self._beat(node)
        self._listen(now)

    def _tell_all(self, now: float) -> None:
        """Tell others what has changed; those who have no room for it now, later."""
        known = self.table.known
        if self._changed:
            self._changed, self._changed_at = False, now
            self._untold.update(known)
        self._untold = {node for node in self._untold if node in known and not self._state(node, whole=False)}

    def settled(self, now: float) -> bool:
        """Whether this node has its place."""
        return not self._changed and now - self._changed_at > (SETTLED_S if self._peers else ALONE_S)

    def unsettle(self, now: float) -> None:
        """It begins to look for its place."""
        self._changed_at = now

    def _listen(self, now: float) -> None:
        """Ask those who have said nothing for long, and give up those who have for too long."""
        if self._listened < self._due_listen:
            return
        patience_s = self._beat_s + PROBE_AFTER_S
        self._due_listen = min(self._heard.values(), default=math.inf) + min(patience_s, self._silent_s)
        for node, at in list(self._heard.items()):
            silent_s = self._listened - at
            if silent_s > self._silent_s:
                self._outside.hang_up(node)
            elif silent_s > patience_s and now - self._probed.get(node, -PROBE_S) >= PROBE_S:
                self._probed[node] = now
                self._outside.probe(self._peers[node])

    def _quiet(self, now: float) -> list[int]:
        """The nodes to which this one has said nothing for a beat."""
        own, said_at = self.own.id, now - self._beat_s
        asked_at = said_at - _ANSWER_S
        return [node for node, at in self._said.items() if at <= said_at and (own < node or at <= asked_at)]

    def _beat(self, node: int) -> None:
        self._tell(node, frames.beat(node in self.table.known))
        self._said[node] = self._ticked  # even where there was no room: much is under way

    def _repair(self) -> None:
        """Ask who could take the place of those that are lost: all leaves, and some of the rows in which they were."""
        asked = set(self.table.leaves)
        for row in {shared(self.own.id, node) for node in self._lost}:
            asked.update(sorted(self.table.row(row))[:_OF_A_ROW])
        self._lost.clear()
        for node in sorted(asked):
            self._tell(node, bytes((Op.REPAIR,)))

    def _pass(self, message: Message, came_from: int | None) -> None:
        if message.op is Op.DIRECT:
            self._direct(message)
        elif message.key not in self.trees:
            if message.op is Op.FLOOD and message.in_tree:  # sent before its sender knew that this node has left
                self.counts["not in the tree any more"] += 1
            else:
                self._towards(message)
        elif message.op is Op.BALANCE:
            self._balance(message, came_from)
        else:
            self._flood(message, came_from)

    def _direct(self, message: Message) -> None:
        if message.key == self.own.id:
            self._arrived(message)
        elif (hop := self.table.next_hop(message.key)) is None:
            self.counts["its node is gone"] += 1
        else:
            self._forward(hop, message, in_tree=False)

    def _towards(self, message: Message) -> None:
        """On the way to the root, where no tree has been met, or one that is no more."""
        hop = self.table.next_hop(message.key)
        if hop is not None:
            self._forward(hop, message, in_tree=False)
        elif message.op is Op.BALANCE:
            self._outside.nobody(message)

    def _balance(self, message: Message, came_from: int | None) -> None:
        group, by = message.key, came_from if message.in_tree else None
        chosen = self.trees.chosen(group, by)
        if chosen is None and by is not None and self.trees.goes_back(group, by):
            chosen = by
        if chosen is None:
            self._outside.nobody(message)
        elif chosen == self.own.id:
            self._arrived(message)
        else:
            self._forward(chosen, message, in_tree=True)

    def _flood(self, message: Message, came_from: int | None) -> None:
        neighbours = list(self.trees.neighbours(message.key))
        if not message.in_tree:
            came_from = None
        elif came_from not in neighbours:
            self.counts["not from a neighbour"] += 1
            return
        if self.trees.groups[message.key].local:
            self._arrived(message)
        if neighbours:
            message = self._outward(message)  # once for all
        for node in neighbours:
            if node != came_from:
                self._forward(node, message, in_tree=True)

    def _arrived(self, message: Message) -> None:
        if message.secret:
            try:
                message = opened(message)
            except PayloadError:
                self.counts["its payload is damaged"] += 1
                return
        self._outside.arrived(message)

    def _outward(self, message: Message) -> Message:
        """As it leaves the node where it begins; elsewhere as it is."""
        small = len(message.data) < BULK_BYTES
        return message if message.secret or small else self._sealer.sealed(message)

    def _forward(self, node: int, message: Message, *, in_tree: bool) -> None:
        message = self._outward(message)
        head = frames.header(message, in_tree=in_tree)
        if message.secret:
            sent = self._outside.send(node, head, beside=message.data)
        else:
            sent = self._outside.send(node, head, message.data)
        if sent:
            self._said[node] = self._ticked
        else:
            self.counts["no room" if self._outside.connected(node) else "no connection"] += 1

    def _tell(self, node: int, frame: bytes) -> bool:
        """Whether it is on its way."""
        if not self._outside.send(node, frame):
            return False
        self._said[node] = self._ticked
        return True

    def _joining(self, newcomer: Peer, hops: int) -> None:
        self.learn(newcomer)
        hop = self.table.next_hop(newcomer.id)
        if hop is None or hop == newcomer.id:
            return
        if hops < frames.MOST_HOPS:
            self._tell(hop, frames.join(newcomer, hops))
        else:
            self.counts["too many hops"] += 1

    def _state(self, node: int, *, whole: bool) -> bool:
        """Tell a node who is close, and who is in the row that it shares with this one: the whole, or what it has not
        been told yet.  Only those who are close themselves are told of every change of who is.  Whether it is told.
        """
        row = self.table.row(shared(self.own.id, node))
        them = (self.table.leaves | row if whole or node in self.table.leaves else row) - {node}
        news = them if whole else them - self._told.get(node, frozenset())
        of_them = [self._peers[one] for one in sorted(news)]
        if of_them and not self._tell(node, frames.peers(Op.STATE, of_them)):
            return False
        self._told[node] = them
        return True

    def _rerouted(self) -> None:
        self._changed = True
        self.trees.rerouted()
