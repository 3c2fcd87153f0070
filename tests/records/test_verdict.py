from __future__ import annotations

import pytest

from records.verdict import ADDED_LATER, Check, Health, HealthCheck, State, Verdict


def verdict(**healths: Health) -> Verdict:
    return Verdict(
        checks=tuple(
            HealthCheck(check=check, health=healths.get(check.value, Health.PASSED), detail="why") for check in Check
        )
    )


def test_all_passed_or_waived_is_valid() -> None:
    assert verdict().state is State.VALID
    assert verdict(server_cpu=Health.WAIVED).state is State.VALID


@pytest.mark.parametrize("check", list(Check))
def test_one_failure_makes_a_trial_invalid(check: Check) -> None:
    assert verdict(**{check.value: Health.FAILED}).state is State.INVALID


def test_an_unknown_check_is_inconclusive_unless_another_failed() -> None:
    assert verdict(heartbeat=Health.UNKNOWN).state is State.INCONCLUSIVE
    assert verdict(heartbeat=Health.UNKNOWN, link_rate=Health.FAILED).state is State.INVALID


def test_a_check_that_was_not_made_is_inconclusive() -> None:
    assert Verdict(checks=()).state is State.INCONCLUSIVE


def test_a_verdict_from_before_a_check_existed_is_complete_and_says_what_it_lacks() -> None:
    older = Verdict(checks=tuple(one for one in verdict().checks if one.check not in ADDED_LATER))
    assert older.state is State.VALID
    assert set(older.not_recorded) == ADDED_LATER
    assert older.limited_by is None
    assert Verdict.model_validate_json('{"checks": []}').missing == tuple(
        one for one in Check if one not in ADDED_LATER
    )
    assert (verdict().not_recorded, verdict().missing) == ((), ())


def test_a_verdict_from_before_a_check_existed_stands() -> None:
    earlier = tuple(one for one in verdict().checks if one.check not in ADDED_LATER)
    assert {Check.PATH_RTT} <= ADDED_LATER
    assert len(earlier) < len(Check)
    assert Verdict(checks=earlier).state is State.VALID
    assert Verdict(checks=earlier[1:]).state is State.INCONCLUSIVE
    failed = verdict(link_rate=Health.FAILED).checks
    assert Verdict(checks=tuple(one for one in failed if one.check not in ADDED_LATER)).state is State.INVALID


def test_reasons_name_what_did_not_pass() -> None:
    assert verdict(link_rate=Health.FAILED).reasons() == ("link_rate failed: why",)


def test_what_decides_is_said_before_what_the_scenario_waived() -> None:
    mixed = verdict(link_rate=Health.WAIVED, link_loss=Health.UNKNOWN, server_cpu=Health.WAIVED, steal=Health.FAILED)
    said = [reason.removesuffix(": why") for reason in mixed.reasons()]
    assert said == ["steal failed", "link_loss unknown", "link_rate waived", "server_cpu waived"]


def test_every_check_that_did_not_pass_is_said_once() -> None:
    for health in Health:
        told = verdict(**{check.value: health for check in Check}).reasons()
        amiss = health not in (Health.PASSED, Health.NOT_APPLICABLE)
        assert told == tuple(f"{check} {health}: why" for check in Check if amiss)
