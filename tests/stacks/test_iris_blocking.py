"""The client without an event loop, over real nodes: the four patterns, faults and ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Queue

import pytest
from free_ports import free_ports
from iris_nodes import nodes_here, run

from stacks.driver import StackError
from stacks.iris.blocking import BlockingClient, BlockingTunnel
from stacks.iris.client import FaultError, TimedOutError


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

    told(story)


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
