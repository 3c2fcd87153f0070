"""However a client or its owner ends, the other knows, and no process stays."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from load_runs import LOOPBACK, MS, ROOT, alive, node_plan, warm_fleet, warm_server

from experiments.load.fleet import Fleet, FleetTimeoutError, Member, fleet
from experiments.load.nursery import NurseryError, nursery
from experiments.load.owner import OWNER_GONE
from experiments.load.protocol import Go, Times, read_event
from experiments.load.remote import ClientFailedError, started
from experiments.workers.lines import line

CLIENT = [sys.executable, "-m", "experiments.load.client"]


def fail(folder: Path, kind: type[Exception], story: Callable[[Fleet, list[int]], Awaitable[None]], **more) -> str:
    """Run a story on a fleet of one that must end in `kind`; its message, after checking that nothing is left."""
    pids: list[int] = []

    async def whole() -> None:
        async with warm_server() as port:
            plan = node_plan(folder, **({"port": port} | more))
            async with asyncio.timeout(200), warm_fleet([Member(plan=plan)], logs=folder) as running:
                pids.extend(running.pids.values())
                await story(running, pids)

    with pytest.raises(kind) as caught:
        asyncio.run(whole())
    assert len(pids) == 1
    assert not any(map(alive, pids))
    return str(caught.value)


async def going(running: Fleet, seconds: float) -> None:
    await running.ready(timeout_s=120)
    now = time.monotonic_ns()
    await running.go(go_ns=now, start_ns=now, end_ns=now + round(seconds * 1e9))


def test_a_killed_client_is_named_with_its_signal(tmp_path: Path) -> None:
    async def story(running: Fleet, pids: list[int]) -> None:
        await going(running, 30)
        os.kill(pids[0], signal.SIGKILL)
        await running.drain(limit_s=30, quiet_s=30)

    message = fail(tmp_path, ClientFailedError, story)
    assert "client on node sta1: it ended with signal SIGKILL" in message
    assert "client-sta1.log" in message


def test_a_frozen_client_is_a_timeout_that_names_it_and_is_ended(tmp_path: Path) -> None:
    async def story(running: Fleet, pids: list[int]) -> None:
        await going(running, 0.2)
        os.kill(pids[0], signal.SIGSTOP)
        drained = await running.drain(limit_s=1, quiet_s=0.5)
        assert drained.reason == "limit"
        await running.finish(timeout_s=0.5)

    assert fail(tmp_path, FleetTimeoutError, story) == "not done after 0.5 s: sta1"


def test_a_server_that_is_not_there_is_named_with_its_address(tmp_path: Path) -> None:
    async def story(running: Fleet, pids: list[int]) -> None:
        await running.ready(timeout_s=120)

    with socket.socket() as closed:
        closed.bind((LOOPBACK, 0))
        port = closed.getsockname()[1]
        message = fail(tmp_path, ClientFailedError, story, port=port)
    assert f"on node sta1 at {LOOPBACK}:{port}" in message
    assert "Connection refused" in message


def test_a_server_that_never_answers_is_a_clear_error(tmp_path: Path) -> None:
    async def story(running: Fleet, pids: list[int]) -> None:
        await running.ready(timeout_s=120)

    with socket.socket() as silent:
        silent.bind((LOOPBACK, 0))
        silent.listen(16)
        port = silent.getsockname()[1]
        message = fail(tmp_path, ClientFailedError, story, port=port, connect_timeout_s=0.3)
    assert "no answer within 0.3 s" in message


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"stack": "rabbit"}, "stack 'rabbit' is not one of"),
        ({"work": {"guarantee": {"delivery": "persistent"}}}, "keeps messages in memory only"),
        ({"out_dir": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_a_plan_that_cannot_be_done_is_refused_before_the_start(
    tmp_path: Path, more: dict[str, object], words: str
) -> None:
    async def story(running: Fleet, pids: list[int]) -> None:
        await running.ready(timeout_s=120)

    assert words in fail(tmp_path, ClientFailedError, story, **more)


def test_a_network_that_is_gone_is_named_by_what_the_client_wrote_to_stderr(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()

    async def whole() -> None:
        member = Member(plan=node_plan(tmp_path, 1), namespace=gone.pid)
        async with fleet([member], logs=tmp_path) as running:
            await running.ready(timeout_s=120)

    with pytest.raises(
        ClientFailedError, match=rf"(?s)it ended with exit status 2.*No such file.*/proc/{gone.pid}/ns/net"
    ):
        asyncio.run(whole())


@pytest.mark.parametrize("when", ["before any client", "with clients"])
def test_a_nursery_that_ends_takes_its_clients_along_and_is_named(tmp_path: Path, when: str) -> None:
    pids: list[int] = []

    async def whole() -> None:
        async with warm_server() as port, nursery(tmp_path) as clients:
            if when == "with clients":
                plan = node_plan(tmp_path, port)
                async with started(plan, nursery=clients, namespace=None, logs=tmp_path, heard=lambda: None) as remote:
                    pids.append(remote.pid)
                    await remote.ready
                    os.kill(clients.pid, signal.SIGKILL)
                    await remote.done
            os.kill(clients.pid, signal.SIGKILL)
            await clients.child("sta1", namespace=None, errors=2)

    words = "it ended with signal SIGKILL" if when == "with clients" else "no client can be started|forked off ended"
    with pytest.raises((ClientFailedError, NurseryError), match=words):
        asyncio.run(whole())
    deadline = time.monotonic() + 30  # the kernel ends them after it, and nobody here waits for them
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(alive, pids))


def client(first: bytes) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(CLIENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    process.stdin.write(first)
    process.stdin.flush()
    return process


@pytest.mark.parametrize("when", ["before the plan", "while connecting", "ready", "publishing"])
def test_a_client_whose_owner_is_gone_ends_and_leaves_nothing(tmp_path: Path, when: str) -> None:
    async def story() -> int:
        async with warm_server() as port:
            return await asyncio.to_thread(_orphan, tmp_path, port, when)

    with socket.socket() as silent:
        silent.bind((LOOPBACK, 0))
        silent.listen(16)
        if when == "while connecting":
            status = _orphan(tmp_path, silent.getsockname()[1], when)
        else:
            status = asyncio.run(story())
    assert status == OWNER_GONE
    assert list(tmp_path.iterdir()) == []


def _orphan(folder: Path, port: int, when: str) -> int:
    if when == "before the plan":
        return subprocess.run(CLIENT, input=b"", capture_output=True, cwd=ROOT, check=False).returncode
    process = client(line(node_plan(folder, port)))
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if when != "while connecting":
            assert read_event(process.stdout.readline()).event == "ready"
        if when == "publishing":
            now = time.monotonic_ns()
            process.stdin.write(line(Go(go=Times(go_ns=now, start_ns=now, end_ns=now + 60_000 * MS))))
            process.stdin.flush()
            assert read_event(process.stdout.readline()).event == "progress"
        process.stdin.close()
        return process.wait(30)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_nonsense_instead_of_a_plan_is_an_error_event_and_status_1() -> None:
    with client(b"{}\n") as process:
        assert process.stdout is not None
        event = read_event(process.stdout.readline())
        assert process.wait(30) == 1
    assert event.event == "error"
    assert "node: Field required" in event.message
