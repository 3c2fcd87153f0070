"""Groups as trees of nodes, each rooted at the node that is closest to the group's identifier.  Pure.

Castro, Druschel, Kermarrec, Rowstron: Scribe (2002).  A node's parent is the next one on the way to the group's
identifier, so the trees are what the routing tables say, and mend themselves with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from stacks.iris import frames
from stacks.iris.table import Table

REFRESH = 12  # beats: even what has not changed is reported; who has missed a subscription, or its end, learns of it so
_SMALL = 16  # a change by less than one in so many is not worth a report


@dataclass(slots=True)
class Group:
    """What a node knows of a group.

    local: whether members are on this node.  together: the groups into which the members' cluster is split.
    capacities: of what is beyond each neighbour.  handled: messages that went to a local member since the last beat.
    told: what neighbours know of what is beyond this node.  Who is silent stays a neighbour for as long as there is a
    session.
    """

    local: bool = False
    together: tuple[int, ...] = ()
    own: int = 0
    handled: int = 0
    parent: int | None = None
    children: set[int] = field(default_factory=set)
    capacities: dict[int, int] = field(default_factory=dict)
    told: dict[int, int] = field(default_factory=dict)

    def beyond(self, node: int) -> int:
        """What this node and its other neighbours can do together, as a neighbour sees it."""
        total = self.own + sum(self.capacities.values()) - self.capacities.get(node, 0)
        return min(total, frames.MOST_CAPACITY)

    def news(self, nodes: Iterable[int], *, all_of_it: bool) -> Iterator[tuple[int, int]]:
        """What neighbours have to be told, because it has changed much or, of all of them, in any case."""
        for node in nodes:
            beyond, told = self.beyond(node), self.told.get(node)
            if all_of_it or told is None or abs(beyond - told) > told // _SMALL:
                yield node, beyond

    def forget(self, node: int) -> None:
        """A node is no neighbour any more."""
        self.capacities.pop(node, None)
        self.told.pop(node, None)


class Trees:
    """A node's part in all groups.  send: to a node that it is connected to.  random: for choices by capacity."""

    def __init__(self, table: Table, send: Callable[[int, bytes], bool], random: Random) -> None:
        self._table, self._send, self._random = table, send, random
        self._groups: dict[int, Group] = {}
        self._beats = random.randrange(REFRESH)

    def __contains__(self, group: int) -> bool:
        return group in self._groups

    @property
    def groups(self) -> dict[int, Group]:
        """Every group that this node has a part in, by its identifier."""
        return self._groups

    def neighbours(self, group: int) -> Iterator[int]:
        """The nodes at the other ends of a group's edges."""
        if (known := self._groups.get(group)) is not None:
            yield from known.children
            if known.parent is not None:
                yield known.parent

    def join(self, *groups: int) -> None:
        """There are members on this node from now on, in the groups into which their cluster is split."""
        for group in groups:
            known = self._groups.setdefault(group, Group())
            known.local, known.own, known.together = True, 1, groups
            self._climb(group, known)

    def leave(self, group: int) -> None:
        """There are none any more."""
        if (known := self._groups.get(group)) is not None:
            known.local, known.own, known.handled = False, 0, 0
            self._tidy(group, known)
            self._nobody_left(group, known)

    def adopt(self, child: int, group: int, capacity: int) -> None:
        """A node says that it is a child."""
        known = self._groups.setdefault(group, Group())
        if known.parent == child:  # tables that do not agree yet: it asks again
            return
        known.children.add(child)
        known.capacities[child] = capacity
        known.told.pop(child, None)
        beyond = known.beyond(child)
        if self._send(child, frames.report([(group, beyond)])):
            known.told[child] = beyond
        self._climb(group, known)

    def dismiss(self, node: int, group: int) -> None:
        """A node says that it is no neighbour any more."""
        if (known := self._groups.get(group)) is not None:
            self._part(group, known, node)

    def told(self, node: int, capacities: Iterator[tuple[int, int]]) -> None:
        """A neighbour reports; who is none in a group is told that."""
        for group, capacity in capacities:
            known = self._groups.get(group)
            if known is not None and (node == known.parent or node in known.children):
                known.capacities[node] = capacity
                if not capacity:
                    self._nobody_left(group, known)
            else:
                self._send(node, frames.unsubscribe(group))

    def gone(self, node: int) -> None:
        """There is no connection to a node any more."""
        for group, known in list(self._groups.items()):
            self._part(group, known, node)

    def rerouted(self) -> None:
        """The table has changed, and with it perhaps who is whose parent."""
        for group, known in list(self._groups.items()):
            self._climb(group, known)

    def beat(self, load: float) -> None:
        """Once a second: what members on this node can do, and reports to those neighbours for whom it has changed.

        load: the share of the processors that is used.  What the members of a cluster can do is what they would at full
        use, the same in each of its groups, which take turns: by its own messages a group would get the more, the more
        it has had.
        """
        self.rerouted()  # a parent that could not be had before, such as a child that has left since
        self._beats += 1
        refresh = self._beats % REFRESH == 0
        reports: dict[int, list[tuple[int, int]]] = {}
        handled = {group: known.handled for group, known in self._groups.items()}
        for group, known in self._groups.items():
            if known.local:
                mean = sum(handled.get(one, 0) for one in known.together) / len(known.together)
                known.own = min(max(1, round(mean / max(load, 0.01))), frames.MOST_CAPACITY)
                known.handled = 0
            for node, beyond in known.news(self.neighbours(group), all_of_it=refresh):
                reports.setdefault(node, []).append((group, beyond))
        for node, capacities in reports.items():
            if self._send(node, frames.report(capacities)):
                for group, beyond in capacities:
                    self._groups[group].told[node] = beyond

    def chosen(self, group: int, came_from: int | None) -> int | None:
        """Who takes a message for one member: a neighbour, this node's own identifier, or None where nobody is left.

        came_from: the neighbour who has chosen this node.
        """
        known = self._groups[group]
        nodes = [node for node, capacity in known.capacities.items() if capacity and node != came_from]
        weights = [known.capacities[node] for node in nodes]
        if known.local:
            nodes.append(self._table.own)
            weights.append(known.own)
        if not nodes:
            return None
        chosen = nodes[0] if len(nodes) == 1 else self._random.choices(nodes, weights)[0]
        if chosen == self._table.own:
            known.handled += 1
        return chosen

    def goes_back(self, group: int, came_from: int) -> bool:
        """Whether a message for one member, for whom there is nobody on this side, goes back to the neighbour who has
        chosen this node: it has members itself, and hears first that there are none here.
        """
        known = self._groups[group]
        if not known.capacities.get(came_from):
            return False
        self._tell_of_nobody(group, known, came_from)
        return known.told.get(came_from) == 0

    def _climb(self, group: int, known: Group) -> None:
        """Have the parent that the table says."""
        parent = self._table.next_hop(group)
        old = known.parent
        if parent == old:
            return
        if parent is not None and parent in known.children:  # tables that do not agree yet
            return
        if old is not None:
            known.forget(old)
            self._send(old, frames.unsubscribe(group))
        known.parent = None
        if parent is not None and self._send(parent, frames.subscribe(group, beyond := known.beyond(parent))):
            known.parent, known.told[parent] = parent, beyond

    def _part(self, group: int, known: Group, node: int) -> None:
        if node in known.children:
            known.children.remove(node)
            known.forget(node)
            self._tidy(group, known)
            if group in self._groups:
                self._climb(group, known)
        elif known.parent == node:
            known.parent = None
            known.forget(node)
            self._climb(group, known)
        self._nobody_left(group, known)

    def _nobody_left(self, group: int, known: Group) -> None:
        """Tell neighbours at once that beyond this node there are no members any more: until they know, some of what
        is for one member comes here, though they have members.
        """
        for node in list(self.neighbours(group)):
            if known.told.get(node) and not known.beyond(node):
                self._tell_of_nobody(group, known, node)

    def _tell_of_nobody(self, group: int, known: Group, node: int) -> None:
        if self._send(node, frames.report([(group, 0)])):
            known.told[node] = 0

    def _tidy(self, group: int, known: Group) -> None:
        """Nobody stays in a tree without members on or below it."""
        if known.local or known.children:
            return
        del self._groups[group]
        if known.parent is not None:
            self._send(known.parent, frames.unsubscribe(group))
