"""The owner's hold on one client process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from experiments.load.nursery import LOG, Child, Nursery, NurseryError
from experiments.load.protocol import (
    Done,
    Failure,
    NodePlan,
    Progress,
    Ready,
    read_event,
)
from experiments.workers.lines import ProtocolError, line
from records.record import Record

TERM_S = 2.0
LOG_LINES = 15


class ClientFailedError(Exception):
    """A client process died or reported an error; the message has the node, the reason and its log's end."""

    def __init__(self, *, node: str, reason: str, log: Path) -> None:
        self.node = node
        self.reason = reason
        tail = "\n".join(f"  {text}" for text in last_lines(log))
        super().__init__(f"client on node {node}: {reason}\n{log}:\n{tail or '  (empty)'}")


def last_lines(log: Path) -> list[str]:
    """The last LOG_LINES lines of a log that may be absent or half written."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 65536))
        return file.read().decode(errors="replace").splitlines()[-LOG_LINES:]
    return []


class Remote:
    """One client process: what it said last, and how it ended.  Made by `started`."""

    def __init__(
        self,
        *,
        plan: NodePlan,
        process: Child,
        log: Path,
        heard: Callable[[], None],
    ) -> None:
        self.plan = plan
        self.log = log
        self.progress: Progress | None = None
        self.ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self.done: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._process = process
        self._heard = heard
        self.listening = asyncio.ensure_future(self._listen())

    @property
    def pid(self) -> int:
        """The client's process id."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether its clients have connected, and nothing is known to be wrong."""
        return self.ready.done() and not self.ready.cancelled() and self.ready.exception() is None

    def tell(self, message: Record) -> None:
        """One line to the client; when it is gone, `done` says why."""
        self._process.stdin.write(line(message))

    async def _listen(self) -> None:
        """Follow the client's lines to their end; whatever happens, `ready` and `done` come to an end too."""
        reason = None
        try:
            while text := await self._process.stdout.readline():
                reason = self._take(text)
                self._heard()
                if reason is not None:
                    break
        except (ProtocolError, ValueError) as error:
            reason = f"it said what nobody understands: {error}"
        if reason is None and not self.done.done():
            reason = f"it ended with {status_text(await self._process.wait())}"
        if reason is not None:
            self._fail(reason)

    def _take(self, text: bytes) -> str | None:
        event = read_event(text)
        match event:
            case Ready() if not self.ready.done():
                self.ready.set_result(event)
            case Progress():
                self.progress = event
            case Done() if not self.done.done():
                self.done.set_result(event)
            case Failure(message=message):
                return message
        return None

    def _fail(self, reason: str) -> None:
        for future in (self.ready, self.done):
            if not future.done():
                future.set_exception(ClientFailedError(node=self.plan.node, reason=reason, log=self.log))
        self._heard()

    async def kill(self) -> None:
        """End it by SIGKILL, as was planned: it does not count as failed."""
        self.listening.cancel()
        self.ready.cancel()
        self.done.cancel()
        self._signal(signal.SIGKILL)
        await self._process.wait()

    async def end(self) -> None:
        """End the process if it lives, and reap it."""
        try:
            self._process.stdin.close()
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), TERM_S)
        finally:
            self._signal(signal.SIGKILL)
            await self._process.wait()
            self._process.close()
            self.listening.cancel()
            for future in (self.ready, self.done):
                if future.done() and not future.cancelled():
                    future.exception()
                future.cancel()

    def _signal(self, number: signal.Signals) -> None:
        # The client leads a session of its own: whatever its stack's driver started goes with it.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def status_text(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # most real-time signals have no name of their own
        return f"signal {-status}"


@asynccontextmanager
async def started(
    plan: NodePlan, *, nursery: Nursery, namespace: int | None, logs: Path, heard: Callable[[], None]
) -> AsyncIterator[Remote]:
    """A client process that has been sent its plan; it is ended and reaped on the way out.

    namespace: a process in whose network namespace it runs.  heard: called after every line.
    """
    log = logs / f"client-{plan.node}.log"
    with log.open("wb") as errors:
        try:
            process = await nursery.child(plan.node, namespace=namespace, errors=errors.fileno())
        except NurseryError as error:
            raise ClientFailedError(node=plan.node, reason=str(error), log=logs / LOG) from error
    remote = Remote(plan=plan, process=process, log=log, heard=heard)
    try:
        remote.tell(plan)
        yield remote
    finally:
        await remote.end()
