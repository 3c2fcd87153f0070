"""`python -m emulation.labkernel.shim_build`: the set-up's building of the lab kernel's shim."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from emulation.labkernel import shim
from emulation.labkernel.installed import LabKernelError


def build(folder: Path = shim.BUILD) -> Path:
    """Build the shim unless it is there, for all users of this machine.  LabKernelError when that fails."""
    if (library := shim.path(folder)).exists():
        return library
    try:
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)
        number, name = tempfile.mkstemp(dir=folder, prefix=".xstate-")
        os.close(number)
        fresh = Path(name)
        try:
            _compile(fresh)
            fresh.chmod(0o644)
            fresh.replace(library)
        finally:
            with suppress(FileNotFoundError):
                fresh.unlink()
    except OSError as error:
        raise LabKernelError(f"building the lab kernel's shim: {error.filename}: {error.strerror}") from error
    return library


def _compile(output: Path) -> None:
    command = ["tcc", "-Wall", "-Werror", "-shared", "-nostdlib", "-o", str(output), str(shim.SOURCE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabKernelError(
            "tcc, which builds the lab kernel's shim, is not installed: apt-get install tcc"
        ) from error
    if done.returncode:
        raise LabKernelError(f"tcc cannot build the lab kernel's shim: {(done.stderr or done.stdout).strip()}")


def main() -> int:
    """Build it; status 1 and a message when that is not possible."""
    try:
        build()
    except LabKernelError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
