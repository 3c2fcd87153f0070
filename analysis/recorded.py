"""A trial's captures, each read once for everything that is made of them."""

from __future__ import annotations

from collections.abc import Callable

from analysis.capture.reader import Capture as PacketFile
from analysis.capture.reader import read_capture
from analysis.partial import PARTIAL, said
from analysis.rows import Rows
from records.manifest import Capture, Manifest
from records.store import Trial

Recorded = list[tuple[Capture, PacketFile]]
Read = Callable[[Capture], PacketFile]


def reading(trial: Trial) -> Read:
    """What reads a trial's captures whole; raises what analysis.capture.reader.read_capture does."""
    return lambda capture: read_capture(trial.path / capture.file)


def read_captures(
    trial: Trial, manifest: Manifest, rows: Rows, *, read: Read, links: bool = False
) -> tuple[Recorded, list[str]]:
    """What was kept and can be read, and the names of files that cannot be read to their end.

    links: of the links between routers or servers, instead of the stations' media, where the same packets are seen.
    Adds rows of table `packets`, and of `partial` for what is wrong with a file.
    """
    found: Recorded = []
    broken: list[str] = []
    for capture in manifest.captures:
        if not capture.kept or bool(capture.link) != links:
            continue
        try:
            file = read(capture)
        except Exception as error:  # noqa: BLE001 - the other captures are read all the same
            rows.add(PARTIAL, "capture", key=capture.file, text=said(error))
            broken.append(capture.file)
            continue
        if damage := _damage(file, capture):
            rows.add(PARTIAL, "capture", key=capture.file, text=f"{trial.path / capture.file}: {damage}")
            broken.append(capture.file)
        for kind, number in file.kinds.items():
            rows.add("packets", kind, key=capture.file, value=float(number))
        found.append((capture, file))
    return found, broken


def _damage(file: PacketFile, capture: Capture) -> str | None:
    if file.damage is None and file.records < capture.packets:
        return f"{file.records} packets, the manifest says {capture.packets}"
    return file.damage
