"""What happens to nodes: what is refused, who was there when, and what that makes of the ledger."""

from __future__ import annotations

import pytest
from ledger_tables import delivered, published

from records.audience import NEVER, audiences
from records.ledger import reconcile
from records.manifest import Consumer
from records.nodes import Absence, NodeChange, NodeEvent, absences, late, problems, silent, stopped
from records.schema import Outcome
from records.waits import read_sent

STATIONS = ("sta1", "sta2", "sta3")
GO = 100
TEN = [(0, seq) for seq in range(10)]  # sent at 0, 1000, 2000 ...


def event(at_s: float, node: str, what: str) -> NodeEvent:
    return NodeEvent.model_validate({"at_s": at_s, "node": node, "event": what})


def change(t_ns: int, what: str, ready_ns: int | None = None) -> NodeChange:
    return NodeChange.model_validate({**event(t_ns, "sta2", what).model_dump(), "t_ns": t_ns, "ready_ns": ready_ns})


def refused(*events: NodeEvent) -> list[tuple[tuple[int, str], str]]:
    found = problems(
        events, window_s=10, stations=STATIONS, others={"router": "is a router"},
        servers={"server1": {"sta1"}, "server2": {"sta2"}},
    )  # fmt: skip
    return list(found)


@pytest.mark.parametrize(
    "events",
    [
        (event(1, "sta1", "kill"), event(1, "sta2", "kill"), event(9.9, "sta3", "kill")),
        (event(7, "sta2", "join"), event(3, "sta2", "vanish")),
        (event(1, "server1", "kill"), event(2, "sta2", "join")),
        (event(1, "server1", "vanish"), event(2, "server1", "join"), event(3, "server2", "kill")),
        (event(1, "sta2", "join"), event(2, "sta2", "vanish"), event(3, "sta2", "join"), event(4, "sta2", "kill")),
    ],
)
def test_what_can_happen_is_not_refused_in_whatever_order_it_is_written(events: tuple[NodeEvent, ...]) -> None:
    assert refused(*events) == []


@pytest.mark.parametrize(
    ("events", "where", "says"),
    [
        ((event(10, "sta1", "kill"),), (0, "at_s"), "10 s is not inside the window, which lasts 10 s"),
        (
            (event(1, "sta7", "kill"),),
            (0, "node"),
            "'sta7' is no node of this topology: use one of sta1, sta2, sta3, server1, server2",
        ),
        ((event(1, "router", "kill"),), (0, "node"), "'router' is a router: use one of"),
        ((event(1, "sta1", "join"), event(2, "sta1", "join")), (1, "event"), "it joins at 1 s and is there"),
        ((event(1, "sta1", "kill"), event(2, "sta1", "kill")), (1, "event"), "nothing follows that"),
        ((event(1, "sta1", "kill"), event(2, "sta1", "join")), (1, "event"), "a killed node does not come back"),
        ((event(1, "sta1", "vanish"), event(2, "sta1", "kill")), (1, "event"), "then it can only join"),
        ((event(1, "sta1", "vanish"), event(1, "sta1", "join")), (1, "event"), "another event at 1 s"),
        ((event(1, "server1", "join"),), (0, "event"), "clients of sta1 need its service from the start"),
        ((event(1, "server1", "kill"), event(2, "server2", "kill")), (1, "event"), "no server would be left"),
        ((event(1, "server1", "vanish"), event(2, "server2", "kill")), (1, "event"), "no server would be left"),
        (
            (event(3, "sta2", "join"), event(2, "server2", "vanish")),
            (0, "event"),
            "its clients need server2, which is gone since 2 s (vanish)",
        ),
        (tuple(event(1, name, "join") for name in STATIONS), (0, "event"), "let one of them be there"),
    ],
)
def test_what_cannot_happen_is_refused_at_its_key(
    events: tuple[NodeEvent, ...], where: tuple[int, str], says: str
) -> None:
    ((at, problem),) = refused(*events)
    assert at == where
    assert says in problem


@pytest.mark.parametrize(("join_s", "says"), [(1, ""), (3, "no server would be left of sta1, sta2")])
def test_a_host_that_only_its_own_clients_need_may_join_later(join_s: float, says: str) -> None:
    events = (event(join_s, "sta2", "join"), event(2, "sta1", "kill"))
    own = {name: {name} for name in ("sta1", "sta2")}
    found = [text for _, text in problems(events, window_s=10, stations=("sta1", "sta2"), others={}, servers=own)]
    assert len(found) == bool(says)
    assert all(says in text for text in found)


def test_whose_first_event_is_to_join_is_not_there_at_first() -> None:
    assert late([event(5, "sta1", "join"), event(2, "sta1", "vanish"), event(3, "sta2", "join")]) == {"sta2"}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ((change(500, "kill"),), (Absence(left_ns=500, due_ns=None, cause="kill"),)),
        ((change(500, "vanish"),), (Absence(left_ns=500, due_ns=None, cause="vanish"),)),
        (
            (change(500, "vanish"), change(800, "join")),
            (Absence(left_ns=500, due_ns=800, back_ns=800, cause="vanish"),),
        ),
        (
            (change(500, "join", 600), change(800, "kill")),
            (
                Absence(left_ns=GO, due_ns=500, back_ns=600, cause="join"),
                Absence(left_ns=800, due_ns=None, cause="kill"),
            ),
        ),
        ((change(500, "join", None),), (Absence(left_ns=GO, due_ns=500, cause="join"),)),
    ],
)
def test_who_was_not_there_when(changes: tuple[NodeChange, ...], found: tuple[Absence, ...]) -> None:
    assert absences(changes, GO) == found


def test_who_has_vanished_and_not_come_back_is_silent_and_who_was_killed_has_ended() -> None:
    assert silent([change(500, "vanish")]) == {"sta2"}
    assert silent([change(800, "join"), change(500, "vanish")]) == silent([change(500, "kill")]) == set()


def consumer(number: int, *gone: Absence) -> Consumer:
    return Consumer(id=number, node="sta2", topic=0, absences=gone)


VANISHED = Absence(left_ns=3000, due_ns=6000, back_ns=6000, cause="vanish")
KILLED = Absence(left_ns=5000, due_ns=None, cause="kill")


def test_what_is_sent_to_a_node_that_is_gone_is_neither_lost_nor_in_doubt() -> None:
    them = audiences([consumer(0, VANISHED)], share=False)
    came = [(0, 0, seq) for seq in (0, 1, 2, 6, 7, 8)]
    found = reconcile(published(TEN), delivered(came), them)
    assert (found.expected, found.absent, found.lost, found.in_doubt) == (7, 3, 0, 1)
    assert found.closes
    assert len(read_sent(published(TEN), delivered(came), them).deliveries.begun_ns) == 7


def test_what_comes_to_it_all_the_same_is_expected_and_delivered() -> None:
    them = audiences([consumer(0, VANISHED)], share=False)
    found = reconcile(published(TEN), delivered([(0, 0, seq) for seq in range(9)]), them)
    assert (found.expected, found.delivered, found.absent, found.in_doubt) == (10, 9, 0, 1)


def test_after_a_kill_nothing_is_expected_and_what_was_under_way_took_until_then_at_least() -> None:
    """Numbers 0 to 4 were sent before; 2 is lost, 4 was under way."""
    them = audiences([consumer(0, KILLED)], share=False)
    came = delivered([(0, 0, 0), (0, 0, 1), (0, 0, 3)])
    found = reconcile(published(TEN), came, them)
    assert (found.expected, found.absent, found.lost, found.in_doubt) == (5, 5, 1, 1)
    sent = read_sent(published(TEN), came, them)
    assert sent.deliveries.begun_ns.tolist() == [0, 1000, 2000, 3000, 4000]
    lengths = sent.deliveries.lengths(50_000)
    assert (lengths.seconds * 1e9).round().tolist()[2::2] == [3000, 1000], "until the kill, not until the end"
    assert lengths.absent.tolist() == [False, False, True, False, True]
    assert sorted(sent.awaited.ended_ns.tolist())[0] == 5000, "number 4 is under way until then"
    assert NEVER not in sent.awaited.ended_ns


def test_killing_a_receiver_that_has_had_nothing_for_long_does_not_hide_that() -> None:
    """Two audiences; the other one stays and has everything: a message that one has not had has not reached all."""
    them = audiences([consumer(0, KILLED), consumer(1)], share=False)
    came = delivered([(0, 0, 0), *((1, 0, seq) for seq in range(10))])
    found, sent = reconcile(published(TEN), came, them), read_sent(published(TEN), came, them)
    assert (found.expected, found.delivered, found.absent, found.in_doubt) == (15, 11, 5, 4)
    lasts = sent.lasts.lengths(5 * 10**9)
    assert lasts.absent.tolist() == [False, *[True] * 4, *[False] * 5]
    assert max(lasts.seconds) < 1.1, "no longer than the other one waited"


def test_what_a_node_had_no_answer_to_when_it_went_is_sent_no_more() -> None:
    sends = published(TEN, outcomes={(0, seq): Outcome.IN_DOUBT for seq in (5, 8)})
    (all_of,) = audiences([consumer(0)], share=False)
    came = delivered([(0, 0, seq) for seq in range(5)])
    plain, known = (read_sent(sends, came, [all_of], stopped) for stopped in ({}, {0: 7000}))
    assert [one.answers.lengths(50_000).seconds[[5, 8]].round(9).tolist() for one in (plain, known)] == [
        pytest.approx([45e-6, 42e-6]), pytest.approx([2e-6, 0])
    ]  # fmt: skip
    ended = [one.awaited.ended_ns.tolist() for one in (plain, known)]
    assert ended[0].count(NEVER) == 5
    assert (ended[1].count(NEVER), sorted(ended[1])[:2]) == (3, [7000, 8000])


def test_who_has_gone_for_good_has_stopped() -> None:
    changes = [change(500, "vanish"), change(800, "join"), change(900, "kill")]
    assert [stopped(changes[:count]) for count in range(4)] == [{}, {"sta2": 500}, {}, {"sta2": 900}]


def test_a_refused_send_to_a_node_that_is_gone_is_refused() -> None:
    sends = published(TEN, outcomes={(0, 9): Outcome.FAILED})
    found = reconcile(sends, delivered([]), audiences([consumer(0, KILLED)], share=False))
    assert (found.absent, found.refused, found.expected) == (4, 1, 5)


def test_a_queue_has_nobody_only_while_all_its_receivers_are_gone() -> None:
    (shared,) = audiences([consumer(0, KILLED), consumer(1, VANISHED)], share=True)
    assert shared.gone == ((5000, 6000),)
    (shared,) = audiences([consumer(0, KILLED), consumer(1)], share=True)
    assert shared.gone == ()


def test_a_subscriber_that_is_away_by_itself_goes_on_missing_messages() -> None:
    (one,) = audiences([consumer(0, VANISHED.model_copy(update={"cause": "away"}))], share=False)
    assert one.gone == ()
