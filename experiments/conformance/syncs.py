"""A process's syncs to disk, as strace sees them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from records.errors import CannotGoOn

# Lines are `PID TIME call(...) = 0 <DURATION>`, in two halves where others come between.
_SYNC = re.compile(r"^\d+ +(\d+\.\d+) (<\.\.\. )?\w+.* = 0 +<(\d+\.\d+)>$", re.MULTILINE)


@contextmanager
def watched(pids: Sequence[int], log: Path) -> Iterator[None]:
    """Write every sync of these processes to `log` while the block runs; CannotGoOn where they cannot be traced."""
    command = ["strace", "-f", "-ttt", "-T", "-e", "trace=fsync,fdatasync,msync,sync_file_range", "-o", str(log)]
    for pid in pids:
        command += ["-p", str(pid)]
    try:
        strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise CannotGoOn(f"strace: {error.strerror}; this brings it: apt-get install strace") from error
    with strace:
        assert strace.stderr
        try:
            for _ in pids:
                if "attached" not in (said := strace.stderr.readline()):
                    raise CannotGoOn(f"strace does not see the processes {', '.join(map(str, pids))}: {said.strip()}")
            yield
        finally:
            strace.terminate()


def ends(log: str) -> list[float]:
    """When each sync of such a log was done, in seconds since the epoch."""
    return [float(at) + (0 if resumed else float(lasted)) for at, resumed, lasted in _SYNC.findall(log)]


def covered(spans: Sequence[tuple[float, float]], done: Sequence[float]) -> int:
    """In how many of these spans of time, begin and end included, a sync was done."""
    return sum(any(begun <= end <= over for end in done) for begun, over in spans)
