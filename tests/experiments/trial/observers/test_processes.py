"""Whose the processor's time was: sums over processes that start, end and are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from experiments.trial.observers import sampling
from experiments.trial.observers.hostlog import HostLog
from experiments.trial.observers.machinewatch import Reading, Watch, cpu_times, io_stalled_s
from experiments.trial.observers.processes import (
    Group,
    Groups,
    Ours,
    Process,
    busiest,
    parse_process,
    processes,
    trees,
    used_s,
)

BURN = "import time\nwhile time.process_time() < 0.4: pass\n"


def process(pid: int, *, parent: int = 1, own: float = 0.0, reaped: float = 0.0, started: float = 1.0) -> Process:
    return Process(pid, parent, f"p{pid}", kernel=parent == 2, started_s=started, own_s=own, reaped_s=reaped)


def group(*members: Process) -> Group:
    return {one.key: one for one in members}


def test_a_name_may_have_spaces_and_parentheses() -> None:
    line = "42 (a) b (c)) S 7 42 42 0 -1 2097216 0 0 0 0 150 50 30 20 20 0 1 0 1234 0 0"
    found = parse_process(line)
    assert (found.pid, found.parent, found.name, found.kernel) == (42, 7, "a) b (c)", True)
    assert found.own_s == pytest.approx(200 / os.sysconf("SC_CLK_TCK"))
    assert found.reaped_s == pytest.approx(50 / os.sysconf("SC_CLK_TCK"))


def test_a_child_that_is_waited_for_counts_once() -> None:
    before = group(process(10, own=5), process(11, parent=10, own=3))
    after = group(process(10, own=5, reaped=4))
    assert used_s(before, after, since_s=2) == pytest.approx(1)


def test_a_child_that_nobody_waits_for_takes_no_others_time_along() -> None:
    before = group(process(10, own=5), process(11, parent=10, own=1000))
    assert used_s(before, group(process(10, own=5.5)), since_s=2) == pytest.approx(0.5)


def test_only_a_process_that_has_begun_since_brings_all_of_its_time() -> None:
    assert used_s({}, group(process(12, own=2, started=3.0)), since_s=2) == pytest.approx(2)
    assert used_s({}, group(process(12, own=2, started=1.0)), since_s=2) == 0


def test_a_number_that_is_given_again_is_another_process() -> None:
    before, after = group(process(12, own=9, started=1.0)), group(process(12, own=0.25, started=3.0))
    assert used_s(before, after, since_s=2) == pytest.approx(0.25)
    assert busiest(before, after, since_s=2) == ("p12", 0.25)


def test_the_campaigns_other_trials_are_ours_and_the_runners_other_children_are_not() -> None:
    runner, mine, beside, theirs = 10, 20, 30, 40
    found = {
        one.pid: one
        for one in (
            process(2, parent=0),
            process(3, parent=2),
            process(runner),
            process(mine, parent=runner),
            process(21, parent=mine),
            process(22, parent=21),
            process(beside, parent=runner),
            process(31, parent=beside),
            process(theirs, parent=runner),
        )
    }
    groups = Groups.of(found, Ours(mine, beside=[beside], single=[runner]))
    assert {pid for pid, _ in groups.trial} == {mine, 21, 22}
    assert {pid for pid, _ in groups.ours} == {runner, mine, 21, 22, beside, 31}
    assert {pid for pid, _ in groups.foreign} == {2, theirs}, "a kernel thread is nobody's"
    assert trees(found, [99]) == {99}


def test_a_child_of_ours_is_ours_and_one_of_others_is_foreign() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        watch, theirs = Watch(lambda: Ours(os.getpid())), Watch(lambda: Ours(other.pid))
        first = watch.take(), theirs.take()
        subprocess.run([sys.executable, "-c", BURN], check=True)
        second = watch.take(), theirs.take()
        other.kill()
    assert first[0].trial_s == first[0].foreign_s == 0
    assert second[0].trial_s > 0.35, "waited for, so it is in our own"
    assert second[1].trial_s < 0.35
    assert second[1].foreign_s > 0.35, "to another's trial our work is foreign"
    assert second[0].busy_s - first[0].busy_s > 0


def test_in_a_container_what_others_used_is_what_is_left(tmp_path: Path) -> None:
    """No kernel threads are seen, nor other containers: the machine's time less ours."""
    ticks = os.sysconf("SC_CLK_TCK")

    def write(*, busy: float, softirq: float, own: float) -> None:
        cpu = f"cpu {busy * ticks:.0f} 0 0 0 0 0 {softirq * ticks:.0f} 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"
        (tmp_path / "stat").write_text(cpu)
        (tmp_path / "50").mkdir(exist_ok=True)
        stat = f"50 (trial) S 1 0 0 0 -1 64 0 0 0 0 {own * ticks:.0f} 0 0 0 20 0 1 0 100 0 0"
        (tmp_path / "50" / "stat").write_text(stat)

    watch = Watch(lambda: Ours(50), tmp_path)
    write(busy=100, softirq=5, own=10)
    assert watch.take().foreign_s == 0
    write(busy=103, softirq=6, own=11)
    found = watch.take()
    assert (found.kernel_seen, found.foreign_s, found.trial_s) == (False, pytest.approx(2), pytest.approx(1))
    assert found.busy_s == pytest.approx(109)


def test_this_kernels_own_files_are_understood() -> None:
    assert os.getpid() in processes()
    times = cpu_times()
    assert times.processors == os.cpu_count()
    assert times.used_s > 0
    stalled = io_stalled_s()
    assert stalled is None or stalled >= 0
    assert (Path("/proc/pressure/io").exists()) == (stalled is not None)


def test_a_log_passes_over_what_is_no_reading_and_knows_another_kernels_clock() -> None:
    log = HostLog(same_clock=False)
    reading = Watch(lambda: Ours(os.getpid())).take()
    log.hear(b'.5, "cores": 2}')
    for delay_ns in (7_000_000_000, 0, 500_000_000):
        log.hear(
            Reading.model_validate(reading.model_dump() | {"t_ns": 5_000_000_000 - delay_ns}).model_dump_json().encode()
        )
    times = [t_ns for t_ns, _ in log.readings]
    assert [times[1] - one for one in times] == [7_000_000_000, 0, 500_000_000]
    assert abs(times[1] - time.monotonic_ns()) < 60 * 10**9
    assert {row["subject"] for row in log.table().to_pylist()} == {"host"}


def test_the_machine_s_time_is_that_of_the_processors_that_we_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processors, of which each has been busy for ten times as long as the one before."""
    now = psutil.cpu_times()
    each = [
        now._replace(**dict.fromkeys(now._fields, 0.0) | {"user": 10.0**n, "idle": 5.0, "iowait": 1.0})
        for n in range(3)
    ]
    monkeypatch.setattr(psutil, "cpu_times", lambda **_: each)
    for mine, busy_s in (({0, 1, 2}, 111.0), ({1}, 10.0), ({0, 2}, 101.0)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, mine=mine: mine)
        assert sampling._busy_seconds() == busy_s
