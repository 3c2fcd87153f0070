"""A server that is killed and started again: what it has kept of what it had answered, and what it had synced.

`python -m experiments.conformance.restart` reads a Task (one JSON line) and answers with Restarted or Failed.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

from pydantic import TypeAdapter

from emulation.kernel.namespace import in_namespace, throwaway_namespace
from experiments.conformance import syncs
from experiments.deploy import INSTALL_LIMIT_S, Action, Target, apply, certify, role_call, service_pid
from experiments.workers.isolation import isolated, module
from experiments.workers.lines import ProtocolError, read_any
from experiments.workers.worker import Failed, Workers, asked_for
from records.messaging import Ack, Delivery
from records.record import Record
from stacks import registry
from stacks.driver import Connection, Here, Publishing, Stack, StackError, Subscribing, Subscription
from stacks.knobs import KnobValue

MESSAGES = 20
_SERVER = "server"
_LOOPBACK = "127.0.0.1"
_TOPIC = "kept"
_DEPLOY_LIMIT_S = 300.0
_TALK_LIMIT_S = 60.0
_ARRIVAL_LIMIT_S = 10.0  # what the broker has kept comes within a second


class Task(Record):
    """folder: takes the server's files."""

    stack: str
    knobs: dict[str, KnobValue]
    folder: str


class Restarted(Record):
    """Of the messages that were answered, how many a sync to disk was done for, and how many were there afterwards."""

    event: Literal["restarted"] = "restarted"
    answered: int
    synced: int
    arrived: int


_ANSWER: TypeAdapter[Restarted | Failed] = TypeAdapter(Restarted | Failed)


def tried(task: Task, *, messages: IO[str]) -> Restarted | str:
    """What becomes of a stack's messages, or why that cannot be told.

    messages: where what is said on standard error goes.  Takes root.  Raises DeployError when the stack's servers
    cannot be installed: that is done here, where there is a network, and where an interrupt lets it end.
    """
    roles = tuple(role_call(one) for one in registry.get(task.stack, task.knobs).services())
    machine = Target(name="this-machine", address=_LOOPBACK, pid=os.getpid(), roles=roles)
    apply(["install"], [machine], scratch=Path(task.folder), timeout_s=INSTALL_LIMIT_S)
    with Workers().started(
        isolated("host", module("experiments.conformance.restart")), task.model_dump_json(), messages=messages
    ) as worker:
        for line in worker.answers:
            try:
                answer = read_any(line, _ANSWER)
            except ProtocolError:  # half a line of one that was killed
                break
            return answer.message if isinstance(answer, Failed) else answer
    return "its process ended before it had an answer"


def restarted(stack: Stack, folder: Path) -> Restarted:
    """Publish to a durable subscriber that has left, kill the servers, start them again, and let it come back.

    Raises what deploying raises, CannotGoOn where syncs cannot be seen, StackError where the stack refuses something.
    """
    with throwaway_namespace() as namespace:
        roles = tuple(role_call(one) for one in stack.services())
        target = Target(name=_SERVER, address=_LOOPBACK, pid=namespace, roles=roles)

        def do(*actions: Action) -> None:
            apply(actions, [target], scratch=folder, timeout_s=_DEPLOY_LIMIT_S)

        def run(talk: Callable[[], Awaitable[None]]) -> None:
            in_namespace(namespace, lambda: asyncio.run(_limited(talk)))

        clients = _Clients(stack, certify(((_SERVER, _LOOPBACK, one) for one in stack.services()), scratch=folder))
        do("configure", "start")
        try:
            run(clients.subscribe_and_leave)
            pids = [service_pid(scratch=folder, target=_SERVER, name=one.name) for one in stack.services()]
            log = folder / "syncs"
            with syncs.watched(pids, log):
                run(clients.publish)
            for pid in pids:
                _kill(pid)
            do("start")
            run(clients.come_back)
        finally:
            do("stop")
    done = syncs.ends(log.read_text())
    answered = len(clients.spans)
    return Restarted(answered=answered, synced=syncs.covered(clients.spans, done), arrived=len(clients.arrived))


class _Clients:
    """spans: from the begin of each send to its answer, in seconds since the epoch.  arrived: bodies, each once.

    authority: as experiments.deploy.certify gives it.
    """

    def __init__(self, stack: Stack, authority: str) -> None:
        self._stack = stack
        self._services = [one.at(_LOOPBACK, authority=authority) for one in stack.services()]
        self.spans: list[tuple[float, float]] = []
        self.arrived: set[bytes] = set()

    async def subscribe_and_leave(self) -> None:
        """The provider knows the subscriber from here on."""
        await (await self._subscriber()).close()

    async def publish(self) -> None:
        """One message after another, each answered before the next."""
        connection = await self._connected("publisher")
        assert isinstance(connection, Publishing)
        publisher = await connection.publisher(_TOPIC, delivery=Delivery.PERSISTENT)
        for number in range(MESSAGES):
            begun = time.time()
            await publisher.send(b"message %d" % number)
            self.spans.append((begun, time.time()))
        await connection.close()

    async def come_back(self) -> None:
        """Take what is there."""
        connection = await self._subscriber()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ARRIVAL_LIMIT_S):
                while len(self.arrived) < len(self.spans) and not connection.lost:
                    await asyncio.sleep(0.01)
        with suppress(StackError):
            await connection.close()

    async def _subscriber(self) -> Connection:
        connection = await self._connected("subscriber")
        assert isinstance(connection, Subscribing)
        await connection.subscribe(
            _TOPIC,
            lambda body, _: self.arrived.add(bytes(body)),
            subscription=Subscription(name="kept"),
            ack=Ack.AUTO,
        )
        return connection

    async def _connected(self, client_id: str) -> Connection:
        return await self._stack.connect(Here(node=_SERVER, address=_LOOPBACK), self._services, client_id)


async def _limited(talk: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.timeout(_TALK_LIMIT_S):
        await talk()


def _kill(pid: int) -> None:
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(_TALK_LIMIT_S * 1000)
    finally:
        os.close(handle)


def main() -> int:
    """Answer the task that standard input says."""
    task, say = asked_for(Task)
    try:
        say(restarted(registry.get(task.stack, task.knobs), Path(task.folder)))
    except Exception as error:  # noqa: BLE001 - the owner says it
        say(Failed(kind=type(error).__name__, message=str(error) or repr(error)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
