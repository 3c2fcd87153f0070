"""The processor of a line's process is kept from halting by a process of the idle class, which never counts as work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from emulation.line import idlepoll
from experiments.trial.observers.machinewatch import Watch
from experiments.trial.observers.processes import Ours

LIMIT_S = 30.0


def becomes(true: Callable[[], bool]) -> bool:
    """Whether it does while a test may wait."""
    until = time.monotonic() + LIMIT_S
    while not true() and time.monotonic() < until:
        time.sleep(0.02)
    return true()


@contextmanager
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    wakes = "import time\nwhile True: time.sleep(0.01)"
    process = subprocess.Popen([sys.executable, "-c", wakes])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def polling(pid: int) -> Iterator[psutil.Process]:
    with idlepoll.beside(pid) as process:
        yield psutil.Process(process)


def test_it_is_of_the_idle_class_and_where_the_line_ran_last() -> None:
    with sleeper() as line, polling(line.pid) as poll:
        assert becomes(lambda: poll.name() == idlepoll.COMMAND)
        for processor in sorted(os.sched_getaffinity(0)):
            os.sched_setaffinity(line.pid, {processor})
            wanted = {processor}
            assert becomes(lambda wanted=wanted: os.sched_getaffinity(poll.pid) == wanted), "it follows"  # type: ignore[misc]
        assert os.sched_getscheduler(poll.pid) == os.SCHED_IDLE
        group = Path(f"/proc/{poll.pid}/autogroup")
        assert os.getsid(poll.pid) == poll.pid
        assert not group.exists() or becomes(lambda: "nice 19" in group.read_text()), "nor has its session a share"


@pytest.mark.parametrize("way", ["waited for", "a zombie"])
def test_it_ends_with_the_line(way: str) -> None:
    with sleeper() as line, polling(line.pid) as poll:
        assert becomes(lambda: poll.name() == idlepoll.COMMAND)
        line.kill()
        if way == "waited for":
            line.wait()
        assert becomes(lambda: poll.status() == psutil.STATUS_ZOMBIE)


def test_what_it_uses_is_nobodys_work(tmp_path: Path) -> None:
    """The machine's use would be a whole processor otherwise, and every trial over a line limited by the machine."""
    ticks = os.sysconf("SC_CLK_TCK")

    def write(*, busy_s: float, **used_s: float) -> None:
        lines = [f"cpu {busy_s * ticks:.0f} 0 0 0 0 0 0 0 0 0", *["cpu0 0 0 0 0 0 0 0 0 0 0"] * 2]
        (tmp_path / "stat").write_text("\n".join(lines) + "\n")
        for (name, own_s), (pid, parent) in zip(used_s.items(), ((50, 1), (51, 50), (60, 1)), strict=True):
            (tmp_path / str(pid)).mkdir(exist_ok=True)
            called = idlepoll.COMMAND if name.startswith("poll") else name
            times = f"{own_s * ticks:.0f} 0 0 0 20 0 1 0 100 0 0"
            (tmp_path / str(pid) / "stat").write_text(f"{pid} ({called}) S {parent} 0 0 0 -1 64 0 0 0 0 {times}")

    watch = Watch(lambda: Ours(50), tmp_path)
    write(busy_s=100, trial=10, poll_ours=5, poll_theirs=5)
    first = watch.take()
    write(busy_s=106, trial=11, poll_ours=8, poll_theirs=7)
    second = watch.take()
    assert second.busy_s - first.busy_s == pytest.approx(3), "3 s of ours are left out, and 2 s of another's are not"
    assert second.trial_s - first.trial_s == pytest.approx(1)
    assert second.foreign_s - first.foreign_s == pytest.approx(2)


@pytest.mark.parametrize(("said", "sleeps"), [("none\n", False), ("\n", False), ("intel_idle\n", True)])
def test_a_kernels_drivers_are_asked_where_there_are_some(tmp_path: Path, said: str, sleeps: bool) -> None:
    (tmp_path / "driver").write_text(said)
    assert idlepoll.drivers_sleep(tmp_path / "driver") is sleeps
    assert not idlepoll.drivers_sleep(tmp_path / "no such file")
