"""The user's own programs: where they are looked for, and whether those of a workload are there."""

from __future__ import annotations

import hashlib
import shutil

from records.workload import Command, Workload

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Programs that packages of the same name bring.
_PACKAGES = frozenset({"iperf3", "curl", "python3", "netperf", "wget", "socat"})


def why_not(program: str) -> str:
    """Why a program cannot be started on this machine, with the way out; '' when it can."""
    if shutil.which(program, path=PATH):
        return ""
    if program in _PACKAGES:
        return f"{program!r} is not installed; this brings it: sudo apt-get install {program}"
    where = "no program that can be executed" if "/" in program else f"not in {PATH}"
    return f"{program!r} is {where}: install it, or give its whole path"


def missing(work: Workload) -> str:
    """Which programs of a workload are not there, each with the way out; '' when all are."""
    found = {end: why_not(program) for end, program in _programs(work).items()}
    return "; ".join(f"workload.{end}.command: {why}" for end, why in found.items() if why)


def digests(work: Workload) -> dict[str, str]:
    """Which programs a workload's are: by name, the beginning of their files' SHA-256; none of those that are gone."""
    found = {}
    for program in _programs(work).values():
        if path := shutil.which(program, path=PATH):
            with open(path, "rb") as file:
                found[program] = f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    return found


def _programs(work: Workload) -> dict[str, str]:
    if not isinstance(work, Command):
        return {}
    return {end: one.command[0] for end, one in (("server", work.server), ("client", work.client)) if one is not None}
