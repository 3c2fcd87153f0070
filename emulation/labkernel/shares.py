"""What of the host a guest sees, may write, and gets as environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from emulation.labkernel.installed import LabKernelError

# The guest has its own of these, so what lies under them on the host must be bound to be seen.
_HIDDEN = (Path("/tmp"), Path("/run"), Path("/dev/shm"))  # noqa: S108 - names of the guest's mounts
_PASSED = ("LANG", "PYTHONPATH", "VIRTUAL_ENV", "TERM")
_PROJECT = Path(__file__).resolve().parents[2]


def binds(write: Sequence[str], read: Sequence[str], folder: str) -> list[tuple[str, Path]]:
    """('w' or 'r', folder) for every folder that is to be bound, outer ones first.

    Beside the ones asked for: the command's folder, the project, and the Python that runs this, if they would
    not be seen.  LabKernelError when one is no folder, or when one to write to is not writable.
    """
    asked = {_folder(one, "--read"): "r" for one in read}
    asked |= {_folder(one, "--write"): "w" for one in write}
    for one, mode in asked.items():
        if mode == "w" and not os.access(one, os.W_OK):
            raise LabKernelError(f"--write {one}: you may not write there yourself")
    for wanted in _needed(folder):
        if wanted not in _HIDDEN and _is_hidden(wanted) and not any(wanted.is_relative_to(one) for one in asked):
            asked[wanted] = "r"
    return [(asked[one], one) for one in sorted(asked)]


def dump(pairs: Iterable[tuple[str, Path]]) -> bytes:
    """The file that init.sh reads."""
    return b"".join(mode.encode() + os.fsencode(one) + b"\n" for mode, one in pairs)


def environment(of: Mapping[str, str]) -> dict[str, str]:
    """The command's environment: a few of ours, a private home, and AIRWIRE_KERNEL=lab."""
    passed = {name: value for name, value in of.items() if name in _PASSED or name.startswith("AIRWIRE_")}
    path = of.get("PATH", os.defpath).split(":")
    path += [one for one in ("/usr/sbin", "/sbin", "/usr/bin", "/bin") if one not in path]
    return passed | {"PATH": ":".join(path), "HOME": "/run/home", "AIRWIRE_KERNEL": "lab"}


def current_folder() -> str:
    """Where the command is to run; LabKernelError when that has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise LabKernelError("the current folder has been removed: change to one that is there") from error


def _needed(folder: str) -> set[Path]:
    python_path = [one for one in os.environ.get("PYTHONPATH", "").split(":") if one]
    names = [folder, str(_PROJECT), sys.prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV", ""), *python_path]
    return {Path(name).resolve() for name in names if name and Path(name).is_dir()}


def _folder(name: str, option: str) -> Path:
    path = Path(name).resolve()
    if not path.is_dir():
        raise LabKernelError(f"{option} {name}: there is no such folder")
    if is_guests_own(path):
        raise LabKernelError(f"{option} {name}: a lab kernel has a {path} of its own; name a folder elsewhere")
    if "\n" in str(path):
        raise LabKernelError(f"{option} {name!r}: a lab kernel cannot show a folder with a line break in its name")
    return path


def is_guests_own(path: Path) -> bool:
    """Whether a guest has another folder of that name, so that this one cannot be given to it."""
    return path.is_relative_to("/run") or any(hidden.is_relative_to(path) for hidden in _HIDDEN)


def _is_hidden(path: Path) -> bool:
    return any(path.is_relative_to(one) for one in _HIDDEN)
