"""Real nodes over loopback: applications reach each other, and nobody without the key reaches anybody."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from ipaddress import IPv4Network

import pytest
from free_ports import LOOPBACK
from iris_nodes import KEY, nodes_here, run
from iris_sessions import CHANGES, changed, sent
from iris_transports import Full
from pattern_stories import until

from stacks.driver import StackError, UnansweredError
from stacks.iris import links, relay
from stacks.iris.client import FaultError, TimedOutError
from stacks.iris.frames import beat
from stacks.iris.links import RelayLink, hello
from stacks.iris.node import UNKNOWN, Node, Settings
from stacks.iris.relay import FROM_NODE, Closed, Denied, Init, Reader, Request, encode
from stacks.iris.session import Session


def test_requests_get_their_own_replies_from_members_on_any_node() -> None:
    async def talk() -> None:
        async with nodes_here(3) as world:
            served: list[bytes] = []

            def serve(body: bytes, reply: relay.Message | object) -> None:
                served.append(body)
                reply(body[::-1])  # type: ignore[operator]

            for node in (1, 2, 2):
                await world.application(node, "echo", on_request=serve)
            callers = [await world.application(node) for node in range(3)]
            await until(lambda: all(len(node.overlay.trees.groups) >= 5 for node in world.nodes[1:]))
            asked = [b"%d-%d" % (number, turn) for turn in range(40) for number in range(3)]
            replies = await asyncio.gather(
                *(callers[at % 3].request("echo", body, 30_000) for at, body in enumerate(asked))
            )
            assert replies == [body[::-1] for body in asked]
            assert sorted(served) == sorted(asked), "each is executed once"
            large = random.Random(1).randbytes(3_000_000)
            assert await callers[0].request("echo", large, 30_000) == large[::-1]

    run(talk)


def test_a_request_ends_once_as_reply_fault_or_time_out() -> None:
    async def talk() -> None:
        async with nodes_here(2) as world:
            late: list[object] = []
            caller = await world.application(0)
            with pytest.raises(FaultError, match="no member of the cluster"):
                await caller.request("nobody", b"?", 30_000)
            member = await world.application(1, "slow", on_request=lambda _, reply: late.append(reply))
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            with pytest.raises(TimedOutError):
                await caller.request("slow", b"?", 60)
            late[0](b"too late")  # type: ignore[operator]
            counts = world.nodes[1].patterns.counts
            await until(lambda: counts["reply to no request"] + world.nodes[0].patterns.counts["reply too late"] == 1)
            left = caller.request("slow", b"?", 30_000)
            await until(lambda: len(late) == 2)
            await member.close()
            with pytest.raises(UnansweredError, match="the member has left"):
                await left
            await until(lambda: not any(node.overlay.trees.groups for node in world.nodes))

    run(talk)


def test_broadcasts_reach_every_member_and_events_every_subscriber_and_names_stay_apart() -> None:
    async def talk() -> None:
        async with nodes_here(3) as world:
            heard: list[tuple[int, bytes]] = []
            events: list[tuple[int, bytes]] = []
            members = [
                await world.application(node, "news", on_broadcast=lambda data, node=node: heard.append((node, data)))
                for node in range(3)
            ]
            for node in (0, 2):
                members[node].subscribe("news", lambda data, node=node: events.append((node, data)))  # type: ignore[misc]
            await until(lambda: sum(len(node.overlay.trees.groups) >= 10 for node in world.nodes) >= 2)
            await asyncio.sleep(0.1)
            for number in range(10):
                members[1].broadcast("news", b"b%d" % number)
                members[1].publish("news", b"e%d" % number)
            await until(lambda: len(heard) >= 30 and len(events) >= 20)
            assert sorted(heard) == sorted((node, b"b%d" % number) for node in range(3) for number in range(10))
            assert sorted(events) == sorted((node, b"e%d" % number) for node in (0, 2) for number in range(10))
            members[0].unsubscribe("news")
            members[0].publish("news", b"last")
            await until(lambda: (2, b"last") in events)
            assert (0, b"last") not in events

    run(talk)


def test_a_node_that_ends_and_comes_back_as_another_one_is_found_at_its_place() -> None:
    async def talk() -> None:
        async with nodes_here(3) as world:
            caller = await world.caller_of_an_echo()
            old, here = world.nodes[2], world.nodes[0].overlay
            old.close()
            await until(lambda: old.own.id not in here.peers)
            world.nodes[2] = new = Node(old._settings)
            await new.listen()
            assert new.own.id != old.own.id
            await world.application(2, "echo", on_request=lambda body, reply: reply(body[::-1]))
            await until(lambda: new.own.id in here.peers and len(new.overlay.trees.groups) == 5)
            assert await caller.request("echo", b"again", 30_000) == b"niaga"
            assert old.own.id not in here.peers

    run(talk)


def test_nodes_whose_connections_are_cut_find_each_other_again() -> None:
    async def talk() -> None:
        async with nodes_here(3) as world:
            caller = await world.caller_of_an_echo()
            for link in list(world.nodes[0]._links.values()):
                link.end("cut by the test")
            await until(lambda: len(world.nodes[0].overlay.peers) < 2)
            await until(lambda: len(world.nodes[0].overlay.peers) == 2)
            assert await caller.request("echo", b"again", 30_000) == b"again"

    run(talk)


def test_nodes_that_are_told_of_nobody_find_each_other_by_their_subnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.iris.overlay.SETTLED_S", 0.2)

    async def talk() -> None:
        async with nodes_here(4, subnet=IPv4Network("127.77.0.0/24")) as world:
            for node in range(4):
                (await world.silent(node)).write(encode(Init(relay.VERSION, "c")))
            await until(lambda: all(len(node.overlay.peers) == 3 for node in world.nodes))
            caller = await world.application(0)
            await world.application(3, "echo", on_request=lambda body, reply: reply(body))
            assert await caller.request("echo", b"found", 30_000) == b"found"

    run(talk)


def test_who_lacks_the_key_neither_joins_nor_is_let_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.iris.node.SHAKING_S", 0.2)

    async def talk() -> None:
        async with nodes_here(1) as world:
            node = world.nodes[0]
            await world.application(0)
            own = node.own
            silent = [await asyncio.open_connection(LOOPBACK, own.port) for _ in range(UNKNOWN + 1)]
            assert await silent[-1][0].read() == b"", "there are enough of them already"
            stranger = Session(initiator=True, key=bytes(32), network="test", hello=hello(own._replace(id=1)))
            await asyncio.gather(*(reader.read() for reader, _ in silent))  # all were given up
            reader, writer = await asyncio.open_connection(LOOPBACK, own.port)
            writer.writelines(stranger.outgoing())
            assert await reader.read() == b""
            draw = random.Random(7)
            for _ in range(100):
                reader, writer = await asyncio.open_connection(LOOPBACK, own.port)
                writer.write(draw.randbytes(draw.randrange(200)))
                writer.write_eof()
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
            known = Session(initiator=True, key=KEY, network="test", hello=hello(own._replace(id=1)))
            reader, writer = await asyncio.open_connection(LOOPBACK, own.port)
            writer.writelines(known.outgoing())
            known.feed(await reader.read(1000))
            known.send(b"\xff no frame of ours")
            writer.writelines(known.outgoing())
            with suppress(ConnectionError):
                await reader.read()
            await until(lambda: not node.overlay.peers and not node._unknown)
            for _, writer in silent:
                writer.close()

    run(talk)


def test_changed_streams_of_ten_thousand_frames_end_their_sessions_and_the_node_goes_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Somebody on the way has real sessions in hand: what they carry comes again, in another order, cut or flipped."""
    errors: list[object] = []

    async def talk() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with nodes_here(2) as world:
            await world.application(0, "echo", on_request=lambda body, reply: reply(body))
            caller = await world.application(1)
            node, draw, frames = world.nodes[0], random.Random(19), 0

            async def session(number: int) -> int:
                reader, writer = await asyncio.open_connection(LOOPBACK, node.own.port)
                mine = Session(initiator=True, key=KEY, network="test", hello=hello(node.own._replace(id=number)))
                writer.writelines(mine.outgoing())
                while not mine.established:
                    mine.feed(await reader.read(1000))
                records = [sent(mine, beat(True)) for _ in range(20)]
                how = CHANGES[number % 4]
                writer.write(changed(records, how, draw))
                if how in ("truncated", "flipped"):  # where a length is larger the node would wait for more
                    writer.write_eof()
                with suppress(ConnectionError):
                    while await reader.read(1000):
                        pass
                writer.close()
                return len(records)

            for first in range(0, 500, 20):
                frames += sum(await asyncio.gather(*(session(number) for number in range(first, first + 20))))
                assert await caller.request("echo", b"%d" % first, 30_000) == b"%d" % first
            assert frames == 10_000
            await until(lambda: set(node.overlay.peers) == {world.nodes[1].own.id} and not node._unknown)

    run(talk)
    assert not errors
    assert "it is silent" not in "".join(capfd.readouterr()), "the node has ended each by itself, at once"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (encode(Request(1, "c", b"", 1)), Denied("a Request before Init")),
        (encode(Init("v0", "")), Denied("version 'v0' is not 'v1.0-draft2'")),
        (encode(Init(relay.VERSION, "")) + b"\xff", Closed("operation 0xff is none of")),
    ],
)
def test_an_application_that_does_not_speak_the_protocol_is_told_and_left(said: bytes, answer: relay.Message) -> None:
    async def talk() -> None:
        async with nodes_here(1) as world:
            reader, writer = await asyncio.open_connection(LOOPBACK, world.relays[0])
            writer.write(said)
            answers = list(Reader(FROM_NODE).feed(await reader.read()))
            assert type(answers[-1]) is type(answer)
            assert answers[-1][0].startswith(answer[0])  # type: ignore[union-attr, arg-type]
            writer.close()
            one = await world.silent(0)
            one.write(encode(relay.Close()))
            with pytest.raises(StackError, match="the node ends the connection: a Close"):
                await one._welcome

    run(talk)


def test_a_receiver_that_does_not_read_costs_no_more_than_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "ROOM_BYTES", 200_000)

    async def talk() -> None:
        async with nodes_here(1) as world:
            _, writer = await asyncio.open_connection(LOOPBACK, world.relays[0], limit=1000)
            writer.write(encode(Init(relay.VERSION, "deaf")))
            other = await world.application(0)
            sent = 0
            while not world.nodes[0].patterns.counts["no room"]:
                other.broadcast("deaf", bytes(100_000))
                sent += 1
                await asyncio.sleep(0)
                assert sent < 1000
            link = next(one for one in world.nodes[0]._applications.values() if one.number == 1)
            assert link._held + link._transport.get_write_buffer_size() < 400_000
            writer.close()

    run(talk)


def test_what_there_is_no_room_for_is_counted_but_what_is_said_again_is_not_and_who_is_going_has_gone() -> None:
    async def talk() -> None:
        node = Node(Settings(address=LOOPBACK, port=1, key=KEY, network="test"))
        link = node._applications[1] = RelayLink(node, 1)
        link._transport = full = Full(links.ROOM_BYTES + 1)  # type: ignore[assignment]
        link._early, counts = None, node.patterns.counts  # it is welcome
        assert node._tell(1, relay.TunnelData(1, 1, b"x")) is False
        assert counts == {}
        assert node._tell(1, relay.Broadcasted(b"x")) is False
        assert counts == {"no room": 1}
        full.waits = 0
        full.abort()
        for number, message in enumerate((relay.TunnelData(1, 1, b"x"), relay.Broadcasted(b"x")), 1):
            assert node._tell(1, message) is True
            assert counts == {"no room": 1, "the application has gone": number}
        assert node._tell(2, relay.Broadcasted(b"x")) is True

    run(talk)


async def entered(port: int, cluster: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An application that has been welcomed, and reads no more than it is asked to."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1000)
    writer.write(encode(Init(relay.VERSION, cluster)))
    await reader.readexactly(len(encode(relay.Welcome(relay.VERSION))))
    return reader, writer


def test_who_has_said_that_it_closes_has_no_more_requests_though_much_waits_for_it() -> None:
    async def talk() -> None:
        async with nodes_here(1) as world:
            _, writer = await entered(world.relays[0], "c")
            (link,) = world.nodes[0]._applications.values()
            caller = await world.application(0)
            while not link._transport.get_write_buffer_size():
                caller.broadcast("c", bytes(1_000_000))
                await asyncio.sleep(0)
            await world.application(0, "c", on_request=lambda body, reply: reply(body))
            writer.write(encode(relay.Close()))
            await until(lambda: link.over)
            assert link._transport.get_write_buffer_size()
            for number in range(20):
                assert await caller.request("c", b"%d" % number, 5000) == b"%d" % number
            writer.close()

    run(talk)


def test_what_an_application_says_behind_its_close_has_no_effect() -> None:
    async def talk() -> None:
        async with nodes_here(1) as world:
            reader, writer = await entered(world.relays[0], "")
            writer.write(encode(relay.Close()) + encode(relay.Subscribe("t")) + b"\xff")
            assert list(Reader(FROM_NODE).feed(await reader.read())) == [Closed("")]
            node = world.nodes[0]
            await until(lambda: not node._relayed)
            assert not node.overlay.trees.groups
            writer.close()

    run(talk)
