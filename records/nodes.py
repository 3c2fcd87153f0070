"""What happens to nodes during a trial: what was asked, what took effect, and who was there when.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from records.record import Record
from records.sending import time_s
from records.written import Written

NodeEventKind = Literal["kill", "vanish", "join"]


class NodeEvent(Written):
    """at_s: seconds after the window's start.

    kill: the node's processes end by SIGKILL, and its kernel answers for them.  vanish: the node neither sends nor
    hears anything any more, its processes go on.  join: a node whose first event this is starts its clients at that
    moment, and can be reached from then on if it has a service; one that has vanished is reached again.
    """

    at_s: time_s(0, 86_400)  # type: ignore[valid-type]
    node: Annotated[str, Field(min_length=1, max_length=64)]
    event: NodeEventKind

    def __str__(self) -> str:
        return f"{self.node}: {self.event}"


class NodeChange(NodeEvent):
    """An event that was played.

    t_ns: CLOCK_MONOTONIC when it was in force; of a kill, when the node's processes were gone; of a join, when it was
    asked to come.  ready_ns: when the clients that started had connected and subscribed, None: they had not when the
    trial ended, or did not have to, as after vanishing.
    """

    t_ns: int
    ready_ns: int | None = None


class Absence(Record):
    """When a client's connection was cut, when it set out to come back, and when it was back, None = never.

    cause: `away` as the workload says, else the event that took its node off; `join` before its node has joined.
    CLOCK_MONOTONIC nanoseconds.
    """

    left_ns: int
    due_ns: int | None
    back_ns: int | None = None
    cause: Literal["away", "kill", "vanish", "join"] = "away"


E = TypeVar("E", bound=NodeEvent)


def silent(changes: Sequence[NodeChange]) -> frozenset[str]:
    """The nodes that had vanished and had not come back when all of these changes had been made, in this order."""
    return frozenset(node for node, mine in by_node(changes).items() if mine[-1].event == "vanish")


def stopped(changes: Sequence[NodeChange]) -> dict[str, int]:
    """The nodes that went and did not come back, and when (CLOCK_MONOTONIC, ns)."""
    return {node: mine[-1].t_ns for node, mine in by_node(changes).items() if mine[-1].event != "join"}


def late(events: Iterable[NodeEvent]) -> frozenset[str]:
    """The nodes that are not there when a trial begins: those whose first event is to join."""
    first: dict[str, NodeEvent] = {}
    for one in sorted(events, key=lambda one: one.at_s):
        first.setdefault(one.node, one)
    return frozenset(name for name, one in first.items() if one.event == "join")


def killed(events: Iterable[NodeEvent]) -> frozenset[str]:
    """The nodes that do not live to the end."""
    return frozenset(one.node for one in events if one.event == "kill")


def vanishes(events: Iterable[NodeEvent]) -> bool:
    """Whether any node goes without a word."""
    return any(one.event == "vanish" for one in events)


def by_node(events: Iterable[E]) -> dict[str, tuple[E, ...]]:
    """Each node's events, in the order in which they are played."""
    found: dict[str, list[E]] = {}
    for one in sorted(events, key=lambda one: one.at_s):
        found.setdefault(one.node, []).append(one)
    return {name: tuple(some) for name, some in found.items()}


def absences(changes: Iterable[NodeChange], go_ns: int) -> tuple[Absence, ...]:
    """When the clients of a node were not there.  changes: the node's, in order."""
    found: list[Absence] = []
    for one in changes:
        if one.event != "join":
            found.append(Absence(left_ns=one.t_ns, due_ns=None, cause=one.event))
        elif found:
            found[-1] = found[-1].model_copy(update={"due_ns": one.t_ns, "back_ns": one.t_ns})
        else:
            found.append(Absence(left_ns=go_ns, due_ns=one.t_ns, back_ns=one.ready_ns, cause="join"))
    return tuple(found)


def problems(
    events: Sequence[NodeEvent],
    *,
    window_s: float,
    stations: Collection[str],
    others: Mapping[str, str],
    servers: Mapping[str, Collection[str]] = MappingProxyType({}),
    routers: Collection[str] = (),
    never_late: str = "",
) -> Iterator[tuple[tuple[int, str], str]]:
    """What cannot be: the event's index and key, and what is wrong.

    stations: those that have clients.  servers: the hosts of services (stations may be) to which something can happen,
    with the stations whose clients need them.  routers: those of the network.  others: its other nodes, with why
    nothing can happen to them.  never_late: why no station can join late, '' when it can.
    """
    there = tuple(dict.fromkeys((*stations, *servers, *routers)))
    was: dict[str, NodeEvent] = {}
    gone = {name: some[0] for name, some in by_node(events).items() if name in servers and name in late(events)}
    for index, one in sorted(enumerate(events), key=lambda pair: pair[1].at_s):
        if one.at_s >= window_s:
            yield (index, "at_s"), f"{one.at_s:g} s is not inside the window, which lasts {window_s:g} s"
        if one.node not in there:
            why = others.get(one.node, "is no node of this topology")
            yield (index, "node"), f"{one.node!r} {why}: use one of {', '.join(there)}"
            continue
        before = was.get(one.node)
        why = _impossible(one, before)
        if not why and one.node in routers:
            why = _impossible_for_a_router(one, before)
        elif not why:
            why = _impossible_beside(one, before, gone, servers)
        if not why and never_late and one.event == "join" and before is None:
            why = never_late
        if one.node in servers:
            gone.pop(one.node, None)
            if one.event != "join":
                gone[one.node] = one
        if why:
            yield (index, "event"), f"{one.event!r} of {one.node} at {one.at_s:g} s: {why}"
        was[one.node] = one
    if events and stations and set(stations) <= late(events):
        why = "every station that has clients joins later: let one of them be there from the start"
        yield (0, "event"), f"{events[0].event!r}: {why}"


def _impossible_for_a_router(one: NodeEvent, before: NodeEvent | None) -> str:
    if one.event == "kill":
        return "a router has no process of the load: it can only vanish, and join after that"
    if one.event == "join" and before is None:
        return "routers are there from the start: it can only vanish"
    return ""


def _impossible_beside(
    one: NodeEvent, before: NodeEvent | None, gone: Mapping[str, NodeEvent], servers: Mapping[str, Collection[str]]
) -> str:
    """Why an event cannot be, with those servers gone; '' when it can."""
    if one.node in servers:
        if one.event == "join" and before is None and (needing := set(servers[one.node]) - {one.node}):
            return (
                f"clients of {', '.join(sorted(needing))} need its service from the start: it can be killed or vanish"
            )
        if one.event == "kill" and all(name in gone for name in servers if name != one.node):
            return f"no server would be left of {', '.join(servers)}"
    if one.event == "join" and before is None:
        for name, off in gone.items():
            if name != one.node and one.node in servers[name]:
                at = f"{off.at_s:g} s"
                when = f"joins at {at}" if off.event == "join" else f"is gone since {at} ({off.event})"
                return f"its clients need {name}, which {when}"
    return ""


def _impossible(one: NodeEvent, before: NodeEvent | None) -> str:
    """Why an event cannot follow the one before it on the same node, '' when it can."""
    if before is None:
        return ""
    since = f"at {before.at_s:g} s"
    if before.at_s == one.at_s:
        return f"it has another event {since}: give them different times"
    if before.event == "kill":
        return f"it is killed {since}, and nothing follows that: a killed node does not come back"
    if before.event == "vanish" and one.event != "join":
        return f"it vanishes {since}: then it can only join"
    if before.event == "join" and one.event == "join":
        return f"it joins {since} and is there: then it can only be killed or vanish"
    return ""
