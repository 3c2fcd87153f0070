"""What is seen of a story: who does nothing keeps no promise, and what was not answered excuses nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest
from ledger_tables import delivered, published
from trial_files import passing_verdict

from experiments.conformance.promises import PROMISES, Seen
from experiments.conformance.proving import Finding, _judged
from records.audience import Audience
from records.manifest import Window
from records.schema import Outcome
from records.verdict import Check, Health, Verdict
from stacks import registry

THEM = tuple(Audience(consumers=(number,), topic=0) for number in (10, 11))
SENT = [(1, seq) for seq in range(4)]
WHOLE = [(consumer, *one) for consumer in (10, 11) for one in SENT]
WINDOW = Window(go_ns=0, start_ns=10**9, end_ns=5 * 10**9, drained_ns=6 * 10**9, started_at="")


def seen(sends: pa.Table, arrivals: pa.Table) -> Seen:
    return Seen.of(sends, arrivals, THEM, verdict=passing_verdict(), window=WINDOW)


def broken(name: str, sends: pa.Table, arrivals: pa.Table) -> str:
    (promise,) = (one for one in PROMISES if one.name == name)
    return promise.broken(seen(sends, arrivals))


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


@pytest.mark.parametrize("name", ["requests", "flow", "shared flow"])
def test_what_arrives_twice_has_not_arrived_once(name: str) -> None:
    assert broken(name, published(SENT), delivered(WHOLE)) == ""
    assert broken(name, published(SENT), delivered([*WHOLE, (10, 1, 1)])) == "1 of 8 arrived more than once"
    assert broken(name, published(SENT), delivered(WHOLE[1:])) == "1 of 8 were answered and never arrived"


def test_what_was_not_answered_and_arrived_excuses_nothing_that_was_answered_and_did_not() -> None:
    sends = published(SENT, outcomes={(1, 2): Outcome.IN_DOUBT, (1, 3): Outcome.IN_DOUBT})
    first = [(10, *one) for one in SENT]
    assert broken("at least once", sends, delivered([*first, (11, 1, 0), (11, 1, 1)])) == ""
    assert broken("at least once", sends, delivered([*first, (11, 1, 0)])) == "1 of 8 were answered and never arrived"


def test_one_subscriber_that_hears_nothing_for_long_is_a_stall_though_others_hear() -> None:
    arrivals = [(10, 1, seq) for seq in range(4)]
    often = pa.concat_tables([delivered(arrivals, t_recv_ns=at * 10**9) for at in range(1, 6)])
    assert broken("no stall", published(SENT), often) == "nothing arrived for 4.0 s"


@pytest.mark.parametrize("health", [Health.FAILED, Health.UNKNOWN, Health.PASSED])
@pytest.mark.parametrize("check", [Check.LINK_LOSS, Check.LINK_TIMELINE])
def test_nothing_is_kept_over_a_link_that_was_not_impaired(check: Check, health: Health) -> None:
    (promise,) = (one for one in PROMISES if one.name == "at least once")
    good = passing_verdict()
    checks = tuple(one.model_copy(update={"health": health}) if one.check is check else one for one in good.checks)
    verdict = good.model_copy(update={"checks": checks})

    def after(arrivals: list[tuple[int, int, int]]) -> str:
        found = Seen.of(published(SENT), delivered(arrivals), THEM, verdict=verdict, window=WINDOW)
        return _judged(promise, registry.get("reference"), lambda: found).answer

    assert after(WHOLE) == ("kept" if health is Health.PASSED else "untried")
    assert after(WHOLE[:-1]) == "broken"  # all the more


@pytest.mark.parametrize("name", ["at least once", "no stall"])
def test_a_server_that_died_unasked_has_kept_nothing_however_little_was_lost(name: str) -> None:
    (promise,) = (one for one in PROMISES if one.name == name)
    good = passing_verdict()
    died = {"health": Health.FAILED, "reason": "1 ended", "detail": "reference ended with status 1"}
    checks = tuple(one.model_copy(update=died) if one.check is Check.SERVERS_ALIVE else one for one in good.checks)
    often = pa.concat_tables([delivered(WHOLE, t_recv_ns=at * 10**9) for at in range(1, 6)])

    def after(verdict: Verdict) -> Finding:
        found = Seen.of(published(SENT), often, THEM, verdict=verdict, window=WINDOW)
        return _judged(promise, registry.get("reference"), lambda: found)

    assert after(good).answer == "kept"
    found = after(good.model_copy(update={"checks": checks}))
    assert (found.answer, found.why) == ("broken", "reference ended with status 1")
