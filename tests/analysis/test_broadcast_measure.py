"""When the last member has a broadcast, on ledgers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ledger_rows import delivered, published
from synthetic_campaign import SECOND, START, WINDOW

from analysis.measures import broadcast
from records.audience import Audience
from records.schema import Outcome
from records.waits import Figure, read_sent
from records.workload import Pattern

HERE = Audience(consumers=(10,), topic=0)


def found(arrivals: list[tuple[int, float]], pattern: Pattern = Pattern.BROADCAST) -> dict[str, Figure]:
    """Of broadcasts at 1, 2 and 3 s to one member."""
    sends = published([(n, float(n), n + 0.1, Outcome.ACKED) for n in (1, 2, 3)])
    sent = read_sent(sends, delivered(arrivals), [HERE])
    work = SimpleNamespace(messages=SimpleNamespace(pattern=pattern))
    return broadcast.measure(SimpleNamespace(manifest=SimpleNamespace(workload=work, window=WINDOW), sent=sent))  # type: ignore[arg-type]


def test_the_mean_is_over_broadcasts_and_those_that_did_not_reach_all_make_it_a_bound() -> None:
    whole = found([(1, 1.2), (2, 2.4), (3, 3.6)])
    shares = {"broadcasts": (3.0, False), "reached_all": (3.0, False), "reached_all_share": (1.0, False)}
    assert whole == {"last_member_mean_s": (pytest.approx(0.4), False), **shares}
    holed = found([(1, 1.2), (3, 3.6)])
    until_s = (WINDOW.drained_ns - START) / SECOND
    assert holed["last_member_mean_s"] == (pytest.approx((0.2 + 0.6 + until_s - 2) / 3), True)
    assert (holed["reached_all"].value, holed["reached_all_share"].value) == (2, pytest.approx(2 / 3))


def test_of_other_patterns_there_is_nothing_to_tell() -> None:
    assert found([(1, 1.2)], Pattern.PUBSUB) == {}
