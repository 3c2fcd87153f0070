"""A producer that joins late leaves out what was due before, without holding the event loop; nothing else changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count, dropwhile, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.load import schedule as scheduling
from experiments.load.node_run import _publish
from experiments.load.protocol import Times
from experiments.load.schedule import schedule, schedule_from
from records.sending import Sending
from tests.support.load_fake_time import FakeClock, HandStack, hand_producer
from tests.support.load_runs import node_plan

S = 1_000_000_000
WINDOW_S = (2.0, 12.0)
# At most so many turns are drawn, or tried, without a turn of the event loop.
MANY = 5000

loads = st.fixed_dictionaries(
    {"rate": st.floats(0.5, 3000), "arrivals": st.sampled_from(["constant", "poisson"])},
    optional={
        "bursts": st.fixed_dictionaries({"messages": st.integers(1, 500), "pause_s": st.floats(0.001, 5)}),
        "ramp": st.fixed_dictionaries({"to": st.floats(0.01, 3000)}),
    },
).filter(lambda said: not {"bursts", "ramp"} <= said.keys())


def load(**said: Any) -> Sending:
    return Sending.model_validate({"body_bytes": 100, "loop": "open", **said})


def one_by_one(wanted: Sending, *, producer: int, seed: int) -> Iterator[float]:
    """Turns of a load, each after the one before it."""
    if wanted.arrivals == "constant":
        yield from (index + producer * (5**0.5 - 1) / 2 % 1.0 for index in count())
    generator, turn = np.random.default_rng((seed, producer, 1, scheduling.LOAD)), 0.0
    while True:
        for gap in generator.exponential(1, 4096).tolist():
            turn += gap
            yield turn


@given(
    said=loads,
    producer=st.integers(0, 99),
    seed=st.integers(0, 99),
    since_ns=st.integers(-S, 15 * S),
    drawn=st.booleans(),
)
def test_what_is_left_is_what_would_have_been_sent_from_then_on(
    said: dict[str, Any], producer: int, seed: int, since_ns: int, drawn: bool
) -> None:
    wanted = load(**said)
    whole = lambda: schedule(wanted, producer=producer, seed=seed, window_s=WINDOW_S)  # noqa: E731
    if drawn:  # a moment at which one is due is not before it
        since_ns = list(islice(whole(), 3000))[-1]
    found = asyncio.run(schedule_from(wanted, producer=producer, seed=seed, window_s=WINDOW_S, since_ns=since_ns))
    assert list(islice(found, 20)) == list(islice(dropwhile(lambda at: at < since_ns, whole()), 20))


@given(rate=st.floats(0.5, 3000), arrivals=st.sampled_from(["constant", "poisson"]), seed=st.integers(0, 99))
def test_turns_are_those_that_a_loop_adds_up(rate: float, arrivals: str, seed: int) -> None:
    wanted = load(rate=rate, arrivals=arrivals)
    plain = islice(one_by_one(wanted, producer=3, seed=seed), 10_000)
    found = islice(schedule(wanted, producer=3, seed=seed, window_s=WINDOW_S), 10_000)
    assert list(found) == [round(turn / rate * 1e9) for turn in plain]


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
@pytest.mark.parametrize("more", [{}, {"ramp": {"to": 5000}}, {"bursts": {"messages": 100, "pause_s": 0.001}}])
def test_the_event_loop_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrivals: str, more: dict[str, Any]
) -> None:
    """Of 400,000 turns or so that are past, so many are looked at between two turns of the loop, by count."""
    since_turn = worst = looked_at = 0
    offsets = scheduling._offsets

    def seen(*arguments: Any) -> Any:
        offset = offsets(*arguments)

        def counted(number: int, turn: float) -> int:
            nonlocal since_turn, worst, looked_at
            since_turn, looked_at = since_turn + 1, looked_at + 1
            worst = max(worst, since_turn)
            return offset(number, turn)

        return counted

    async def turns() -> None:
        nonlocal since_turn
        while True:
            since_turn = 0
            await asyncio.sleep(0)

    async def joined() -> list[int]:
        clock = FakeClock()
        clock.t_ns = 100 * S
        stack = HandStack(clock)
        beside = asyncio.ensure_future(turns())
        await asyncio.sleep(0)
        times = Times(go_ns=0, start_ns=1 * S, end_ns=100 * S + S // 100)
        await _publish(plan, hand_producer(clock, stack), times, 100 * S)
        beside.cancel()
        return stack.sent_at_ns

    work = {"loop": "open", "rate": 4000, "arrivals": arrivals, **more}
    plan = node_plan(tmp_path, 1, work=work)
    monkeypatch.setattr(scheduling, "_offsets", seen)
    sent = asyncio.run(joined())
    assert 5 <= len(sent) <= 200
    assert sent[0] >= 100 * S
    assert worst <= MANY
    assert looked_at <= 2 * MANY


def test_turns_that_are_drawn_leave_the_loop_its_own() -> None:
    async def beside() -> int:
        had = 0

        async def other() -> None:
            nonlocal had
            while True:
                had += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        wanted = load(rate=4000, arrivals="poisson")
        await schedule_from(wanted, producer=0, seed=0, window_s=WINDOW_S, since_ns=100 * S)
        task.cancel()
        return had

    assert asyncio.run(beside()) >= 100 * 4000 // MANY
