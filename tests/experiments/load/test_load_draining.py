"""When a drain is over."""

import asyncio
from types import SimpleNamespace

import pytest
from load_runs import consumer, node_plan, producer

from experiments.load.draining import SETTLE_S, Drain, having_messages, missing
from experiments.load.fleet import Fleet
from experiments.load.protocol import Progress

SECOND = 1_000_000_000
END_NS = 10 * SECOND


def report(
    t_ns: int, acked: int, *delivered: int, first: int = 0, waiting: int = 0, wanted: int | None = None
) -> Progress:
    return Progress(
        t_ns=t_ns,
        sent=acked + waiting,
        acked=acked,
        failed=0,
        delivered=sum(delivered),
        wanted_by_topic={0: acked if wanted is None else wanted},
        delivered_by_consumer=dict(enumerate(delivered, first)),
        lost_connections=(),
    )


def cut(progress: Progress) -> Progress:
    return progress.model_copy(update={"lost_connections": ("consumer 1: reset",)})


def test_missing_counts_each_consumer_against_its_topic(tmp_path) -> None:
    plans = [
        node_plan(tmp_path, 1, node="a"),
        node_plan(tmp_path, 1, node="b", producers=(producer(1),), consumers=(consumer(2),)),
    ]
    reports = {"a": report(0, 5, 8, 7), "b": report(0, 3, 6, first=2)}
    assert missing(having_messages(plans), reports) == 0 + 1 + 2


def test_a_duplicate_at_one_consumer_does_not_hide_a_gap_at_another(tmp_path) -> None:
    assert missing(having_messages([node_plan(tmp_path, 1)]), {"sta1": report(0, 5, 6, 4)}) == 1


def test_what_a_selector_leaves_out_is_not_missing(tmp_path) -> None:
    consumers = (consumer(0, selector=(0, 5)), consumer(1, selector=(0, 5)))
    plan = node_plan(tmp_path, 1, work={"selector": {"low": 0, "high": 5}}, consumers=consumers)
    assert missing(having_messages([plan]), {"sta1": report(0, 9, 5, 5, wanted=5)}) == 0
    assert missing(having_messages([plan]), {"sta1": report(0, 9, 5, 3, wanted=5)}) == 2


def test_complete_needs_a_moment_in_which_nothing_more_comes(tmp_path) -> None:
    drain = Drain(plans=[node_plan(tmp_path, 1)], end_ns=END_NS, quiet_s=5)
    assert drain.over({"sta1": report(END_NS, 5, 5, 5)}) is None
    assert drain.over({"sta1": report(END_NS + SECOND // 10, 5, 5, 5)}) is None
    assert drain.over({"sta1": report(END_NS + int(SETTLE_S * SECOND), 5, 5, 5)}) == "complete"


def test_an_unanswered_send_is_waited_for_through_any_silence(tmp_path) -> None:
    plan = node_plan(tmp_path, 1, consumers=(consumer(0),))
    drain = Drain(plans=[plan], end_ns=END_NS, quiet_s=2)
    for second in range(20):
        assert drain.over({"sta1": report(END_NS + second * SECOND, 5, 5, waiting=1)}) is None
    for second in (20, 22):
        ended = drain.over({"sta1": report(END_NS + second * SECOND, 6, 6)})
    assert ended == "complete"


def test_what_is_missing_is_waited_for_through_any_silence(tmp_path) -> None:
    drain = Drain(plans=[node_plan(tmp_path, 1)], end_ns=END_NS, quiet_s=2)
    for second in range(20):
        assert drain.over({"sta1": report(END_NS + second * SECOND, 50, 5, 5)}) is None


def test_what_a_lost_connection_will_never_bring_is_not_waited_for(tmp_path) -> None:
    drain = Drain(plans=[node_plan(tmp_path, 1)], end_ns=END_NS, quiet_s=2)
    for second in (0, 1):
        assert drain.over({"sta1": cut(report(END_NS + second * SECOND, 50, 5, 5, waiting=1))}) is None
    assert drain.over({"sta1": cut(report(END_NS + 2 * SECOND, 50, 5, 5, waiting=1))}) == "quiet"


def test_a_client_that_says_nothing_is_not_quiet(tmp_path) -> None:
    plans = [node_plan(tmp_path, 1, node=node) for node in "ab"]
    drain = Drain(plans=plans, end_ns=END_NS, quiet_s=1)
    stuck = report(END_NS + SECOND // 2, 3, 3, 3)
    for second in range(20):
        assert drain.over({"a": report(END_NS + second * SECOND, 9, 1, 1), "b": stuck}) is None


def test_nothing_is_over_before_the_window_is(tmp_path) -> None:
    drain = Drain(plans=[node_plan(tmp_path, 1)], end_ns=END_NS, quiet_s=1)
    for second in range(9):
        assert drain.over({"sta1": report(second * SECOND, 5, 5, 5)}) is None


def test_it_is_not_looked_at_line_by_line_whether_it_is_over(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look is at all consumers, in a process that goes before all others: 0.5 s of lines 2 ms apart."""
    looks = []
    monkeypatch.setattr(Drain, "over", lambda *_: looks.append(0))

    async def drained() -> str:
        heard = asyncio.Event()
        done = asyncio.get_running_loop().create_future()
        remote = SimpleNamespace(plan=node_plan(tmp_path, 1), progress=None, done=done, tell=lambda _: None)
        fleet = Fleet({"sta1": remote}, heard, None)  # type: ignore[dict-item]
        await fleet.go(go_ns=0, start_ns=0, end_ns=1)

        async def lines() -> None:
            while True:
                await asyncio.sleep(0.002)
                heard.set()

        speaking = asyncio.ensure_future(lines())
        found = await fleet.drain(limit_s=0.5, quiet_s=2)
        speaking.cancel()
        return found.reason

    assert asyncio.run(drained()) == "limit"
    assert 1 <= len(looks) <= 6
