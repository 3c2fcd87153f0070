"""Plays what happens to a trial's nodes: each at its moment of the window, whatever another takes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from emulation.kernel.silence import restore, silence
from experiments.load.fleet import Fleet
from experiments.trial.context import TrialContext
from experiments.trial.observers.halfopen import HalfOpenWatch
from experiments.trial.observers.processes import lives
from records.manifest import Consumer, Producer
from records.nodes import NodeChange, NodeEvent, by_node, late
from stacks.driver import from_home

_GONE_S, _POLL_S = 5.0, 0.001  # of a service that has been killed


class Nodes(Protocol):
    """What can be done to nodes; each gives the moment (CLOCK_MONOTONIC ns) when it was in force."""

    async def kill(self, node: str) -> int: ...
    async def vanish(self, node: str) -> int: ...
    async def join(self, node: str) -> int: ...
    def ready_ns(self, node: str) -> int | None:
        """When the clients that joined had connected; None: not yet, or they have been connected all the time."""


async def sleep_until(t_ns: int) -> None:
    """CLOCK_MONOTONIC."""
    await asyncio.sleep(max(0.0, (t_ns - time.monotonic_ns()) / 1e9))


@dataclass(slots=True, kw_only=True)
class NodePlayer:
    """Made by `playing`.  sleep: until a moment of CLOCK_MONOTONIC (ns); a test brings its own."""

    events: Iterable[NodeEvent]
    nodes: Nodes
    sleep: Callable[[int], Awaitable[None]] = sleep_until
    _played: list[NodeChange] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, start_ns: int) -> None:
        """start_ns: the window's start.  The events of one node wait for each other, and for nobody else's."""
        self._tasks = [asyncio.ensure_future(self._play(mine, start_ns)) for mine in by_node(self.events).values()]

    async def ended(self) -> None:
        """Wait until all have been played; raises what was wrong with one."""
        await asyncio.gather(*self._tasks)

    def changes(self) -> tuple[NodeChange, ...]:
        """What has been played, in the order of what was asked."""
        found = [
            one.model_copy(update={"ready_ns": self.nodes.ready_ns(one.node)}) if one.event == "join" else one
            for one in self._played
        ]
        return tuple(sorted(found, key=lambda one: (one.at_s, one.node)))

    async def stop(self) -> None:
        """Play no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _play(self, events: Iterable[NodeEvent], start_ns: int) -> None:
        actions = {"kill": self.nodes.kill, "vanish": self.nodes.vanish, "join": self.nodes.join}
        for one in events:
            await self.sleep(start_ns + round(one.at_s * 1e9))
            t_ns = await actions[one.event](one.node)
            self._played.append(NodeChange(**one.model_dump(), t_ns=t_ns))


class TrialNodes:
    """A network's stations with their clients, its hosts with their services, its routers.  Made by `playing`."""

    def __init__(self, context: TrialContext, clients: Fleet, half_open: HalfOpenWatch) -> None:
        self._context, self._network, self._clients, self._half_open = context, context.network, clients, half_open
        self._homes = [node.name for node, _ in context.placed]
        self._overlay = any(one.overlay for _, one in context.placed)
        # Servers pass on what is not for them, too, where stations are behind them.
        self._forward = {one.name for one in self._network.nodes if self._network.plan.forwards(one.name)}
        self._silent = away(context)
        self._late = set(late(context.settings.nodes))
        self._started: set[str] = set()

    async def kill(self, node: str) -> int:
        """End the node's client, or its services, by SIGKILL.  TimeoutError when a service outlives that."""
        self._half_open.killed(node)
        services = [one for one in self._context.running if one.node == node]
        if services:
            self._excuse_clients_of(node)
        # At the same time: a client that is killed leaves its ledger first, which takes a while.
        ends = [_gone_ns(one.pid) for one in services]
        if node in self._clients.pids:
            ends.append(self._clients.kill(node))
        return max(await asyncio.gather(*ends), default=0)

    async def vanish(self, node: str) -> int:
        """Cut the node off; KernelError when that fails."""
        if node in self._forward:
            self._excuse_everybody()
        if node in self._homes:
            self._excuse_clients_of(node)
        if node in self._clients.pids:
            self._clients.vanished(node)
        await asyncio.to_thread(silence, *self._place(node))
        self._silent.add(node)
        now = time.monotonic_ns()
        await self._half_open.begin(node, now)
        return now

    async def join(self, node: str) -> int:
        """Let a node be reached that is silent, and start its clients unless they have been there before."""
        if node in self._silent:
            self._half_open.end(node)
            await asyncio.to_thread(restore, *self._place(node))
            self._silent.discard(node)
        now = time.monotonic_ns()
        if node not in self._clients.pids:
            return now
        if node in self._late:
            self._late.discard(node)
            self._started.add(node)
            self._clients.join(node)
        else:
            self._clients.reached_again(node)
        return now

    def ready_ns(self, node: str) -> int | None:
        """Of nodes whose clients were started late."""
        return self._clients.ready_ns(node) if node in self._started else None

    async def restore(self) -> None:
        """Let everybody be reached again who is not."""
        for node in sorted(self._silent):
            await asyncio.to_thread(restore, *self._place(node))
        self._silent.clear()

    def _excuse_clients_of(self, host: str) -> None:
        """Clients whose channels are at home on a host may lose their connections; an overlay's are at their own."""
        if not self._overlay:
            self._excuse(lambda client: from_home(self._homes, client.topic)[0] == host)

    def _excuse_everybody(self) -> None:
        """Behind a router that is gone anybody's connection may give up, and whose is is told by the ledger."""
        self._excuse(lambda _: True)

    def _excuse(self, may: Callable[[Producer | Consumer], bool]) -> None:
        work = self._context.workload
        for station in {one.node for one in (*work.producers, *work.consumers)}:
            self._clients.excuse(
                station,
                producers=[one.id for one in work.producers if one.node == station and may(one)],
                consumers=[one.id for one in work.consumers if one.node == station and may(one)],
            )

    def _place(self, node: str) -> tuple[int, list[str]]:
        found = self._network.node(node)
        return found.pid, [one.name for one in found.interfaces]


def away(context: TrialContext) -> set[str]:
    """The hosts of services that join later: nobody reaches them before that, though their services run."""
    return {node.name for node, _ in context.placed} & late(context.settings.nodes)


async def keep_away(context: TrialContext) -> None:
    """Cut off those that join later.  KernelError when that fails."""
    for name in sorted(away(context)):
        node = context.network.node(name)
        await asyncio.to_thread(silence, node.pid, [one.name for one in node.interfaces])


async def _gone_ns(pid: int) -> int:
    """End a process, and say when it was gone."""
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(_GONE_S):
        while lives(pid):
            await asyncio.sleep(_POLL_S)
    return time.monotonic_ns()


@asynccontextmanager
async def playing(context: TrialContext, clients: Fleet, half_open: HalfOpenWatch) -> AsyncIterator[NodePlayer]:
    """Have a player ready.  On the way out all nodes can be reached again; killed ones stay so."""
    nodes = TrialNodes(context, clients, half_open)
    player = NodePlayer(events=context.settings.nodes, nodes=nodes)
    try:
        yield player
    finally:
        await player.stop()
        await nodes.restore()
