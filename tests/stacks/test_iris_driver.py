"""The driver: each pattern that it offers over a real node, and what it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from free_ports import free_ports
from iris_nodes import nodes_here, run
from pattern_stories import Stories, until, whole_streams

from records.messaging import Ack, Delivery, Guarantee
from records.workload import Pattern
from stacks.driver import StackError, Subscription
from stacks.iris import driver
from stacks.iris.driver import Iris, IrisKnobs
from stacks.knobs import KnobsError, parse

BODIES = [b"%d" % number for number in range(40)]


def told(
    monkeypatch: pytest.MonkeyPatch,
    story: Callable[[Stories], Awaitable[None]],
    *,
    direct: bool = False,
    **knobs: float,
) -> None:
    async def talk() -> None:
        async with nodes_here(1, direct=direct) as world:
            monkeypatch.setattr(driver, "RELAY_PORT", world.relays[0])
            stories = Stories(Iris(IrisKnobs.model_validate(knobs)))
            await story(stories)
            await stories.close()
            assert not world.nodes[0].overlay.trees.groups

    run(talk)


def test_every_caller_gets_the_replies_to_its_own_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stories: Stories) -> None:
        replies = await stories.calls(BODIES)
        assert replies == [[(b"%d %b" % (number, body))[::-1] for body in BODIES] for number in range(2)]

    told(monkeypatch, story)


def test_every_member_has_every_broadcast(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stories: Stories) -> None:
        got = await stories.broadcast(BODIES)
        assert all(mine == BODIES for mine in got)

    told(monkeypatch, story)


@pytest.mark.parametrize("direct", [False, True])
def test_a_flow_arrives_in_order(monkeypatch: pytest.MonkeyPatch, direct: bool) -> None:
    async def story(stories: Stories) -> None:
        assert await stories.stream(BODIES) == BODIES

    told(monkeypatch, story, direct=direct)


@pytest.mark.parametrize("direct", [False, True])
def test_flows_into_one_cluster_have_one_member_each(monkeypatch: pytest.MonkeyPatch, direct: bool) -> None:
    async def story(stories: Stories) -> None:
        heard = whole_streams(await stories.streams(BODIES, starts=24), BODIES)
        assert sorted(number for mine in heard for number in mine) == list(range(24))
        assert all(heard)

    told(monkeypatch, story, direct=direct)


def test_a_flow_waits_for_its_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stories: Stories) -> None:
        starting = asyncio.ensure_future((await stories.client("start")).stream("f"))
        await asyncio.sleep(0.15)
        assert not starting.done()
        got: list[bytes] = []
        await (await stories.client("end")).accept("f", lambda body, _: got.append(body))
        await (await starting).send(b"at last")
        await until(lambda: got == [b"at last"])

    told(monkeypatch, story)


def test_every_subscriber_has_what_is_published_to_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stories: Stories) -> None:
        one, other = await stories.client("one"), await stories.client("other")
        got: list[bytes] = []
        await one.subscribe("t", lambda body, _: got.append(body), subscription=Subscription(), ack=Ack.NONE)
        publisher = await other.publisher("t", delivery=Delivery.NONPERSISTENT)
        elsewhere = await (await stories.client("third")).publisher("u", delivery=Delivery.NONPERSISTENT)
        for body in BODIES:
            await publisher.send(body)
            await elsewhere.send(body)
        await until(lambda: len(got) >= len(BODIES))
        assert got == BODIES
        with pytest.raises(StackError, match="delivery persistent: Iris keeps messages in memory only"):
            await other.publisher("t", delivery=Delivery.PERSISTENT)

    told(monkeypatch, story)


def test_a_request_that_nobody_takes_fails_and_one_that_nobody_answers_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(stories: Stories) -> None:
        caller = await (await stories.client("caller")).caller("s")
        with pytest.raises(StackError, match="no member of the cluster"):
            await caller.call(b"?")
        await (await stories.client("member")).serve("s", lambda *_: None)
        with pytest.raises(StackError, match="no reply in time"):
            await caller.call(b"?")

    told(monkeypatch, story, request_timeout_s=0.05)


def test_a_host_without_a_node_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "RELAY_PORT", free_ports(1)[0])

    async def talk() -> None:
        with pytest.raises(StackError, match=r"cannot connect to 127\.0\.0\.1 port \d+: Connection refused"):
            await Stories(Iris()).client("one")

    run(talk)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"silent_s": 2}, r"silent_s 2 has to be longer than beat_s, 3, by 2 at least: a node is asked a second after"),
        ({"silent_s": 4.9}, r"silent_s 4\.9 has to be longer than beat_s, 3, by 2 at least"),
        ({"silent_s": 2, "beat_s": 0.25}, r"silent_s 2 has to be longer than beat_s, 0\.25, by 2 at least"),
        ({"beat_s": 0.2}, r"beat_s.*has to be 0\.25 or more"),
    ],
)
def test_a_silence_that_leaves_no_time_to_ask_and_too_many_beats_are_refused(given: dict[str, float], why: str) -> None:
    with pytest.raises(KnobsError, match=why):
        parse("iris", IrisKnobs, given)


def test_a_silence_that_leaves_just_as_much_time_is_taken() -> None:
    for beat_s, silent_s in ((3.0, 5.0), (0.25, 2.25)):
        knobs = parse("iris", IrisKnobs, {"beat_s": beat_s, "silent_s": silent_s})
        assert (knobs.beat_s, knobs.silent_s) == (beat_s, silent_s)


def test_the_service_is_a_node_on_every_host_and_what_is_offered_follows_from_the_knobs() -> None:
    assert Iris().why_not(Subscription(prefetch=3)) == "Iris has no prefetch"
    (service,) = Iris(IrisKnobs(splits=1, tunnel="direct")).services()
    assert service.variables["iris_tunnel"] == "direct"
    assert Guarantee.ORDERED in Iris(IrisKnobs(splits=1)).guarantees
    assert Guarantee.ORDERED not in Iris().guarantees, "five trees may bring five messages in any order"
    assert Pattern.STREAM in Iris(IrisKnobs(splits=1)).patterns - Iris().patterns
    assert (service.placement, service.overlay, service.variables["iris_splits"]) == ("nodes", True, 1)
