"""The busiest threads of a server, read as rarely as it must be; packets that the kernel drops."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.trial.observers import threads as module
from experiments.trial.observers.softnet import port_drops, softnet
from experiments.trial.observers.threads import Threads

ONE_BUSY = """
import threading, time
def burn():
    while True: pass
threading.Thread(target=burn, daemon=True).start()
for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
input()
"""


def grown(threads: Threads) -> dict[str, float]:
    """Seconds that each thread used between its first reading and its last."""
    read: dict[str, list[float]] = {}
    for _, subject, _, value in threads.rows():
        read.setdefault(subject, []).append(value)
    return {subject: values[-1] - values[0] for subject, values in read.items()}


def test_the_busy_thread_of_a_process_is_told_from_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHORTEST_S", 0.0)
    words = [sys.executable, "-c", ONE_BUSY]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            threads, found, deadline = Threads({"one": process.pid}), {"": 0.0}, time.monotonic() + 60
            while max(found.values(), default=0.0) < 0.2 and time.monotonic() < deadline:
                time.sleep(0.05)
                threads.take()
                found = grown(threads)
        finally:
            process.kill()
    assert len(found) == 5
    busy, *others = sorted(found, key=lambda subject: -found[subject])
    assert busy.startswith("thread:one/")
    assert found[busy] >= 0.2
    assert all(found[subject] < 0.1 for subject in others)


def stat(tid: int, used: int) -> str:
    return f"{tid} (t{tid}) S 1 0 0 0 -1 64 0 0 0 0 {used} 0 0 0 20 0 1 0 100 0 0"


def test_many_threads_are_read_rarely_with_pauses_and_the_busiest_are_kept(tmp_path: Path) -> None:
    for tid in range(100, 300):
        (tmp_path / "7" / "task" / str(tid)).mkdir(parents=True)
        (tmp_path / "7" / "task" / str(tid) / "stat").write_text(stat(tid, 0))
    pauses: list[float] = []
    threads = Threads({"one": 7}, proc=tmp_path, pause=pauses.append)
    threads.take()
    assert len(pauses) == 3
    threads.take()
    assert len(pauses) == 3, "it is not time yet"
    threads._due = 0.0
    for tid in (111, 112, 113, 114, 115, 116):
        (tmp_path / "7" / "task" / str(tid) / "stat").write_text(stat(tid, tid))
    threads.take()
    assert {subject for _, subject, _, _ in threads.rows()} == {f"thread:one/{tid} t{tid}" for tid in range(112, 117)}


def test_a_server_that_has_ended_is_no_news(tmp_path: Path) -> None:
    threads = Threads({"gone": 7}, proc=tmp_path)
    threads.take()
    assert threads.rows() == []


def test_dropped_packets_are_counted_over_all_processors_and_only_at_the_ports_asked_for(tmp_path: Path) -> None:
    (tmp_path / "softnet_stat").write_text("0000ffff 00000010 00000002 0\n00000001 00000001 00000001 0\n")
    header = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes\n"
    lines = "  ra: 1 2 0 3 0 0 0 0 9 9 0 4 0 0 0 0\n rb: 1 2 0 50 0 0 0 0 9 9 0 60 0 0 0 0\n"
    (tmp_path / "dev").write_text(header + lines)
    assert softnet(tmp_path) == (17, 3)
    assert port_drops({"ra"}, tmp_path) == 7


def test_this_kernels_own_counters_are_understood() -> None:
    dropped, squeezed = softnet()
    assert dropped >= 0
    assert squeezed >= 0
    assert port_drops({"lo"}) >= 0
