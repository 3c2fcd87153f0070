"""Commands in lab kernels, for the tests of these."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from emulation import labkernel
from experiments.workers.isolation import SOURCES

ROOT = Path(__file__).parents[2]
# What linux.uml says without its shim on a processor with AMX, as a script of the shell (for `faulty`).
PANICS = (
    "echo 'userspace - ptrace set fp regs failed, errno = 14'",
    "echo 'Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b'",
    "kill -ABRT $$",
)
boots = pytest.mark.skipif(bool(labkernel.problem()), reason=labkernel.problem() or "-")


def environment(scratch: Path) -> dict[str, str]:
    return dict(os.environ) | {"TMPDIR": str(scratch), "HOME": str(scratch), "PYTHONPATH": str(ROOT)}


def call(*argv: str, options: Sequence[str] = ()) -> list[str]:
    words = labkernel.command(argv)
    return [*words[: words.index("--")], *options, *words[words.index("--") :]]


def lab(
    scratch: Path, *argv: str, options: Sequence[str] = (), text: bytes = b"", user: int = 0, **extra: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        call(*argv, options=options),
        input=text,
        capture_output=True,
        env=environment(scratch) | extra,
        timeout=120,
        check=False,
        **({"user": user, "group": user, "extra_groups": []} if user else {}),  # type: ignore[arg-type]
    )


def answers_of(script: Path) -> dict[str, Any]:
    """What a program of ours prints in a lab kernel, as one JSON object."""
    words = labkernel.command([sys.executable, str(script)], timeout_s=900)
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | SOURCES)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def running(scratch: Path, *argv: str, options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A command in a lab kernel that has said `ready`."""
    process = subprocess.Popen(
        call(*argv, options=options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(scratch),
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


def gone(processes: Sequence[psutil.Process], *, within_s: float = 60.0) -> bool:
    """Whether these have ended; a zombie whose new parent does not care has ended as well."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes):
            return True
        time.sleep(0.02)
    return False


def family(pid: int) -> list[psutil.Process]:
    found = psutil.Process(pid).children(recursive=True)
    assert len(found) >= 4  # guard, kernel, its helpers
    return found


def faulty(folder: Path, *lines: str) -> dict[str, str]:
    """An environment in which `linux.uml` is a shell script made of these lines."""
    folder.mkdir()
    script = folder / "linux.uml"
    script.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    script.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}
