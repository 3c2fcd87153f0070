"""A stack that does nothing at all keeps no promise."""

from __future__ import annotations

import pyarrow as pa
import pytest
from ledger_tables import delivered, published
from trial_files import passing_verdict

from experiments.conformance.promises import PROMISES, Seen
from records.audience import Audience
from records.ledger import reconcile
from records.schema import Outcome

THEM = (Audience(consumers=(10,), topic=0),)
SENT = [(1, seq) for seq in range(4)]


def seen(sends: pa.Table, arrivals: pa.Table) -> Seen:
    return Seen(
        published=sends, counted=reconcile(sends, arrivals, THEM), verdict=passing_verdict(), audiences=1,
        longest_silence_s=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "arrived", "why"),
    [
        (Outcome.FAILED, [], "nothing that was sent was answered"),
        (Outcome.IN_DOUBT, [], "nothing that was sent was answered"),
        (Outcome.ACKED, [], "nothing arrived"),
        (Outcome.ACKED, [(10, 1, 0)], ""),
    ],
)
def test_what_neither_answers_nor_delivers_is_told(
    outcome: Outcome, arrived: list[tuple[int, int, int]], why: str
) -> None:
    assert seen(published(SENT, outcome=outcome), delivered(arrived)).nothing == why


def test_a_request_that_is_served_twice_was_not_served_once() -> None:
    (promise,) = (one for one in PROMISES if one.name == "requests")
    once = [(10, *one) for one in SENT]
    assert promise.broken(seen(published(SENT), delivered(once))) == ""
    assert promise.broken(seen(published(SENT), delivered([*once, (10, 1, 1)]))) == "1 of 4 arrived more than once"
