"""Which trials are too large for one task, and what each of the tasks that share one is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import RANGE_BYTES, to_json
from analysis.partial import DAMAGE, said
from records.location import bytes_at
from records.manifest import Capture, Manifest
from records.store import Trial
from records.workload import Command

PACKETS = 1 << 18  # of all captures of a trial that a task analyses, some 0.2 GB
LARGE_PACKETS = 1 << 20
_FEWEST_BYTES = 64  # that a packet with its record's header takes in a file
_MOST_BUCKETS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCapture:
    """A capture of a large trial.  ranges: as JSON (analysis.capture.ranges).  damage, unread: what is wrong with the
    file, and why nothing of it can be read.  whole: whether it has all packets that were captured.
    """

    file: str
    ranges: tuple[str, ...] = ()
    damage: str | None = None
    unread: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """A large trial.  number: its own among those that are reduced.  bodies: whether messages are looked for in
    packets.  damaging: whether its link turns bits over, so that packets are known by all of their bytes.
    """

    path: str
    number: int
    buckets: int
    captures: tuple[PlannedCapture, ...]
    bodies: bool
    damaging: bool


def plan(path: Path, number: int, *, large_packets: int = LARGE_PACKETS, range_bytes: int = RANGE_BYTES) -> (
    TrialPlan | None
):  # fmt: skip
    """How the trial at `path` is shared out; None where it is no work for more than one task, or cannot be read."""
    trial = Trial(path)
    try:
        size = sum(bytes_at(one) for one in path.glob("*.pcap*"))
        if size < large_packets * _FEWEST_BYTES or trial.elsewhere():
            return None
        manifest = trial.manifest()
        kept = [capture for capture in manifest.captures if capture.kept]
        packets = sum(capture.packets for capture in kept)
        if packets < large_packets or manifest.no_captures:
            return None
        damaging = trial.link().damaging
        bodies = _bodies(manifest) and not any(one.link for one in damaging)
    except DAMAGE:
        return None  # whoever reduces it says why
    captures = tuple(_planned(path, capture, range_bytes) for capture in kept)
    if not any(one.ranges for one in captures):
        return None
    buckets = min(max(ceil(packets / PACKETS), 2), _MOST_BUCKETS)
    return TrialPlan(
        path=str(path), number=number, buckets=buckets, captures=captures, bodies=bodies, damaging=bool(damaging)
    )


def plans(paths: Sequence[Path], *, large_packets: int = LARGE_PACKETS) -> list[TrialPlan]:
    """Those of the large trials among `paths`, which are numbered from 0."""
    found = [plan(path, number, large_packets=large_packets) for number, path in enumerate(paths)]
    return [one for one in found if one is not None]


def _planned(trial: Path, capture: Capture, range_bytes: int) -> PlannedCapture:
    try:
        found = kept_index(trial / capture.file, range_bytes=range_bytes)
    except Exception as error:  # noqa: BLE001 - the other captures are read all the same
        return PlannedCapture(file=capture.file, unread=said(error), whole=False)
    return PlannedCapture(
        file=capture.file,
        ranges=tuple(map(to_json, found.ranges)),
        damage=found.damage,
        whole=found.damage is None and found.records >= capture.packets,
    )


def _bodies(manifest: Manifest) -> bool:
    """Whether messages are looked for in packets: not where nodes have stamped them, nor where they are encrypted."""
    work = manifest.workload
    return not ("stamps" in manifest.rows or isinstance(work.asked, Command) or work.tls)
