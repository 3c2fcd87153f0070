"""The client without an event loop, over real nodes: the four patterns, faults and ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import Queue

import pytest
from free_ports import free_ports
from iris_nodes import nodes_here, run

from stacks.driver import StackError
from stacks.iris import relay
from stacks.iris.backlog import Backlog
from stacks.iris.blocking import BlockingClient, BlockingTunnel
from stacks.iris.client import FaultError, TimedOutError
from stacks.iris.tunnel import REPAY_BYTES, ROOM_BYTES, Tunnel


def told(story: Callable[[int, int], None]) -> None:
    """Run a story in a thread, with the relay ports of two nodes."""

    async def talk() -> None:
        async with nodes_here(2) as nodes:
            await asyncio.to_thread(story, *nodes.relays)

    run(talk)


def shouted(data: bytes) -> bytes:
    if not data:
        raise ValueError("nothing to shout")
    return data.upper()


def test_requests_are_answered_and_faults_and_time_outs_are_told() -> None:
    def story(one: int, other: int) -> None:
        wait = threading.Event()

        def slow(data: bytes) -> bytes:
            wait.wait(30)
            return data

        with (
            BlockingClient("shouters", port=other, on_request=shouted),
            BlockingClient("slow", port=other, on_request=slow),
            BlockingClient(port=one) as client,
        ):
            assert client.request("shouters", b"hello") == b"HELLO"
            with pytest.raises(FaultError, match="ValueError: nothing to shout"):
                client.request("shouters", b"")
            with pytest.raises(FaultError, match="no member"):
                client.request("nobody", b"x")
            with pytest.raises(TimedOutError):
                client.request("slow", b"x", timeout_s=0.3)
            wait.set()

    told(story)


def test_broadcasts_and_events_come_in_a_thread_of_their_own() -> None:
    def story(one: int, other: int) -> None:
        heard: Queue[bytes] = Queue()
        with (
            BlockingClient("group", port=one, on_broadcast=heard.put),
            BlockingClient("group", port=other, on_broadcast=heard.put) as member,
            BlockingClient(port=one) as client,
        ):
            member.subscribe("news", heard.put)
            while heard.empty():  # until the subscription has found its way
                client.publish("news", b"event")
                threading.Event().wait(0.05)
            member.unsubscribe("news")
            client.broadcast("group", b"all")
            found = [heard.get(timeout=30)]
            while found.count(b"all") < 2:
                found.append(heard.get(timeout=30))
            assert set(found) == {b"event", b"all"}

    told(story)


def test_a_tunnel_carries_messages_both_ways() -> None:
    def story(one: int, other: int) -> None:
        def echo(tunnel: BlockingTunnel) -> None:
            tunnel.send(tunnel.receive()[::-1])

        with BlockingClient("echo", port=other, on_tunnel=echo), BlockingClient(port=one) as client:
            tunnel = client.open_tunnel("echo")
            tunnel.send(b"ab" * 100_000)
            assert tunnel.receive() == b"ba" * 100_000
            with pytest.raises(TimedOutError):
                tunnel.receive(timeout_s=0.05)
            tunnel.close()
            for _ in range(2):
                with pytest.raises(StackError, match="the tunnel is closed"):
                    tunnel.receive(timeout_s=600)  # at once

    told(story)


def test_a_tunnel_that_has_ended_before_anybody_had_it_says_so_at_once() -> None:
    tunnel = Tunnel(lambda _: None, 7)
    tunnel.heard(relay.TunnelClosed(7, "the other end is gone"))
    late = BlockingTunnel(None, tunnel)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(StackError, match="the other end is gone"):
            late.receive(timeout_s=0)


def test_tunnels_are_served_side_by_side_and_one_whose_handler_fails_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def story(one: int, other: int) -> None:
        heard: Queue[bytes] = Queue()

        def serve(tunnel: BlockingTunnel) -> None:
            while True:
                if not (message := tunnel.receive()).isalpha():
                    raise ValueError(message)
                tunnel.send(message.upper())

        with (
            BlockingClient("echo", port=other, on_tunnel=serve, on_broadcast=heard.put),
            BlockingClient(port=one) as client,
        ):
            tunnels = [client.open_tunnel("echo") for _ in range(3)]
            for tunnel in tunnels:
                tunnel.send(b"hello")
                assert tunnel.receive() == b"HELLO"
            client.broadcast("echo", b"all")
            assert heard.get(timeout=30) == b"all"
            tunnels[0].send(b"1")
            with pytest.raises(StackError, match="the tunnel is closed"):
                tunnels[0].receive()
            tunnels[1].send(b"on")
            assert tunnels[1].receive() == b"ON"

    told(story)
    assert [record.message for record in caplog.records] == ["the handler of a tunnel has failed"]


def test_a_client_that_is_closed_or_finds_no_node_says_so() -> None:
    def story(one: int, other: int) -> None:
        client = BlockingClient(port=one)
        client.close()
        client.close()
        with pytest.raises(StackError, match="the client is closed"):
            client.publish("news", b"x")
        threads = {thread.name for thread in threading.enumerate()}
        with pytest.raises(StackError, match="cannot connect"):
            BlockingClient(port=free_ports(1)[0])
        assert {thread.name for thread in threading.enumerate()} == threads

    told(story)


def test_calls_that_meet_the_end_of_their_client_end_too() -> None:
    def story(one: int, _: int) -> None:
        for _ in range(20):
            client = BlockingClient(port=one)
            ends = Queue[BaseException]()

            def calls(client: BlockingClient = client, ends: Queue[BaseException] = ends) -> None:
                try:
                    while True:
                        client.publish("news", b"x")
                except BaseException as error:  # noqa: BLE001 - the test looks at it
                    ends.put(error)

            threads = [threading.Thread(target=calls, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            client.close()
            assert [type(ends.get(timeout=20)) for _ in threads] == [StackError] * 4

    told(story)


def test_a_node_that_ends_ends_what_waits_for_it() -> None:
    ended: list[str] = []

    async def talk() -> None:
        async with nodes_here(2) as nodes:
            asked = threading.Event()

            def answer(data: bytes) -> bytes:
                asked.set()
                threading.Event().wait(0.5)
                return data

            def story() -> None:
                with (
                    BlockingClient("slow", port=nodes.relays[1], on_request=answer),
                    BlockingClient(port=nodes.relays[0]) as client,
                    pytest.raises(StackError, match="closed the connection"),
                ):
                    client.request("slow", b"x", timeout_s=500)
                with pytest.raises(StackError, match="cannot connect"):
                    BlockingClient(port=nodes.relays[0])
                ended.append("all")

            told = asyncio.create_task(asyncio.to_thread(story))
            await asyncio.to_thread(asked.wait)
        await told

    run(talk)
    assert ended == ["all"]


def test_what_a_slow_reader_has_not_taken_is_not_allowed_again() -> None:
    said: list[relay.Message] = []
    came: list[bytes] = []
    tunnel = Tunnel(said.append, 7)
    tunnel.on_message, tunnel.on_demand = came.append, True
    tunnel.begin()
    for _ in range(ROOM_BYTES // relay.CHUNK_LIMIT):
        tunnel.heard(relay.TunnelData(7, relay.CHUNK_LIMIT, bytes(relay.CHUNK_LIMIT)))
    assert said == [relay.TunnelAllow(7, ROOM_BYTES)]
    for message in came:
        tunnel.repay(len(message))
    again = said[1:]
    assert all(isinstance(one, relay.TunnelAllow) and one.bytes >= REPAY_BYTES for one in again)
    assert sum(one.bytes for one in again if isinstance(one, relay.TunnelAllow)) == ROOM_BYTES


def test_a_message_that_is_larger_than_the_room_still_comes_whole() -> None:
    said: list[relay.Message] = []
    came: list[int] = []
    tunnel = Tunnel(said.append, 7)
    tunnel.on_message, tunnel.on_demand = (lambda message: came.append(len(message))), True
    tunnel.begin()
    size, allowed = ROOM_BYTES + relay.CHUNK_LIMIT, 0
    for at in range(0, size, relay.CHUNK_LIMIT):
        allowed += sum(one.bytes for one in said if isinstance(one, relay.TunnelAllow))
        said.clear()
        assert allowed >= relay.CHUNK_LIMIT, "nobody could send on"
        allowed -= relay.CHUNK_LIMIT
        tunnel.heard(relay.TunnelData(7, size if at == 0 else 0, bytes(relay.CHUNK_LIMIT)))
    assert came == [size]
    tunnel.repay(size)
    assert said == [], "it was repaid as it came"


def test_a_backlog_has_its_room_and_counts_what_it_dropped() -> None:
    busy, done = threading.Event(), Queue[int]()
    backlog = Backlog(1, "test", room=100)
    begun = threading.Event()

    def block() -> None:
        begun.set()
        busy.wait(30)

    assert backlog.add(1000, block), "something is taken whatever its size where nothing waits"
    assert begun.wait(30)
    assert [backlog.add(40, lambda number=number: done.put(number)) for number in range(4)] == [
        True,
        True,
        False,
        False,
    ]  # type: ignore[misc]
    assert backlog.dropped == 2
    busy.set()
    assert [done.get(timeout=30), done.get(timeout=30)] == [0, 1]
    backlog.end()


def test_events_that_nobody_comes_to_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.iris.blocking.Backlog", partial(Backlog, room=1000))

    def story(one: int, other: int) -> None:
        busy, heard = threading.Event(), Queue[bytes]()

        def slow(data: bytes) -> None:
            busy.wait(30)
            heard.put(data)

        with (
            BlockingClient("group", port=other, on_broadcast=slow) as member,
            BlockingClient(port=one) as client,
        ):
            while not member.dropped:
                client.broadcast("group", bytes(400))
                threading.Event().wait(0.01)
            busy.set()
            assert len(heard.get(timeout=30)) == 400

    told(story)
