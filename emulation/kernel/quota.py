"""What we may have of the machine: its processors, the quota of our control group and how often that stopped us."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Throttled:
    """Cumulative.  periods: in which the group was stopped.  seconds: for how long, summed over processors."""

    periods: int
    seconds: float


def usable_cores() -> int:
    """On how many of the machine's processors we may run: control groups and `taskset` can keep us from others."""
    return len(os.sched_getaffinity(0))


def throttled(proc: Path = Path("/proc")) -> Throttled | str:
    """What cpu.stat of our groups says (version 1 or 2), or why that is not known.

    A group without a quota, the root among them, has no such counters: it was never stopped.
    """
    try:
        folders = groups((proc / "self/cgroup").read_text(), (proc / "self/mountinfo").read_text())
        if folders is None:
            return Throttled(0, 0.0)
        found = [_throttled(folder / "cpu.stat") for folder in folders]
    except FileNotFoundError as error:
        if error.filename and error.filename.endswith("self/cgroup"):
            return Throttled(0, 0.0)  # a kernel without control groups has no quotas
        return f"{error.filename}: {error.strerror}"
    except (OSError, ValueError) as error:
        return str(error)
    if not found:
        return "the control groups are not mounted where they can be seen"
    return Throttled(sum(one.periods for one in found), sum(one.seconds for one in found))


def is_set(proc: Path = Path("/proc")) -> bool:
    """Whether a quota of our groups (version 1 or 2) is known."""
    with suppress(OSError, ValueError):
        folders = groups((proc / "self/cgroup").read_text(), (proc / "self/mountinfo").read_text())
        return any(map(_has_quota, folders or ()))
    return False


def _has_quota(folder: Path) -> bool:
    for name, none in (("cpu.max", "max"), ("cpu.cfs_quota_us", "-1")):
        with suppress(OSError):
            return (folder / name).read_text().split()[0] != none
    return False


def groups(cgroup: str, mountinfo: str) -> list[Path] | None:
    """Folders of our group that can have a quota and of those above it, as far up as can be seen.

    cgroup, mountinfo: /proc/self/cgroup and /proc/self/mountinfo.  None when no controller of processors exists.
    """
    ours: dict[str, str] = {}
    for line in cgroup.splitlines():
        number, names, path = line.split(":", 2)
        if number == "0" and not names:
            ours["cgroup2"] = path
        elif "cpu" in names.split(","):
            ours["cgroup"] = path
    if not ours:
        return None
    kind = "cgroup" if "cgroup" in ours else "cgroup2"
    for root, mounted in _mounts(mountinfo, kind):
        return _upwards(Path(mounted), root, ours[kind])
    return []


def _mounts(mountinfo: str, kind: str) -> Iterator[tuple[str, str]]:
    """Root and place of each mount with the controller of processors."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        what, _, options = right.split(" ", 2)
        if what == kind and (kind == "cgroup2" or "cpu" in options.split(",")):
            _, _, _, root, mounted, *_ = left.split()
            yield root, mounted.replace("\\040", " ")


def _upwards(mounted: Path, root: str, path: str) -> list[Path]:
    inside = path.removeprefix(root if root != "/" else "").strip("/") if path.startswith(root) else ""
    parts = [] if ".." in inside.split("/") else [one for one in inside.split("/") if one]
    return [mounted.joinpath(*parts[:length]) for length in range(len(parts), -1, -1)]


def _throttled(path: Path) -> Throttled:
    words = dict(line.split() for line in path.read_text().splitlines())
    nanoseconds = int(words.get("throttled_time", 0)) or int(words.get("throttled_usec", 0)) * 1000
    return Throttled(int(words.get("nr_throttled", 0)), nanoseconds / 1e9)
