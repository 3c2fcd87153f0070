"""A trial's captures, each read once for everything that is made of them."""

from __future__ import annotations

from analysis.capture.reader import Capture as PacketFile
from analysis.capture.reader import read_capture
from analysis.rows import Rows
from results.manifest import Capture, Manifest
from results.store import Trial

Recorded = list[tuple[Capture, PacketFile]]


def read_captures(trial: Trial, manifest: Manifest, rows: Rows) -> Recorded:
    """Read what was kept and can be read; rows of table `packets`, and of `damage` for what is wrong with a file."""
    found: Recorded = []
    for capture in manifest.captures:
        if not capture.kept:
            continue
        try:
            file = read_capture(trial.path / capture.file)
        except (OSError, ValueError) as error:
            rows.add("damage", "capture", key=capture.file, text=str(error))
            continue
        if damage := _damage(file, capture):
            rows.add("damage", "capture", key=capture.file, text=f"{trial.path / capture.file}: {damage}")
        for kind, number in file.kinds.items():
            rows.add("packets", kind, key=capture.file, value=float(number))
        found.append((capture, file))
    return found


def _damage(file: PacketFile, capture: Capture) -> str | None:
    if file.damage is None and file.records < capture.packets:
        return f"{file.records} packets, the manifest says {capture.packets}"
    return file.damage
