"""Whoever watches goes before the load, and steps back afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest

from experiments.trial.observers.priority import ahead

pytestmark = [pytest.mark.root]


def policies() -> set[int]:
    return {os.sched_getscheduler(int(name)) for name in os.listdir("/proc/self/task")}


def test_threads_and_named_processes_go_first_while_the_context_lasts_and_no_longer() -> None:
    done = threading.Event()
    early, late = (threading.Thread(target=done.wait) for _ in range(2))
    early.start()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            with ahead([child.pid]):
                late.start()
                assert policies() == {os.SCHED_RR}
                assert os.sched_getscheduler(child.pid) == os.SCHED_RR
            assert policies() == {os.SCHED_OTHER}
            assert os.sched_getscheduler(child.pid) == os.SCHED_OTHER
        finally:
            done.set()
            early.join()
            late.join()
            child.kill()


def test_a_process_that_has_ended_is_no_news() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    with ahead([child.pid]):
        pass


def test_the_collector_is_off_while_the_context_lasts_and_no_longer() -> None:
    with ahead([]):
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
