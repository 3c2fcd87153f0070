"""Each health check fires on what it is for, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from good_evidence import GOOD, SECOND, WINDOW, delivered, line, link_check, resources
from invented_machine import readings

from emulation.line.lateness import Lateness
from experiments.scenario.limits import LIMITS
from experiments.scenario.settings import CheckSettings, Waiver
from experiments.trial.checks.health import judge
from experiments.trial.observers.linesamples import LineSeen
from records.commands import ProgramRun
from records.schema import DELIVERED, PUBLISHED, RESOURCES
from records.verdict import Check, Health, State


def program(*, problem: str = "") -> ProgramRun:
    return ProgramRun(
        station="sta1", server="server", command=("curl",), started_after_s=0.01, status=0, duration_s=1.0,
        timed_out=False, metrics={}, problem=problem,
    )  # fmt: skip


BAD: dict[Check, dict[str, object]] = {
    Check.LINK_RATE: {"link_checks": [*GOOD.link_checks, link_check("rate", holds=False)]},
    Check.LINK_LOSS: {"link_checks": [*GOOD.link_checks, link_check("losses", holds=False)]},
    Check.LINK_DELAY: {"link_checks": [*GOOD.link_checks, link_check("delay", holds=False)]},
    Check.LINK_TIMELINE: {"link_checks": [*GOOD.link_checks, link_check("change", holds=False)]},
    Check.LINE_LATENESS: {"line": line(late_ns=1_100_000, frames=11)},
    Check.OFFLOADS_OFF: {"offloads_on": ["sta1-eth: tso"]},
    Check.CAPTURE_DROPS: {"capture_drops": {"wired": 1}},
    Check.GENERATOR_CPU: {"resources": resources(generator=0.7)},
    Check.SERVER_CPU: {"resources": resources(server=1.3)},
    Check.SERVER_THREAD: {"resources": resources(server=0.9, thread=0.85)},
    Check.SERVER_MEMORY: {"resources": resources(rss=7e8)},
    Check.MACHINE_USE: {"host": readings(used=1.7)},
    Check.FOREIGN_LOAD: {"host": readings(foreign=0.56)},
    Check.STEAL: {"host": readings(steal=0.2)},
    Check.CPU_QUOTA: {"host": readings(throttled=1)},
    Check.SOFTIRQ_DROPS: {"resources": resources(dropped=1)},
    Check.SEND_LATENESS: {"send_lateness_s": 0.3},
    Check.HEARTBEAT: {"resources": resources(lateness=2.5)},
    Check.LEDGER_CLOSES: {"unreadable": 1},
    Check.CLEAN_SLATE: {"delivered": delivered([0, 1, 2, 3, 4], t_recv_ns=SECOND)},
    Check.SERVERS_ALIVE: {"lost": ["server one ended"]},
    Check.PATH_RTT: {"path_rtt": (1, "1 of 2 ends")},
    Check.PROGRAMS_SUCCEEDED: {"programs": [program(problem="sta1: 'curl' ended with exit status 22")]},
    Check.STATION_CPU: {"stations": {"sta1": ["generator:sta1", "server:one"]}, "station_cores": 0.25},
}
UNKNOWN: dict[Check, dict[str, object]] = {
    Check.LINK_DELAY: {"link_checks": [check for check in GOOD.link_checks if check.quantity != "delay"]},
    Check.CAPTURE_DROPS: {"capture_drops": {"wired": None}},
    Check.SEND_LATENESS: {"send_lateness_s": None},
    Check.PATH_RTT: {"path_rtt": (None, "no connection was found")},
    Check.LINE_LATENESS: {"line": LineSeen(Lateness.of(), Lateness.of())},
}


def test_a_good_trial_is_valid() -> None:
    verdict = judge(GOOD, CheckSettings(), {})
    assert verdict.state is State.VALID, verdict.reasons()
    assert [check.check for check in verdict.checks] == list(Check)


@pytest.mark.parametrize("check", list(Check))
def test_each_check_fires_on_its_own_fault_and_only_it(check: Check) -> None:
    verdict = judge(replace(GOOD, **BAD[check]), CheckSettings(), {})  # type: ignore[arg-type]
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [check]
    assert verdict.state is State.INVALID


@pytest.mark.parametrize("check", list(UNKNOWN))
def test_what_was_not_measured_is_unknown_and_the_trial_inconclusive(check: Check) -> None:
    verdict = judge(replace(GOOD, **UNKNOWN[check]), CheckSettings(), {})  # type: ignore[arg-type]
    assert [one.check for one in verdict.checks if one.health is Health.UNKNOWN] == [check]
    assert verdict.state is State.INCONCLUSIVE


def test_of_programs_the_verdict_says_what_does_not_apply_and_judges_the_rest() -> None:
    without = {"resources": resources(), "published": PUBLISHED.empty_table(), "delivered": DELIVERED.empty_table()}
    evidence = replace(GOOD, **without, programs=[program()], path_rtt=(None, ""))  # type: ignore[arg-type]
    verdict = judge(evidence, CheckSettings(), {})
    assert (verdict.state, verdict.reasons(), verdict.missing) == (State.VALID, (), ())
    skipped = {one.check: one.detail for one in verdict.checks if one.health is Health.NOT_APPLICABLE}
    assert skipped.keys() == {
        *(Check.LEDGER_CLOSES, Check.CLEAN_SLATE, Check.PATH_RTT, Check.GENERATOR_CPU),
        *(Check.SERVER_CPU, Check.SERVER_THREAD, Check.SERVER_MEMORY),
    }
    assert "no messages" in skipped[Check.LEDGER_CLOSES]
    late = judge(replace(evidence, send_lateness_s=0.3), CheckSettings(), {})
    assert [one.check for one in late.checks if one.health is Health.FAILED] == [Check.SEND_LATENESS]


def test_where_no_station_lived_long_enough_for_samples_none_had_too_little() -> None:
    verdict = judge(replace(GOOD, stations={}, station_cores=0.25), CheckSettings(), {})
    (check,) = [one for one in verdict.checks if one.check is Check.STATION_CPU]
    assert (verdict.state, check.health) == (State.VALID, Health.PASSED)
    assert "no station lived long enough" in check.detail


def test_without_samples_every_check_on_resources_is_unknown() -> None:
    verdict = judge(replace(GOOD, resources=RESOURCES.empty_table()), CheckSettings(), {})
    unknown = {one.check for one in verdict.checks if one.health is Health.UNKNOWN}
    assert unknown == {
        Check.GENERATOR_CPU,
        Check.SERVER_CPU,
        Check.SERVER_THREAD,
        Check.SERVER_MEMORY,
        Check.HEARTBEAT,
        Check.SOFTIRQ_DROPS,
        Check.STATION_CPU,
    }


def test_a_copy_that_carries_another_time_of_sending_is_from_before_the_trial() -> None:
    verdict = judge(replace(GOOD, stale=1), CheckSettings(), {})
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.CLEAN_SLATE]


def test_a_delivery_that_was_never_sent_does_not_close_the_ledger() -> None:
    verdict = judge(replace(GOOD, delivered=delivered([0, 1, 2, 3, 4, 99])), CheckSettings(), {})
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.LEDGER_CLOSES]


@pytest.mark.parametrize("change", [{"miscounted": 1}, {"unreadable": 2}])
def test_books_that_the_clients_kept_otherwise_do_not_close(change: dict[str, int]) -> None:
    verdict = judge(replace(GOOD, **change), CheckSettings(), {})  # type: ignore[arg-type]
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.LEDGER_CLOSES]


def test_a_stall_that_outlasts_the_window_and_a_clock_that_jumps_are_seen() -> None:
    rows = resources().to_pylist()
    for row in rows:
        if row["subject"] == "heartbeat" and row["t_ns"] == WINDOW.end_ns:
            row["value"] = 2.0
    late = replace(GOOD, resources=pa.Table.from_pylist(rows, schema=RESOURCES))
    for evidence in (late, replace(GOOD, clock_step_s=-3.0)):
        verdict = judge(evidence, CheckSettings(), {})
        assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.HEARTBEAT]


def test_a_waiver_holds_in_the_cells_it_names_and_says_why() -> None:
    settings = CheckSettings(
        waive=(Waiver(check=Check.SERVER_CPU, when={"network": "wire"}, because="closed loop on a wire"),)
    )
    busy = replace(GOOD, resources=resources(server=1.9))
    on_the_wire = judge(busy, settings, {"network": "wire"})
    assert on_the_wire.state is State.VALID
    assert "closed loop on a wire" in on_the_wire.reasons()[0]
    assert judge(busy, settings, {"network": "air"}).state is State.INVALID


def test_a_scenario_may_tighten_a_limit() -> None:
    settings = CheckSettings(limits={Check.SERVER_CPU: 0.01})
    assert judge(GOOD, settings, {}).state is State.INVALID
    assert all(limit.value >= 0 for limit in LIMITS.values())


def test_every_check_has_a_limit_that_says_whether_the_machine_alone_can_break_it() -> None:
    assert list(LIMITS) == list(Check)


def test_packets_that_met_no_losses_are_a_matter_of_the_loss_check() -> None:
    checks = [*GOOD.link_checks, link_check("bypass", holds=False)]
    verdict = judge(replace(GOOD, link_checks=checks), CheckSettings(), {})
    assert [one.check for one in verdict.checks if one.health is Health.FAILED] == [Check.LINK_LOSS]


def test_the_servers_of_a_stack_share_one_bound() -> None:
    one = resources(server=0.7)  # of two cores
    rows = one.to_pylist()
    second = [row | {"subject": "server:two"} for row in rows if row["subject"] == "server:one"]
    both = pa.Table.from_pylist(rows + second, schema=RESOURCES)
    assert judge(replace(GOOD, resources=one), CheckSettings(), {}).state is State.VALID
    verdict = judge(replace(GOOD, resources=both), CheckSettings(), {})
    (failed,) = [one for one in verdict.checks if one.health is Health.FAILED]
    assert failed.check is Check.SERVER_CPU
    assert "together 70%: server:one 35%, server:two 35%" in failed.detail


def test_a_stack_inside_its_clients_is_judged_by_the_machine() -> None:
    busy = replace(GOOD, resources=resources(generator=0.9))
    assert judge(busy, CheckSettings(), {}).state is State.INVALID
    verdict = judge(replace(busy, in_client=True), CheckSettings(), {})
    assert verdict.state is State.VALID
    assert "which machine_use judges" in verdict.reasons()[0]


def test_servers_that_a_stack_has_not_are_not_missed() -> None:
    subjects = GOOD.resources["subject"].to_pylist()
    kept = pa.array([not one.startswith(("server:", "thread:")) for one in subjects])
    without = replace(GOOD, resources=GOOD.resources.filter(kept))
    of_servers = {Check.SERVER_CPU, Check.SERVER_THREAD, Check.SERVER_MEMORY}
    missed = judge(without, CheckSettings(), {})
    assert {one.check for one in missed.checks if one.health is Health.UNKNOWN} == of_servers
    judged = judge(replace(without, serverless=True), CheckSettings(), {})
    assert {one.check for one in judged.checks if one.detail == "the stack has no servers"} == of_servers
    assert judged.state is State.VALID
