"""What limited a trial is decided in one place, from how much of each resource was used."""

from __future__ import annotations

from dataclasses import replace

import pytest
from good_evidence import GOOD, link_check, resources
from invented_machine import readings

from experiments.scenario.settings import CheckSettings
from experiments.trial.checks.health import judge
from experiments.trial.checks.limiting import limited_by
from records.verdict import Limiter, Use, Verdict

NAMES = (Limiter.LINK, Limiter.SERVER, Limiter.GENERATOR, Limiter.DISK, Limiter.MACHINE)


def of(*shares: float | None) -> list[Use]:
    return [Use(of=name, share=share, limit=0.8, unit="share") for name, share in zip(NAMES, shares, strict=True)]


@pytest.mark.parametrize(
    ("shares", "limiter"),
    [
        ((0.1, 0.2, 0.3, 0.0, 0.4), Limiter.NOTHING),
        ((0.8, 0.2, 0.3, 0.0, 0.4), Limiter.LINK),
        ((0.81, 0.9, 0.9, 0.9, 0.99), Limiter.LINK),
        ((0.1, 0.99, 0.3, 0.0, 0.9), Limiter.SERVER),
        ((None, 0.5, 0.5, None, 0.99), Limiter.MACHINE),
        ((None, 0.5, 0.81, None, 0.7), Limiter.GENERATOR),
        ((0.2, 0.1, 0.1, 0.95, 0.3), Limiter.DISK),
        ((None, None, None, None, None), Limiter.NOTHING),
    ],
)
def test_a_full_link_is_the_limit_and_else_what_is_furthest_above_its_bound(
    shares: tuple[float | None, ...], limiter: Limiter
) -> None:
    assert limited_by(of(*shares), open_loop=False) is limiter


def test_an_open_loop_with_room_everywhere_is_limited_by_its_schedule() -> None:
    assert limited_by(of(0.1, 0.1, 0.1, 0.1, 0.1), open_loop=True) is Limiter.SCHEDULE


def limited(**changes: object) -> Verdict:
    return judge(replace(GOOD, **changes), CheckSettings(), {})  # type: ignore[arg-type]


def test_uses_come_from_what_the_trial_measured() -> None:
    rate = link_check("rate").model_copy(update={"source": "trial", "asked": 1e6, "delivered": 0.99e6})
    full = limited(link_checks=[*GOOD.link_checks, rate])
    assert full.limited_by is Limiter.LINK
    assert full.uses[0].share == pytest.approx(0.99)
    assert limited().uses[0].share is None, "a probe's rate says nothing of the trial's use"
    assert limited(host=readings(stalled=0.7)).limited_by is Limiter.DISK
    assert limited(resources=resources(server=0.9, thread=0.9)).limited_by is Limiter.SERVER
    assert limited(resources=resources(generator=0.9)).limited_by is Limiter.GENERATOR
    assert limited(open_loop=True).limited_by is Limiter.SCHEDULE


def test_what_was_stolen_was_in_use() -> None:
    verdict = limited(host=readings(used=0.9, steal=0.9))
    assert verdict.limited_by is Limiter.MACHINE
    assert verdict.uses[-1].share == pytest.approx(0.91)


def test_a_verdict_keeps_it() -> None:
    verdict = limited()
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
