"""Each health check fires on what it is for, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from invented_machine import readings

from emulation.line.lateness import BUCKET_NS, Lateness
from experiments.health import LIMITS, Evidence, judge
from experiments.linechecks import LineSeen
from experiments.settings import CheckSettings, Waiver
from results.link import LinkCheck
from results.manifest import Consumer, Window
from results.schema import DELIVERED, PUBLISHED, RESOURCES
from results.verdict import Check, Health, State

SECOND = 10**9
WINDOW = Window(go_ns=0, start_ns=SECOND, end_ns=11 * SECOND, drained_ns=12 * SECOND, started_at="2026-01-01")


def link_check(quantity: str, *, holds: bool = True) -> LinkCheck:
    return LinkCheck.model_validate(
        {
            "quantity": quantity,
            "direction": "uplink",
            "source": "probe",
            "asked": 1,
            "delivered": 1 if holds else 2,
            "low": 1,
            "high": 1,
        }
    )


def resources(
    *,
    generator: float = 0.1,
    server: float = 0.1,
    thread: float = 0.05,
    rss: float = 1e8,
    lateness: float = 0.01,
    dropped: int = 0,
) -> pa.Table:
    """Samples of 10 s; generator in cores, server in cores of two, thread in cores; dropped: packets, in the sixth."""
    rows = []
    for second in range(13):
        t_ns = second * SECOND
        rows += [
            (t_ns, "generator:sta1", "cpu_seconds", generator * second),
            (t_ns, "server:one", "cpu_seconds", server * second),
            (t_ns, "server:one", "rss_bytes", rss),
            (t_ns, "thread:one/7 worker", "cpu_seconds", thread * second),
            (t_ns, "softirq", "dropped_packets", 11.0 + dropped * (second > 5)),
            (t_ns, "softirq", "squeezed", 0.0),
            (t_ns, "ports", "dropped_packets", 0.0),
            (t_ns, "heartbeat", "lateness_s", lateness if second == 5 else 0.001),
        ]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=RESOURCES)


def published(count: int = 5) -> pa.Table:
    rows = [
        {
            "producer": 0,
            "seq": seq,
            "topic": 0,
            "body_bytes": 100,
            "property": None,
            "t_sched_ns": 2 * SECOND + seq,
            "t_send_ns": 2 * SECOND + seq,
            "t_ack_ns": 2 * SECOND + seq + 10,
            "outcome": 0,
        }
        for seq in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=PUBLISHED)


def delivered(seqs: list[int], *, t_recv_ns: int = 3 * SECOND) -> pa.Table:
    rows = [
        {"consumer": 0, "producer": 0, "seq": seq, "t_recv_ns": t_recv_ns, "arrival": n, "redelivered": False}
        for n, seq in enumerate(seqs)
    ]
    return pa.Table.from_pylist(rows, schema=DELIVERED)


GOOD = Evidence(
    link_checks=[link_check(quantity) for quantity in ("rate", "delay", "loss", "losses", "duplicates")],
    offloads_on=[],
    capture_drops={"wired": 0, "port-sta1": 0},
    resources=resources(),
    window=WINDOW,
    cores=2,
    memory_bytes=10**9,
    send_lateness_s=0.001,
    clock_step_s=0.0,
    published=published(),
    delivered=delivered([0, 1, 2, 3, 4]),
    consumers=[Consumer(id=0, node="sta1", topic=0)],
    unreadable=0,
    miscounted=0,
    lost=[],
    path_rtt=(0, "all of 2 ends"),
    host=readings(),
)


def line(*, late_ns: int = 0, frames: int = 0, beats: int = 0) -> LineSeen:
    """10,000 frames and 3,000 beats of a line that were 40 us late, and more of each, as many as given, so late."""

    def counted(usual: int, more: int) -> Lateness:
        found = Lateness.of([(5, usual)], 6 * BUCKET_NS - 1)
        return found + Lateness.of([(min(late_ns // BUCKET_NS, 1023), more)], late_ns) if more else found

    return LineSeen(frames=counted(10_000, frames), reading=counted(3_000, beats))


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
