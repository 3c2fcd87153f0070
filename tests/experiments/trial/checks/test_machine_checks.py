"""What a trial says of its machine: on both sides of each limit, and where something was not recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from good_evidence import GOOD, resources
from invented_machine import SECOND, readings

from experiments.scenario.limits import LIMITS
from experiments.scenario.settings import CheckSettings, Waiver
from experiments.trial.checks.health import judge
from experiments.trial.checks.machinechecks import machine_checks
from experiments.trial.checks.processchecks import process_checks
from records.schema import resources_table
from records.verdict import Check, Health, HealthCheck, Limiter, State, Verdict


def judged(**changes: object) -> Verdict:
    return judge(replace(GOOD, **changes), CheckSettings(), {})  # type: ignore[arg-type]


def found(verdict: Verdict, check: Check) -> HealthCheck:
    (one,) = [one for one in verdict.checks if one.check is check]
    return one


@pytest.mark.parametrize(
    ("check", "below", "above"),
    [
        (Check.MACHINE_USE, {"used": 1.59}, {"used": 1.61}),
        (Check.FOREIGN_LOAD, {"foreign": 0.09}, {"foreign": 0.11}),
        (Check.STEAL, {"steal": 0.09}, {"steal": 0.11}),
        (Check.CPU_QUOTA, {"throttled": 0}, {"throttled": 1}),
    ],
)
def test_each_limit_of_the_machine_is_kept_on_one_side_and_broken_on_the_other(
    check: Check, below: dict[str, float], above: dict[str, float]
) -> None:
    assert found(judged(host=readings(**below)), check).health is Health.PASSED  # type: ignore[arg-type]
    assert found(judged(host=readings(**above)), check).health is Health.FAILED  # type: ignore[arg-type]


@pytest.mark.parametrize(("thread", "health"), [(0.79, Health.PASSED), (0.81, Health.FAILED)])
def test_a_broker_with_one_busy_thread_is_at_its_limit_however_many_cores_there_are(
    thread: float, health: Health
) -> None:
    verdict = judged(resources=resources(server=thread, thread=thread), cores=64)
    assert found(verdict, Check.SERVER_CPU).health is Health.PASSED
    busiest = found(verdict, Check.SERVER_THREAD)
    assert busiest.health is health
    assert busiest.measured == pytest.approx(thread)
    assert "thread:one/7 worker" in busiest.detail


def test_no_thread_used_more_than_its_process_where_threads_were_not_read() -> None:
    rows = [row for row in resources(server=0.3).to_pylist() if not row["subject"].startswith("thread:")]
    table = resources_table([(row["t_ns"], row["subject"], row["metric"], row["value"]) for row in rows])
    measured, said = process_checks(replace(GOOD, resources=table))[Check.SERVER_THREAD]
    assert measured == pytest.approx(0.3)
    assert said.startswith("at most")


def test_foreign_load_names_who_used_most_and_is_no_use_of_ours() -> None:
    verdict = judged(host=readings(used=0.2, foreign=1.8))
    assert {one.check for one in verdict.checks if one.health is Health.FAILED} == {Check.FOREIGN_LOAD}
    assert "others used 1.80 of a core, cc1plus the most" in found(verdict, Check.FOREIGN_LOAD).detail
    assert LIMITS[Check.FOREIGN_LOAD].machine_alone
    assert verdict.limited_by is Limiter.MACHINE


def test_in_a_container_kernel_threads_count_as_foreign_and_it_says_so() -> None:
    assert "in a container" in found(judged(host=readings(kernel_seen=False)), Check.FOREIGN_LOAD).detail
    assert "in a container" not in found(judged(), Check.FOREIGN_LOAD).detail


def test_a_trial_that_saturates_the_machine_by_itself_is_invalid_unless_its_scenario_waives_that_by_name() -> None:
    full = replace(GOOD, host=readings(used=1.96, foreign=0.02))
    verdict = judge(full, CheckSettings(), {})
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.MACHINE_USE]
    assert not LIMITS[Check.MACHINE_USE].machine_alone, "it would do so again"
    waived = CheckSettings(waive=(Waiver(check=Check.MACHINE_USE, because="as fast as the processor"),))
    assert judge(full, waived, {}).state is State.VALID
    assert judge(full, waived, {}).limited_by is Limiter.MACHINE


def test_a_lab_kernel_is_judged_by_what_its_processes_use_of_its_one_core() -> None:
    check = found(judged(host=readings(used=1.9, trial=0.3), lab=True, cores=1), Check.MACHINE_USE)
    assert (check.health, check.measured) == (Health.PASSED, pytest.approx(0.3))
    assert found(judged(host=readings(trial=0.9), lab=True, cores=1), Check.MACHINE_USE).health is Health.FAILED


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({"throttled": None, "unread": "/sys/fs/cgroup/cpu.stat: Permission denied"}, Check.CPU_QUOTA),
        ({"steal": None}, Check.STEAL),
    ],
)
def test_what_this_kernel_does_not_tell_is_not_recorded_and_never_passes(
    changes: dict[str, object], unknown: Check
) -> None:
    verdict = judged(host=readings(**changes))  # type: ignore[arg-type]
    assert [one.check for one in verdict.checks if one.health is Health.UNKNOWN] == [unknown]
    assert verdict.state is State.INCONCLUSIVE
    assert "not recorded" in found(verdict, unknown).detail
    assert str(changes.get("unread", "")) in found(verdict, unknown).detail


@pytest.mark.parametrize("host", [[], readings(at=range(6, 8)), readings(at=range(5))], ids=["none", "few", "early"])
def test_a_machine_that_was_not_watched_through_the_window_is_not_recorded(host: list[object]) -> None:
    verdict = judged(host=host)
    assert found(verdict, Check.FOREIGN_LOAD).health is Health.UNKNOWN
    assert verdict.state is State.INCONCLUSIVE


def test_readings_around_a_short_window_are_enough() -> None:
    short = GOOD.window.model_copy(update={"start_ns": 5 * SECOND + 100, "end_ns": 5 * SECOND + SECOND // 2})
    measured, _ = machine_checks(replace(GOOD, window=short, host=readings(foreign=0.5)))[Check.FOREIGN_LOAD]
    assert measured == pytest.approx(0.5)


def test_drops_before_the_window_are_not_of_it() -> None:
    late = GOOD.window.model_copy(update={"start_ns": 6 * SECOND})
    dropped = resources(dropped=4)
    assert found(judged(resources=dropped), Check.SOFTIRQ_DROPS).measured == 4
    assert found(judged(resources=dropped, window=late), Check.SOFTIRQ_DROPS).measured == 0


def test_on_a_shared_machine_what_others_take_is_told_and_not_judged() -> None:
    busy = {"host": readings(used=0.3, foreign=1.6, steal=0.5, throttled=2), "resources": resources(dropped=3)}
    verdict = judged(**busy, shared_machine=True)
    assert verdict.state is State.VALID, verdict.reasons()
    waived = {one.check: one for one in verdict.checks if one.health is Health.WAIVED}
    assert set(waived) == {Check.FOREIGN_LOAD, Check.STEAL, Check.CPU_QUOTA}
    assert waived[Check.FOREIGN_LOAD].measured == pytest.approx(1.6)
    assert all("AIRWIRE_SHARED_MACHINE" in one.detail for one in waived.values())
    assert judged(host=readings(used=1.9), shared_machine=True).state is State.INVALID, "that was the trial itself"
