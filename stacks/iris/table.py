"""Where a node sends what is for a key: leaf set and routing table of Pastry, without a neighbourhood set.  Pure.

Rowstron and Druschel, Pastry (2001), section 2; a leaf set of four nodes below and three above.
"""

from __future__ import annotations

from collections.abc import Set

from stacks.iris.ids import SPACE, clockwise, digit, distance, nearest, shared

BELOW, ABOVE = 4, 3
_REMEMBERED = 65_536  # next hops


class Table:
    """The nodes that one node keeps, and the next one on the way to any key.

    version: rises whenever the nodes change.
    """

    def __init__(self, own: int) -> None:
        self.own, self.version = own, 0
        self._below: tuple[int, ...] = ()
        self._above: tuple[int, ...] = ()
        self._leaves: frozenset[int] = frozenset()
        self._cells: dict[tuple[int, int], int] = {}
        self._known: frozenset[int] = frozenset()
        self._rows: dict[int, frozenset[int]] = {}
        self._hops: dict[int, int | None] = {}

    @property
    def leaves(self) -> frozenset[int]:
        """The numerically closest nodes that are known: four below and three above, where there are as many."""
        return self._leaves

    @property
    def known(self) -> frozenset[int]:
        """Every node that the leaf set or the routing table has."""
        return self._known

    def cell(self, row: int, column: int) -> int | None:
        """The node that shares `row` digits with this one, and whose next digit is `column`."""
        return self._cells.get((row, column))

    def row(self, number: int) -> frozenset[int]:
        """The nodes of a row."""
        try:
            return self._rows[number]
        except KeyError:
            found = self._rows[number] = frozenset(node for (row, _), node in self._cells.items() if row == number)
            return found

    def wants(self, node: int) -> bool:
        """Whether a node would be kept: it is among the closest, or there is none in its cell."""
        if node == self.own or node in self._known:
            return False
        return self._place(node) not in self._cells or self._is_close(node)

    def add(self, node: int) -> bool:
        """Keep a node, where it is of use; whether it is kept."""
        if self.wants(node):
            self._cells.setdefault(self._place(node), node)
            self._set({*self._known, node})
        return node in self._known

    def remove(self, node: int) -> bool:
        """Forget a node; whether it was known."""
        if node not in self._known:
            return False
        self._cells = {place: other for place, other in self._cells.items() if other != node}
        others = self._known - {node}
        for other in sorted(others):
            self._cells.setdefault(self._place(other), other)
        self._set(others)
        return True

    def next_hop(self, key: int) -> int | None:
        """The node to send what is for a key to; None where this one is the closest that it knows."""
        try:
            return self._hops[key]
        except KeyError:
            if len(self._hops) >= _REMEMBERED:
                self._hops.clear()
            found = self._hops[key] = self._next_hop(key)
            return found

    def _next_hop(self, key: int) -> int | None:
        if self._spans(key):
            closest = nearest((*self._leaves, self.own), key)
            return None if closest == self.own else closest
        row = shared(self.own, key)
        if (there := self._cells.get((row, digit(key, row)))) is not None:
            return there
        mine = distance(self.own, key)
        closer = [one for one in self._known if shared(one, key) >= row and distance(one, key) < mine]
        return nearest(closer, key) if closer else None

    def _spans(self, key: int) -> bool:
        if len(self._below) < BELOW or len(self._above) < ABOVE or len(self._leaves) < BELOW + ABOVE:
            return True  # fewer nodes than leaves: all are known
        return clockwise(self._below[-1], key) <= clockwise(self._below[-1], self._above[-1])

    def _is_close(self, node: int) -> bool:
        """Whether a node that is not known would be a leaf."""
        if len(self._above) < ABOVE or len(self._below) < BELOW:
            return True
        up, down = clockwise(self.own, node), clockwise(node, self.own)
        return up < clockwise(self.own, self._above[-1]) or down < clockwise(self._below[-1], self.own)

    def _place(self, node: int) -> tuple[int, int]:
        row = shared(self.own, node)
        return row, digit(node, row)

    def _set(self, nodes: Set[int]) -> None:
        upwards = sorted(clockwise(self.own, node) for node in nodes)
        self._above = tuple((self.own + way) % SPACE for way in upwards[:ABOVE])  # the nearest first
        self._below = tuple((self.own + way) % SPACE for way in upwards[: -BELOW - 1 : -1])
        self._leaves = frozenset((*self._below, *self._above))
        self._known = self._leaves.union(self._cells.values())
        self._rows.clear()
        self._hops.clear()
        self.version += 1
