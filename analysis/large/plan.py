"""Which trials are too large for one task, and what each of the tasks that share one is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from analysis.capture.ranges import RANGE_BYTES, to_json
from analysis.large.files import Files, Here
from analysis.partial import DAMAGE, is_of_the_machine, said
from records.location import bytes_at
from records.manifest import Capture, Manifest
from records.store import Trial
from records.workload import Command

PACKETS = 1 << 18  # of all captures of a trial that a task analyses, some 0.2 GB
LARGE_PACKETS = 1 << 20
CAPTURES = "*.pcap*"  # files of a trial's folder
_FEWEST_BYTES = 64  # that a packet with its record's header takes in a file
_MOST_BUCKETS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A large trial whose captures have still to be walked.  The rest is as TrialPlan has it."""

    files: Files
    number: int
    buckets: int
    captures: tuple[Capture, ...]
    bodies: bool
    damaging: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCapture:
    """A capture of a large trial.  ranges: as JSON (analysis.capture.ranges).  damage, unread: what is wrong with the
    file, and why nothing of it can be read.  whole: whether it has all packets that were captured.
    digests: of each range's bytes, where they may have changed until they are decoded.
    """

    file: str
    ranges: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    damage: str | None = None
    unread: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """A large trial.  number: its own among those that are reduced.  bodies: whether messages are looked for in
    packets.  damaging: whether its link turns bits over, so that packets are known by all of their bytes.
    """

    files: Files
    number: int
    buckets: int
    captures: tuple[PlannedCapture, ...]
    bodies: bool
    damaging: bool


def draft(
    trial: Trial, number: int, files: Files, *, capture_bytes: int, large_packets: int = LARGE_PACKETS
) -> Draft | None:
    """The trial, to be shared out; None where it is no work for more than one task, or cannot be read.

    trial: a folder with its records.  capture_bytes: of all its captures.
    """
    try:
        if not may_be_large(capture_bytes, large_packets) or trial.elsewhere():
            return None
        manifest = trial.manifest()
        kept = tuple(capture for capture in manifest.captures if capture.kept)
        packets = sum(capture.packets for capture in kept)
        if packets < large_packets or manifest.no_captures:
            return None
        damaging = trial.link().damaging
        bodies = _bodies(manifest) and not any(one.link for one in damaging)
    except DAMAGE:
        return None  # whoever reduces it says why
    buckets = min(max(ceil(packets / PACKETS), 2), _MOST_BUCKETS)
    return Draft(
        files=files, number=number, buckets=buckets, captures=kept, bodies=bodies, damaging=bool(damaging)
    )  # fmt: skip


def may_be_large(capture_bytes: int, large_packets: int = LARGE_PACKETS) -> bool:
    """Whether captures of so many bytes can have so many packets."""
    return capture_bytes >= large_packets * _FEWEST_BYTES


def draft_here(path: Path, number: int, *, large_packets: int = LARGE_PACKETS) -> Draft | None:
    """As `draft`, of the trial in the folder `path`."""
    try:
        size = sum(bytes_at(one) for one in path.glob(CAPTURES))
    except OSError:
        return None  # as there
    return draft(Trial(path), number, Here(path), capture_bytes=size, large_packets=large_packets)


def walked(files: Files, capture: Capture, *, range_bytes: int = RANGE_BYTES) -> PlannedCapture | None:
    """A capture with its ranges; None where that failed of the machine, and may go well elsewhere."""
    try:
        found = files.index(capture.file, range_bytes=range_bytes)
    except Exception as error:  # noqa: BLE001 - the other captures are read all the same
        if is_of_the_machine(error):
            return None
        return PlannedCapture(file=capture.file, unread=said(error), whole=False)
    return PlannedCapture(
        file=capture.file,
        ranges=tuple(map(to_json, found.ranges)),
        digests=found.digests,
        damage=found.damage,
        whole=found.damage is None and found.records >= capture.packets,
    )


def plan(of: Draft, captures: Sequence[PlannedCapture | None]) -> TrialPlan | None:
    """How a trial is shared out whose captures have been walked; None where one task has to say what is wrong."""
    known = tuple(one for one in captures if one is not None)
    if len(known) < len(captures) or not any(one.ranges for one in known):
        return None
    return TrialPlan(
        files=of.files, number=of.number, buckets=of.buckets, captures=known, bodies=of.bodies, damaging=of.damaging
    )  # fmt: skip


def _bodies(manifest: Manifest) -> bool:
    """Whether messages are looked for in packets: not where nodes have stamped them, nor where they are encrypted."""
    work = manifest.workload
    return not ("stamps" in manifest.rows or isinstance(work.asked, Command) or work.tls)
