"""The client for programs without an event loop: every call returns when it is done.

A thread has the loop and the connection.  Handlers run in threads of their own and may call the client.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self, TypeVar

from stacks.channel import opened
from stacks.driver import Endpoint, StackError
from stacks.iris import relay
from stacks.iris.backlog import Backlog, log
from stacks.iris.client import Application, TimedOutError
from stacks.iris.tunnel import Tunnel

T = TypeVar("T")

LIMIT_S = 30.0
_LAST_S = 1.0  # what still runs when the connection has ended has as long


class BlockingTunnel:
    """Ordered messages between this application and another.  Made by `BlockingClient.open_tunnel`.

    What `receive` has not taken waits here up to stacks.iris.tunnel.ROOM_BYTES, and then at the sender.
    """

    def __init__(self, client: BlockingClient, tunnel: Tunnel) -> None:
        self._client, self._tunnel = client, tunnel
        self._came: Queue[bytes | None] = Queue()  # None: there is nothing more
        tunnel.on_message, tunnel.on_demand = self._came.put, True
        tunnel.on_end = partial(self._came.put, None)
        if tunnel.over is not None:  # before anybody could be told
            self._came.put(None)

    def send(self, data: bytes) -> None:
        """Returns when the node has all of it; StackError when the tunnel has ended."""

        async def sent() -> None:
            await self._tunnel.send(data)

        self._client.do(sent())

    def receive(self, timeout_s: float = LIMIT_S) -> bytes:
        """The next message; TimedOutError where none comes in time, StackError when the tunnel has ended."""
        try:
            message = self._came.get(timeout=timeout_s)
        except Empty:
            raise TimedOutError(f"no message within {timeout_s:g} s") from None
        if message is None:
            self._came.put(None)
            raise StackError(self._tunnel.over or "the tunnel has ended")
        self._client.later(partial(self._tunnel.repay, len(message)))
        return message

    def drop(self) -> None:
        """Close it, if its client is not closed itself."""
        with suppress(StackError):
            self.close()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._tunnel.over is not None

    def close(self) -> None:
        """End it, behind what was sent."""

        async def closed() -> None:
            self._tunnel.close()

        self._client.do(closed())


class BlockingClient:
    """A connection to the node on this host, as a member of a cluster or of none.

    on_request: makes the reply to a request; what it raises is the caller's FaultError.  on_broadcast: every broadcast
    to the cluster, one after the other.  on_tunnel: every tunnel that is opened to this member, each in a thread of its
    own; when it fails the tunnel is closed.  workers: how many requests are answered at once.  Of broadcasts and
    events, and of requests, 64 MiB wait for a handler; what comes above is dropped and counted (`dropped`), a request
    answered with a fault.  StackError where there is no node, or where it does not take the application.
    """

    def __init__(
        self,
        cluster: str = "",
        *,
        host: str = "127.0.0.1",
        port: int = relay.PORT,
        on_request: Callable[[bytes], bytes] | None = None,
        on_broadcast: Callable[[bytes], None] | None = None,
        on_tunnel: Callable[[BlockingTunnel], None] | None = None,
        workers: int = 8,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="iris", daemon=True)
        self._thread.start()
        self._lock, self._ending = threading.Lock(), False
        self._answering = Backlog(workers, "iris-request")
        self._hearing = Backlog(1, "iris-event")
        self._on_request = on_request

        async def entered() -> Application:
            made = await opened(Application, Endpoint(host=host, port=port))
            made.on_request = self._requested if on_request else None
            if on_broadcast:
                made.on_broadcast = partial(self._hear, on_broadcast)
            if on_tunnel:
                made.on_tunnel = lambda tunnel: self._offered(on_tunnel, BlockingTunnel(self, tunnel))
            try:
                await made.enter(cluster)
            except BaseException:
                made.abort()
                raise
            return made

        try:
            self._application = self.do(entered())
        except BaseException:
            self._end()
            raise

    def request(self, cluster: str, data: bytes, timeout_s: float = LIMIT_S) -> bytes:
        """The reply of any one member of a cluster; FaultError or TimedOutError where there is none."""

        async def asked() -> bytes:
            return await self._application.request(cluster, data, round(timeout_s * 1000))

        return self.do(asked())

    def broadcast(self, cluster: str, data: bytes) -> None:
        """Have every member of a cluster hear something."""

        async def said() -> None:
            await self._application.broadcast(cluster, data)

        self.do(said())

    def publish(self, topic: str, data: bytes) -> None:
        """Have every subscriber of a topic hear something."""

        async def said() -> None:
            await self._application.publish(topic, data)

        self.do(said())

    def subscribe(self, topic: str, on_event: Callable[[bytes], None]) -> None:
        """Hear what is published to a topic from now on, one event after the other."""

        async def said() -> None:
            self._application.subscribe(topic, partial(self._hear, on_event))

        self.do(said())

    def unsubscribe(self, topic: str) -> None:
        """Hear nothing of it any more."""

        async def said() -> None:
            self._application.unsubscribe(topic)

        self.do(said())

    def open_tunnel(self, cluster: str, timeout_s: float = LIMIT_S) -> BlockingTunnel:
        """A tunnel to any one member of a cluster; TimedOutError where none has taken it in time."""

        async def made() -> BlockingTunnel:
            return BlockingTunnel(self, await self._application.open_tunnel(cluster, round(timeout_s * 1000)))

        return self.do(made())

    def close(self) -> None:
        """Leave, when the node has taken all that was said before."""
        try:
            if not self._ending:
                self.do(self._application.close())
        finally:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the client's loop, and wait for it; StackError when the client is closed."""
        with self._lock:  # what is begun before the end begins is ended by it
            if self._ending or not self._thread.is_alive():
                coroutine.close()
                raise StackError("the client is closed")
            asked = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return asked.result()
        except CancelledError:
            raise StackError("the client is closed") from None

    def later(self, work: Callable[[], None]) -> None:
        """Have the client's loop do something soon, if there still is one."""
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(work)

    @property
    def dropped(self) -> int:
        """Broadcasts, events and requests for which there was no room."""
        return self._answering.dropped + self._hearing.dropped

    def _requested(self, data: bytes | bytearray, reply: Callable[..., None]) -> None:
        """In the loop: have a worker make the reply."""

        def answer() -> None:
            assert self._on_request
            try:
                body, success = self._on_request(bytes(data)), True
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller has to know
                body, success = f"{type(error).__name__}: {error}".encode(), False
            self.later(partial(reply, body, success=success))

        if not self._answering.add(len(data), answer):
            reply(b"too many requests wait here", success=False)

    def _hear(self, handler: Callable[[bytes], None], event: bytes) -> None:
        self._hearing.add(len(event), partial(handler, event))

    def _offered(self, handler: Callable[[BlockingTunnel], None], tunnel: BlockingTunnel) -> None:
        """In the loop: give the tunnel a thread of its own."""

        def serve() -> None:
            try:
                handler(tunnel)
            except StackError:
                if not tunnel.over:
                    log.exception("the handler of a tunnel has failed")
                    tunnel.drop()
            except Exception:  # noqa: BLE001 - whatever it is, nobody else would hear of it
                log.exception("the handler of a tunnel has failed")
                tunnel.drop()

        threading.Thread(target=serve, name="iris-tunnel", daemon=True).start()

    async def _stop(self) -> None:
        """Stop the loop when what other threads wait for has failed, and they have heard of it."""
        waited_for = asyncio.all_tasks() - {asyncio.current_task()}
        if waited_for:
            await asyncio.wait(waited_for, timeout=_LAST_S)
        for task in waited_for:
            task.cancel()
        await asyncio.sleep(0)
        self._loop.call_soon(self._loop.stop)

    def _end(self) -> None:
        with self._lock:
            self._ending = True
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop)
            self._thread.join()
            self._loop.close()
        for pool in (self._answering, self._hearing):
            pool.end()
