"""`lab doctor`: what this machine can do by itself, in the lab kernel, and not at all."""

from __future__ import annotations

import os
import shutil

import typer
from rich.table import Table
from rich.text import Text

from emulation import labkernel
from emulation.kernel import congestion
from emulation.kernel.namespace import read_sysctl
from emulation.plan.stages import CURE
from emulation.profile import library
from experiments.tools.calibration import stations_needed
from experiments.trial import provenance
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from experiments.workers.programs import why_not
from lab.common import DEFAULT_RESULTS, ROOT, Status, out, told
from lab.start import tidy
from lab.system_packages import AS_ROOT
from stacks import folders
from stacks.installed import version

_TOOLS = {
    "tcpdump": "apt-get install tcpdump",
    "nft": "apt-get install nftables",
    "ip": "apt-get install iproute2",
    "mnexec": "apt-get install mininet",
    "nsenter": "apt-get install util-linux",
    "setpriv": "apt-get install util-linux",
    "ansible-playbook": "make setup",
}
_LOADS = {"iperf3": "iperf3.yaml", "curl": "http-curl.yaml"}
_HEADINGS = {
    Place("host", "tc"): ("natively, by tc    ", "green"),
    Place("host", "line"): ("natively, by line  ", "green"),
    Place("lab", "tc"): ("in the lab kernel  ", "yellow"),
}


def doctor() -> None:
    """Print what this machine can do, and end with the status that says so."""
    with told():
        tidy(DEFAULT_RESULTS)
        raise typer.Exit(examine(Kernels()))


def examine(kernels: Kernels) -> Status:
    """Print what there is to say, and return the exit status."""
    table = Table("", "what", "state", "cure", box=None, pad_edge=False)
    tools = {tool: cure for tool, cure in _TOOLS.items() if not _found(tool)}
    for tool, cure in _TOOLS.items():
        _row(table, tool, "not found" if tool in tools else "", cure, fatal=True)
    _packages(table)
    for problem in folders.found().problems:
        _row(table, "stacks", problem, "remove or mend that package")
    _row(table, "this kernel, as root", "not root" if os.geteuid() else "", "run as root (sudo), or use the lab kernel")
    for feature, problem in kernels.host_features.items():
        if not os.geteuid():
            _row(table, f"  {feature}", problem, CURE[feature])
    fails = kernels.lab.outcome is labkernel.Outcome.FAILS
    problem, cure = ("does not boot", "see below") if fails else (kernels.lab.why, "")
    _row(table, f"lab kernel {labkernel.release()}".rstrip(), problem, cure)
    out.print(table)
    if fails:
        out.print(f"\nlab kernel: {kernels.lab.why}")
    ways: dict[Place, list[str]] = {Place("host", "tc"): [], Place("host", "line"): [], Place("lab", "tc"): []}
    nowhere: dict[str, str] = {}
    for name in library.names():
        try:
            profile = library.load(name)
            ways[kernels.choose(profile, stations=stations_needed(profile))].append(name)
        except NotPossible as error:
            nowhere[name] = str(error)
    out.print()
    for place, names in ways.items():
        out.print(Text(*_HEADINGS[place]) + (", ".join(names) or "no link profile"))
    out.print(Text("not at all         ", "red") + (", ".join(nowhere) or "no link profile"))
    for why in nowhere.values():
        out.print(f"    {why.splitlines()[0]}")
    machine = provenance.gather()
    out.print(f"\nkernel {machine.kernel.release}; {machine.machine.cpu_model}, {machine.machine.cores} cores")
    out.print(f"TCP congestion controls: {read_sysctl(congestion.AVAILABLE)}")
    if tools or not any(ways.values()):
        return Status.FAILED
    uncertain = fails or kernels.lab.outcome is labkernel.Outcome.UNTRIED
    return Status.NOT_ALL_VALID if nowhere or uncertain else Status.ALL_VALID


def _packages(table: Table) -> None:
    """What stacks need, and the programs that scenarios of ours run."""
    for declared in folders.found().declared:
        for package in declared.debian:
            problem = "" if version(package) else f"not found, {declared.source} needs it"
            _row(table, package.name, problem, AS_ROOT)
    for program, scenario in _LOADS.items():
        problem = f"not found, experiments/scenarios/{scenario} needs it" if why_not(program) else ""
        _row(table, program, problem, f"apt-get install {program}")


def _row(table: Table, what: str, problem: str, cure: str, *, fatal: bool = False) -> None:
    mark = Text("ok", "green") if not problem else Text("no", "red") if fatal else Text("--", "yellow")
    table.add_row(mark, what, Text(problem or "works"), cure if problem else "")


def _found(tool: str) -> bool:
    return bool(
        shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin") or (ROOT / ".venv/bin" / tool).exists()
    )
