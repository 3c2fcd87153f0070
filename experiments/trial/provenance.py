"""Where numbers come from: revision, machine, kernel, software.  Gathered once per campaign."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from emulation.kernel import kernel
from emulation.kernel.memo import digest
from emulation.kernel.quota import usable_cores
from experiments.trial.revision import git
from records.manifest import Git, Kernel, Machine
from records.record import Record
from stacks import folders
from stacks.installed import python_version, version

SYSCTLS = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_min_tso_segs",
    "net.core.default_qdisc",
)
MACHINE_SYSCTLS = (
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_mem",
    "net.core.rmem_max",
    "net.core.wmem_max",
)
_PACKAGES = ("mininet", "pyroute2", "ansible-core", "ansible-runner", "uvloop", "pyarrow", "numpy")
_TOOLS: dict[str, Sequence[str]] = {
    "tcpdump": ("tcpdump", "--version"),
    "nftables": ("nft", "--version"),
    "iproute2": ("ip", "-V"),
}


class Provenance(Record):
    """What is the same for all trials of a run of a campaign."""

    git: Git
    kernel: Kernel
    machine: Machine
    versions: dict[str, str]


def gather() -> Provenance:
    """Ask git, the kernel, and every tool; what does not answer is recorded as absent."""
    return Provenance(
        git=git(),
        kernel=this_kernel(),
        machine=Machine(
            cpu_model=_cpu_model(),
            cores=usable_cores(),
            memory_bytes=psutil.virtual_memory().total,
            load_1m_before=os.getloadavg()[0],
        ),
        versions=_of_stacks()
        | {"python": sys.version.split()[0]}
        | {tool: _first_line(command) for tool, command in _TOOLS.items()}
        | {package: _package(package) for package in _PACKAGES},
    )


def this_kernel() -> Kernel:
    """The kernel that this process runs on."""
    return Kernel(release=" ".join((os.uname().release, os.uname().version)), chosen=kernel.current())


def _of_stacks() -> dict[str, str]:
    """Versions of what stacks need, and of the packages that bring them; of equal names ours counts."""
    told: dict[str, str] = {}
    for one in folders.found().declared:
        if one.distribution:
            told.setdefault(one.distribution, f"{_package(one.distribution)} (code {digest(one.folder)[:12]})")
        for wanted in one.debian:
            if wanted.name not in told:
                told[wanted.name] = version(wanted) or "absent"
        for needed in one.python:
            told.setdefault(needed.name, _package(needed.name))
    return told


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr) if done.returncode == 0 else ""


def _first_line(command: Sequence[str]) -> str:
    return next(iter(_output(command).splitlines()), "absent")


def _package(name: str) -> str:
    return python_version(name) or "absent"


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine
