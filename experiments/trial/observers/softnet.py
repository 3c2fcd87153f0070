"""Packets that this kernel dropped because it did not come to them, beside what a link is asked to lose."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

NET = Path("/proc/thread-self/net")


def softnet(net: Path = NET) -> tuple[int, int]:
    """Of all processors: packets dropped from a full backlog, and how often softirqs stopped with packets left."""
    columns = [line.split() for line in (net / "softnet_stat").read_text().splitlines()]
    return sum(int(one[1], 16) for one in columns), sum(int(one[2], 16) for one in columns)


def port_drops(ports: Collection[str], net: Path = NET) -> int:
    """Packets that these interfaces of the thread's network namespace dropped, received and sent ones together.

    What a queueing discipline or a rule drops is not among them.
    """
    dropped = 0
    for line in (net / "dev").read_text().splitlines()[2:]:
        name, _, counters = line.partition(":")
        if name.strip() in ports:
            fields = counters.split()
            dropped += int(fields[3]) + int(fields[11])
    return dropped
