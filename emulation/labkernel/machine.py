"""Booting a lab kernel: its private folder, its command line, and what went wrong when it ends by itself."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulation.labkernel import shares, shim
from emulation.labkernel.cores import goes_first
from emulation.labkernel.frames import Job
from emulation.labkernel.guard import Guard, Kernel
from emulation.labkernel.installed import BINARY, MODULES, NO_PTRACE, memory_folder, scratch_base

_HERE = Path(__file__).parent
_LAST_LINES, _LAST_CHARACTERS = 12, 20000
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
# Lines that every boot has, and what a kernel says about itself when it panics.
_NOISE = re.compile(
    r"^SELinux: |mmapper_init|ubd device 0|epollctl add err|^Core dump limits|^\s(soft|hard) - |\.\.\.(OK|none found)$"
    r"|^Adding \d+ bytes|^\s*$|^ *\[<[0-9a-f]+>\]|^( [0-9a-f]{8})+$|^(Stack|Call Trace|Modules linked in):"
    r"|^CPU: \d+ PID"
)
_CURES = {
    r"ptrace.*(not permitted|denied)|(not permitted|denied).*ptrace": NO_PTRACE,
    # EFAULT: the host wants a larger area than the lab kernel has (xstate.c).
    r"ptrace set fp regs failed, errno = 14\b": (
        "this processor has more registers than the lab kernel has room for: make setup builds the shim for that, "
        f"and {shim.VARIABLE}=on insists on it"
    ),
    r"noexec": "set TMPDIR to a folder on a file system that is not mounted noexec",
    r"SIGBUS|No space left": "the file system of the guest's memory is full: free some, set TMPDIR, or ask for less",
    r"Out of memory and no killable processes": "ask for more memory (--memory)",
}


@dataclass(slots=True)
class Machine:
    """A lab kernel that has been started.  to, back: our ends of its serial line; console: what it has said."""

    guard: Guard
    to: int
    back: int
    console: Path

    def why(self) -> str:
        """What its console says about its end; see `last_words`."""
        with self.console.open("rb") as console:
            console.seek(max(0, self.console.stat().st_size - _LAST_CHARACTERS))
            return last_words(console.read().decode(errors="replace"))


def last_words(said: str) -> str:
    """Of what a console has said: the reason of its end and known cures as one line, below it its last lines.

    The reason is that of a panic and the line before it, in which user-mode Linux says what went wrong on the host.
    """
    lines = [line.rstrip() for line in said.splitlines() if not _NOISE.search(line)]
    cures = [f"; {cure}" for pattern, cure in _CURES.items() if re.search(pattern, said, re.IGNORECASE)]
    return "\n  ".join(
        [_reason(lines) + "".join(cures), "last lines of its console:", *(lines[-_LAST_LINES:] or ["(none)"])]
    )


def _reason(lines: Sequence[str]) -> str:
    for number, line in enumerate(lines):
        if panic := _PANIC.search(line):
            return f"kernel panic: {panic[1]}" + (f", after: {lines[number - 1].strip()}" if number else "")
    return "its console has no reason"


@contextmanager
def started(
    job: Job,
    *,
    binds: Sequence[tuple[str, Path]],
    memory: str,
    core: int,
    lock: int,
    console: Path | None,
    preload: Path | None,
) -> Iterator[Machine]:
    """A lab kernel that boots, and will run `job`; gone with all that it made when the context ends.

    console: a file that keeps what the kernel says; None: kept until the end only.  preload: a library for the
    kernel's own process.
    """
    memory_at = memory_folder(memory)
    folder = Path(tempfile.mkdtemp(prefix="airwire-lab-", dir=scratch_base()))
    try:
        _furnish(folder / "guest", job, binds)
        record = console or folder / "console"
        output = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        (read, to), (back, write) = os.pipe(), os.pipe()
        guard = Guard(
            Kernel(
                argv=_command(folder, memory=memory, line=(read, write)),
                environment=_environment(folder, memory_at=memory_at, preload=preload),
                descriptors=(read, write),
                locks=(lock,),
                console=output,
                folder=folder,
                core=core,
                first=goes_first(core),
            )
        )
        for one in (read, write, output):
            os.close(one)
        try:
            yield Machine(guard, to, back, record)
        finally:
            guard.close()
            os.close(to)
            os.close(back)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path, *, memory_at: Path, preload: Path | None) -> dict[str, str]:
    """The environment of the kernel's process; the guest has another (shares.environment)."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "TMPDIR": str(memory_at)}
    if preload is None:
        return environment
    # By a name without blanks and colons, which LD_PRELOAD takes for the end of a name.
    (name := folder / preload.name).symlink_to(preload)
    return environment | {"LD_PRELOAD": str(name)}


def _furnish(guest: Path, job: Job, binds: Sequence[tuple[str, Path]]) -> None:
    """The folder that the guest starts from.  The agent is copied: where the project is, the guest may not see."""
    package = guest / "emulation/labkernel"
    package.mkdir(parents=True)
    for name, where in {"init.sh": guest, "agent.py": guest, "frames.py": package, "spawn.py": package}.items():
        shutil.copyfile(_HERE / name, where / name)
    (guest / "init.sh").chmod(0o755)
    (guest / "job").write_bytes(job.dump())
    (guest / "binds").write_bytes(shares.dump(binds))


def _command(folder: Path, *, memory: str, line: tuple[int, int]) -> list[str]:
    return [
        BINARY,
        f"mem={memory}",
        *("rootfstype=hostfs", "rootflags=/", "rw"),
        *(f"init={folder}/guest/init.sh", f"LAB={folder}/guest", f"MODULES={MODULES}"),
        *("con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{line[0]},fd:{line[1]}"),
        *("quiet", "panic=-1", "noreboot", f"uml_dir={folder}/", "umid=lab"),
        # Which way of computing RAID 6 is the fastest: takes 0.85 s of 1.2 s to find out.
        "initcall_blacklist=raid6_select_algo",
    ]
