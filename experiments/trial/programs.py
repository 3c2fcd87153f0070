"""A trial's programs: which command runs on which node, with what in place of its placeholders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from emulation.kernel.namespace import prefix
from experiments.load.program_fleet import ClientProgram, Programs, ServerProgram, programs
from experiments.load.programs import Place
from experiments.trial.context import TrialContext
from records.commands import fill
from records.workload import Command
from topologies.network import Node


@asynccontextmanager
async def running(context: TrialContext, work: Command) -> AsyncIterator[Programs]:
    """Servers' programs ready, and clients' to be started; ProgramError as of experiments.load.programs."""
    servers = [_server(context, work, node) for node in context.network.servers] if work.server else []
    clients = [_client(context, work, number, node) for number, node in enumerate(context.network.stations)]
    drain_s = context.settings.window.drain_s
    async with programs(work, servers=servers, clients=clients, drain_s=drain_s) as found:
        yield found


def _server(context: TrialContext, work: Command, node: Node) -> ServerProgram:
    assert work.server is not None
    words = fill(work.server.command, _values(context, node, server=node))
    return ServerProgram(asked=work.server, words=words, place=_place(context, node), pid=node.pid)


def _client(context: TrialContext, work: Command, number: int, node: Node) -> ClientProgram:
    """Stations are dealt out to the servers in turn."""
    servers = context.network.servers
    server = servers[number % len(servers)]
    words = fill(work.client.command, _values(context, node, server=server))
    told = any("{server}" in word for word in work.client.command)
    return ClientProgram(
        station=node.name, server=server.name if told else "", words=words, place=_place(context, node)
    )


def _values(context: TrialContext, node: Node, *, server: Node) -> dict[str, str]:
    return {
        "server": server.address,
        "seed": str(context.spec.seed),
        "station": node.name,
        "duration": f"{context.settings.window.window_s:g}",
    }


def _place(context: TrialContext, node: Node) -> Place:
    home: Path = context.client_folder(node.name)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Place(name=node.name, prefix=prefix(node.pid), home=home, logs=context.folder / "logs")
