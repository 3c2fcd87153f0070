"""What a link says when it no longer works ends what is done over it, at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from emulation.kernel.namespace import KernelError
from experiments.trial.observers import linkguard
from experiments.trial.observers.linkguard import guarded

GONE = "the line's process ended"


class Linked:
    """A link that works for so many questions."""

    def __init__(self, works: int) -> None:
        self.works, self.asked = works, 0

    def check(self) -> None:
        self.asked += 1
        if self.asked > self.works:
            raise KernelError(GONE)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkguard, "PERIOD_S", 0.001)


async def under_guard(link: Any, body: Any) -> list[str]:
    """What happened to the body."""
    told: list[str] = []
    async with guarded(link):
        try:
            await body()
            told.append("ended")
        except asyncio.CancelledError:
            told.append("cut short")
            raise
        finally:
            print(*told)
    return told


async def forever() -> None:
    await asyncio.Event().wait()


def test_what_waits_over_a_link_that_has_gone_is_cut_short_with_the_links_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    link = Linked(works=3)
    with pytest.raises(KernelError, match=GONE):
        asyncio.run(under_guard(link, forever))
    assert link.asked == 4
    assert capsys.readouterr().out == "cut short\n"


def test_a_link_that_works_is_asked_on_and_on_and_changes_nothing() -> None:
    link = Linked(works=10**9)

    async def until_asked() -> None:
        while link.asked < 5:
            await asyncio.sleep(0.001)

    assert asyncio.run(under_guard(link, until_asked)) == ["ended"]


def test_without_a_link_nothing_is_asked() -> None:
    async def nothing() -> None:
        pass

    assert asyncio.run(under_guard(None, nothing)) == ["ended"]


def test_an_error_of_the_bodys_own_stays_what_it_is() -> None:
    async def fails() -> None:
        raise ValueError("a client failed")

    with pytest.raises(ValueError, match="a client failed"):
        asyncio.run(under_guard(Linked(works=10**9), fails))


def test_an_error_over_a_link_that_has_gone_is_told_as_the_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkguard, "PERIOD_S", 1000)

    async def notices_first() -> None:
        raise ValueError("network is unreachable")

    with pytest.raises(KernelError, match=GONE) as raised:
        asyncio.run(under_guard(Linked(works=0), notices_first))
    assert isinstance(raised.value.__cause__, ValueError)


def test_who_is_cancelled_by_somebody_else_is_cancelled() -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(under_guard(Linked(works=10**9), forever))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_body_that_ends_well_over_a_link_that_has_gone_has_not_ended_well() -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await forever()

    with pytest.raises(KernelError, match=GONE):
        asyncio.run(under_guard(Linked(works=0), stubborn))


def test_after_the_guard_has_spoken_its_task_can_go_on() -> None:
    async def body() -> str:
        try:
            async with guarded(Linked(works=0)):  # type: ignore[arg-type]
                await forever()
        except KernelError:
            await asyncio.sleep(0.001)  # would raise were the task still being cancelled
        task = asyncio.current_task()
        assert task
        return str(task.cancelling())

    assert asyncio.run(body()) == "0"
