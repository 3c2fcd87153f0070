"""The longest silence of one receiver, on ledgers worked out by hand.  The window lasts 8 s."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ledger_rows import delivered, published
from synthetic_campaign import SECOND, START, WINDOW

from analysis.measures import silence as of_one
from records.audience import Audience
from records.manifest import Consumer
from records.nodes import Absence
from records.schema import Outcome
from records.window_metrics import read_ledger


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def gone(left: float, due: float | None = None, back: float | None = None) -> Absence:
    moments = [None if one is None else at(one) for one in (due, back)]
    return Absence(left_ns=at(left), due_ns=moments[0], back_ns=moments[1], cause="kill" if due is None else "vanish")


def silence(arrivals: list[float], *absences: Absence, events: bool = True) -> float | None:
    """Of a consumer with these arrivals, beside one that has every message at once."""
    sends = published([(n, n / 10, n / 10 + 0.01, Outcome.ACKED) for n in range(80)])
    came = [(round(10 * t), t) for t in arrivals]
    ledger = read_ledger(sends, delivered(came), [Audience(consumers=(10,), topic=0)])
    consumers = (Consumer(id=10, node="sta1", topic=0, absences=absences),)
    manifest = SimpleNamespace(
        node_events=["sta2: kill"] if events else [], window=WINDOW, workload=SimpleNamespace(consumers=consumers)
    )
    trial = SimpleNamespace(manifest=manifest, ledger=ledger)
    return of_one.measure(trial).get("longest_silence_of_one_s")  # type: ignore[arg-type]


STEADY = [n / 2 for n in range(16)]


@pytest.mark.parametrize(
    ("arrivals", "absences", "longest"),
    [
        (STEADY, (), 0.5),
        ([t for t in STEADY if not 2 < t < 5], (), 3.0),
        ([t for t in STEADY if t <= 2], (), 6.0),  # it is there, and deaf until the end
        ([t for t in STEADY if t <= 2], (gone(2.2),), 0.5),  # it was killed
        ([t for t in STEADY if t <= 2], (gone(5),), 3.0),
        ([t for t in STEADY if not 2 < t < 5], (gone(2.1, 4.7),), 0.5),
        ([t for t in STEADY if not 2 < t < 7], (gone(2.1, 4.7, 5.5),), 1.5),  # from when it was back
        ([t for t in STEADY if t >= 6], (gone(-1, 3, 3),), 3.0),  # it joined in the window
        # It joined and vanished before it was ready, and was back when its first connection was.
        ([t for t in STEADY if t >= 6.5], (gone(-1, 1, 5), gone(2, 3, 3)), 1.5),
        ([], (), 8.0),
        ([], (gone(-1),), None),  # nobody was there
    ],
    ids=[
        "steady",
        "gap",
        "deaf",
        "killed",
        "deaf, then killed",
        "away",
        "back",
        "joined",
        "twice",
        "nothing",
        "nobody",
    ],
)
def test_a_receiver_is_silent_while_it_is_there_and_nothing_comes(
    arrivals: list[float], absences: tuple[Absence, ...], longest: float | None
) -> None:
    assert silence(arrivals, *absences) == (None if longest is None else pytest.approx(longest))


def test_who_calls_receives_no_messages_and_is_not_silent() -> None:
    sends = published([(n, n / 10, n / 10 + 0.01, Outcome.ACKED) for n in range(80)])
    them = [Audience(consumers=(10,), topic=0), Audience(consumers=(11,), topic=0, caller=0)]
    ledger = read_ledger(sends, delivered([(round(10 * t), t) for t in STEADY]), them)
    consumers = tuple(Consumer(id=10 + n, node="sta1", topic=0, caller=who) for n, who in enumerate((None, 0)))
    work = SimpleNamespace(consumers=consumers)
    manifest = SimpleNamespace(node_events=["sta2: kill"], window=WINDOW, workload=work)
    found = of_one.measure(SimpleNamespace(manifest=manifest, ledger=ledger))  # type: ignore[arg-type]
    assert found == {"longest_silence_of_one_s": pytest.approx(0.5)}


def test_where_nothing_happens_to_nodes_there_is_nothing_to_tell() -> None:
    assert silence(STEADY, events=False) is None
