"""`lab doctor`: what this machine can do, and what it lacks."""

from __future__ import annotations

import os
import shutil

import typer
from rich.table import Table

from emulation import congestion, features, library
from emulation.features import MissingFeature
from emulation.namespace import read_sysctl
from emulation.stages import CURE, Feature
from experiments import provenance
from lab.common import DEFAULT_RESULTS, Status, out, tidy, told

_TOOLS = {
    "tcpdump": "apt-get install tcpdump",
    "nft": "apt-get install nftables",
    "ip": "apt-get install iproute2",
    "mnexec": "apt-get install mininet",
    "nsenter": "apt-get install util-linux",
    "setpriv": "apt-get install util-linux",
    "java": "apt-get install openjdk-17-jre-headless",
    "ansible-playbook": "make setup",
}
# Without these not even an unimpaired network can be built; netem is for profiles with delay.
_NEEDED = set(Feature) - {Feature.NETEM}


def doctor() -> None:
    """Say what this machine can do, what it cannot, and what would cure it.  Exit status 1: not fit to run."""
    with told():
        tidy(DEFAULT_RESULTS)
        raise typer.Exit(_examine())


def _examine() -> Status:
    available = features.probe()
    rows = [("root", "" if os.geteuid() == 0 else "not root", "run as root (sudo)", True)]
    rows += [(str(one), available[one], CURE[one], one in _NEEDED) for one in Feature]
    rows += [(tool, "" if _found(tool) else "not found", cure, True) for tool, cure in _TOOLS.items()]
    table = Table("", "what", "state", "cure", box=None, pad_edge=False)
    for name, problem, cure, needed in rows:
        mark = "[green]ok[/]" if not problem else "[red]no[/]" if needed else "[yellow]--[/]"
        table.add_row(mark, name, problem or "works", cure if problem else "")
    out.print(table)
    out.print()
    out.print(_profiles(available))
    machine = provenance.gather()
    out.print(f"\nkernel {machine.kernel.release}; {machine.machine.cpu_model}, {machine.machine.cores} cores")
    out.print(f"TCP congestion controls: {read_sysctl(congestion.AVAILABLE)}")
    return Status.FAILED if any(problem and needed for _, problem, _, needed in rows) else Status.ALL_VALID


def _profiles(available: dict[Feature, str]) -> Table:
    table = Table("", "link profile", "what it is", box=None, pad_edge=False)
    for name in library.names():
        profile = library.load(name)
        try:
            features.require(profile, available)
            table.add_row("[green]ok[/]", name, profile.description)
        except MissingFeature as error:
            table.add_row("[red]no[/]", name, str(error))
    return table


def _found(tool: str) -> bool:
    return bool(
        shutil.which(tool)
        or shutil.which(tool, path="/usr/sbin:/sbin")
        or (provenance.ROOT / ".venv/bin" / tool).exists()
    )
