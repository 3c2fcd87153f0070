"""The user's own programs: where they are looked for, and whether those of a workload are there."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from contextlib import suppress

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


def digests(work: Workload, *, before_s: float = math.inf) -> dict[str, str]:
    """Which programs a workload's are, and what files of this machine they are given by whole paths: by name, the
    beginning of their SHA-256; none of those that are gone, or cannot be read.

    before_s: when the trial began (since 1970): what was written later came of the programs.
    """
    found = {}
    for word in named(work):
        path = word if os.path.isabs(word) else shutil.which(word, path=PATH)
        with suppress(OSError):
            if path and os.path.isfile(path) and os.stat(path).st_mtime < before_s:
                with open(path, "rb") as file:
                    found[word] = f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    return found


def named(work: Workload) -> tuple[str, ...]:
    """Its programs, and the whole paths among their arguments, whatever is there."""
    words = list(_programs(work).values())
    if isinstance(work, Command):
        ends = (one for one in (work.server, work.client) if one is not None)
        words += [word for one in ends for word in one.command[1:] if os.path.isabs(word)]
    return tuple(dict.fromkeys(words))


def _programs(work: Workload) -> dict[str, str]:
    if not isinstance(work, Command):
        return {}
    return {end: one.command[0] for end, one in (("server", work.server), ("client", work.client)) if one is not None}
