"""Shares of a processor: a group's processes get no more than it, and groups go with whoever made them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from campaign_runs import until

from experiments.trial.cpugroups import NoCpuGroups, limit, made
from experiments.trial.write_trial import _stations
from experiments.workers.isolation import ROOT
from records.nodes import NodeEvent

HOLDS = """
import os, signal
from experiments.trial.cpugroups import limit, made
with made() as folder:
    limit(str(folder), {"sta1": (os.getpid(),)}, 0.3)
    print(folder, flush=True)
    signal.pause()
"""


@contextmanager
def busy() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def counters(group: Path) -> dict[str, int]:
    return {name: int(value) for name, value in map(str.split, (group / "cpu.stat").read_text().splitlines())}


@pytest.mark.root
def test_a_busy_station_is_stopped_when_its_share_is_used_up() -> None:
    with made() as folder:
        with busy() as one, busy() as other:
            limit(str(folder), {"sta1": (one.pid, other.pid), "sta2": (), "sta3": ()}, 0.05)
            until(lambda: counters(folder / "sta1")["nr_throttled"] >= 10)
            pids = {int(word) for word in (folder / "sta1/cgroup.procs").read_text().split()}
            assert pids == {one.pid, other.pid}
            assert counters(folder / "sta2")["nr_throttled"] == 0
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.root
def test_the_groups_of_a_killed_process_are_gone_when_it_is() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert (folder / "sta1").is_dir()
        holder.kill()
        holder.wait()
    until(lambda: not folder.exists())


@pytest.mark.root
def test_a_kernel_that_lets_nobody_make_a_group_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text("1:cpu:/\n")
    (tmp_path / "self/mountinfo").write_text(f"30 25 0:26 / {tmp_path}/none rw - cgroup cgroup rw,cpu\n")
    with pytest.raises(NoCpuGroups, match=r"station_cores: .*No such file or directory: run as root"), made(tmp_path):
        pass
    (tmp_path / "self/cgroup").write_text("")
    with pytest.raises(NoCpuGroups, match="shows no control groups with a quota"), made(tmp_path):
        pass


def test_only_stations_with_processes_are_held_to_their_share() -> None:
    def at(node: str) -> SimpleNamespace:
        return SimpleNamespace(node=node)

    names = [SimpleNamespace(name=f"sta{number}") for number in (1, 2, 3)]
    running = [SimpleNamespace(node="sta2", name="relay"), SimpleNamespace(node="server", name="broker")]
    context = SimpleNamespace(
        network=SimpleNamespace(stations=names), running=running,
        workload=SimpleNamespace(producers=[at("sta1")], consumers=[at("sta1")]), settings=SimpleNamespace(nodes=[]),
    )  # fmt: skip
    assert _stations(context) == {"sta1": ["generator:sta1"], "sta2": ["server:relay"]}  # type: ignore[arg-type]
    context.settings.nodes = [
        NodeEvent(at_s=0.2, node="sta1", event="kill"),
        NodeEvent(at_s=3, node="sta2", event="kill"),
    ]
    assert list(_stations(context)) == ["sta2"]  # type: ignore[arg-type]


def test_a_station_without_a_group_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(NoCpuGroups, match=r"station_cores: .*sta1"):
        limit(str(tmp_path / "none"), {"sta1": (os.getpid(),)}, 0.5)
