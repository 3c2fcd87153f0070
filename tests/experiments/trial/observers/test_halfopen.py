"""Who keeps a connection to a node that has vanished, and until when; over this machine's loopback."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from emulation.kernel.sockdiag import SockDiag
from experiments.trial.observers.halfopen import HalfOpenWatch
from records.manifest import HalfOpen

GONE, OTHER, PEER = "127.7.1.2", "127.7.1.3", "127.7.1.1"


@pytest.fixture
def made() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(made: ExitStack, source: str) -> tuple[socket.socket, socket.socket]:
    """A node's end and the peer's."""
    listener = made.enter_context(socket.create_server((PEER, 0)))
    client = made.enter_context(socket.create_connection(listener.getsockname(), source_address=(source, 0)))
    return client, made.enter_context(listener.accept()[0])


async def settled(watch: HalfOpenWatch, count: int) -> tuple[HalfOpen, ...]:
    """What the watch has found, once so many connections have been given up."""
    while sum(one.left_ns is not None for one in watch.found()) < count:
        await asyncio.sleep(0.01)
    return watch.found()


def test_an_end_that_is_closed_has_been_given_up_and_one_that_stays_has_not(made: ExitStack) -> None:
    stays, gives_up = connected(made, GONE), connected(made, GONE)
    connected(made, OTHER)
    diag = SockDiag()
    made.callback(diag.close)

    async def watched() -> tuple[int, int, tuple[HalfOpen, ...]]:
        watch = HalfOpenWatch({"sta1": GONE, "sta2": OTHER, "server": PEER}, {"server": diag})
        since = time.monotonic_ns()
        await watch.begin("sta1", since)
        closed = time.monotonic_ns()
        # Unread bytes: a close sends RST at once, and no answer is waited for.
        gives_up[0].send(b"x")
        gives_up[1].close()
        found = await asyncio.wait_for(settled(watch, 1), 60)
        await watch.stop()
        return since, closed, found

    since, closed, found = asyncio.run(watched())
    by_port = {one.port: one for one in found}
    assert set(by_port) == {stays[0].getsockname()[1], gives_up[0].getsockname()[1]}
    kept, left = by_port[stays[0].getsockname()[1]], by_port[gives_up[0].getsockname()[1]]
    assert (kept.node, kept.peer, kept.peer_port) == ("sta1", "server", stays[1].getsockname()[1])
    assert (kept.since_ns, kept.left_ns) == (since, None)
    assert kept.until_ns > closed
    assert left.left_ns is not None
    assert left.until_ns == left.left_ns > closed


@pytest.mark.parametrize("back", [True, False])
def test_who_is_back_is_watched_no_more_nor_the_end_of_a_peer_that_is_killed(made: ExitStack, *, back: bool) -> None:
    _, peer = connected(made, GONE)
    diag = SockDiag()
    made.callback(diag.close)

    async def watched() -> tuple[int, HalfOpen]:
        watch = HalfOpenWatch({"sta1": GONE, "sta2": PEER}, {"sta2": diag})
        await watch.begin("sta1", time.monotonic_ns())
        watch.end("sta1") if back else watch.killed("sta2")
        until = time.monotonic_ns()
        peer.close()
        await asyncio.sleep(0.2)  # several looks
        (found,) = watch.found()
        await watch.stop()
        return until, found

    until, found = asyncio.run(watched())
    assert found.left_ns is None
    assert found.since_ns < found.until_ns <= until
