"""A machine booted with ipv6.disable=1 runs networks and servers as any other; here the lab kernel is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulation import labkernel
from emulation.kernel import ipv6, namespace
from emulation.kernel.namespace import in_namespace, read_sysctl, throwaway_namespace
from experiments.workers.isolation import SOURCES

HERE = Path(__file__).parents[2] / "support"
SETTING = "net.ipv6.conf.all.disable_ipv6"


@pytest.mark.labkernel
@pytest.mark.skipif(bool(labkernel.problem()), reason=labkernel.problem() or "-")
def test_a_kernel_without_ipv6_has_networks_and_tells_who_holds_a_port() -> None:
    words = labkernel.command([sys.executable, str(HERE / "in_kernel_without_ipv6.py")], timeout_s=300)
    usual = [sys.executable, "-P", "-m", "emulation.labkernel"]
    assert words[:4] == usual
    booted = [sys.executable, str(HERE / "lab_without_ipv6.py"), *words[4:]]
    done = subprocess.run(booted, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | SOURCES)
    assert json.loads(done.stdout) == {"settings": False, "sockets": False, "crossed": 3, "holder": True}


def test_where_there_is_no_setting_nothing_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace, "_sysctl", lambda name: tmp_path / name.replace(".", "/"))
    ipv6.turn_off()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", ["0", "1"])
def test_where_there_is_one_it_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    setting = tmp_path / "setting"
    setting.write_text(f"{before}\n")
    monkeypatch.setattr(namespace, "_sysctl", lambda _: setting)
    ipv6.turn_off()
    assert setting.read_text().strip() == "1"


@pytest.mark.root
@pytest.mark.skipif(not read_sysctl(SETTING), reason="this kernel has no IPv6")
def test_a_namespace_loses_ipv6() -> None:
    with throwaway_namespace() as pid:
        in_namespace(pid, ipv6.turn_off)
        assert in_namespace(pid, lambda: read_sysctl(SETTING)) == "1"
