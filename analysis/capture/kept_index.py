"""The index of a capture, kept as `.NAME.airwire-index.json` beside it for as long as the capture stays what it is.

That of a trial's capture is kept in the campaign's folder, as `.indexes/CELL/trial-NNN/NAME.json`, because the trial's
folder stays as it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from analysis.capture.ranges import RANGE_BYTES, Index, from_plain, index
from records.filenames import INDEXES, MANIFEST, RECORD
from records.location import Place

_SAMPLES, _SAMPLE_BYTES = 16, 4096


def index_file(path: Path) -> Path:
    """Where the index of a capture is kept, if it is kept."""
    path = path.absolute()
    if not _is_of_trial(path):
        return path.with_name(f".{path.name}.airwire-index.json")
    cell, trial = path.parent.parent, path.parent
    return cell.parent / INDEXES / cell.name / trial.name / f"{path.name}.json"


def kept_index(path: Place, *, range_bytes: int = RANGE_BYTES, keep: bool = True) -> Index:
    """What `ranges.index` gives, from the kept file where that is of the capture as it is now.

    Otherwise it is made, and kept unless keep is False, the capture stands at a URI or in a trial's folder outside a
    campaign, or was changed meanwhile, or the disk does not take it.  Raises as `ranges.index` does.
    """
    if not isinstance(path, Path) or not keep or not _may_be_kept(path.absolute()):
        return index(path, range_bytes=range_bytes)
    before = _key(path, range_bytes)
    if (found := _read(path, before)) is not None:
        return found
    made = index(path, range_bytes=range_bytes)
    if _key(path, range_bytes) == before:
        _write(path, before, made)
    return made


def _may_be_kept(path: Path) -> bool:
    return not _is_of_trial(path) or (path.parent.parent.parent / RECORD).is_file()


def _is_of_trial(path: Path) -> bool:
    return (path.parent / MANIFEST).exists()


def _key(path: Path, range_bytes: int) -> dict[str, object]:
    """What an index is of.  A time of change is nobody's to set, unlike one of modification."""
    with path.open("rb") as file:
        now = os.fstat(file.fileno())
        sample = hashlib.sha256()
        for number in range(_SAMPLES):
            file.seek(max(now.st_size - _SAMPLE_BYTES, 0) * number // (_SAMPLES - 1))
            sample.update(file.read(_SAMPLE_BYTES))
    return {
        "code": _code(), "range_bytes": range_bytes, "bytes": now.st_size, "mtime_ns": now.st_mtime_ns,
        "ctime_ns": now.st_ctime_ns, "sample": sample.hexdigest(),
    }  # fmt: skip


@cache
def _code() -> str:
    """Of this package, which cuts ranges and reads the times in them; a worker may have it from a zip."""
    digest = hashlib.sha256()
    for source in sorted(files(__package__).iterdir(), key=lambda one: one.name):
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _read(path: Path, key: dict[str, object]) -> Index | None:
    """The kept index, None when there is none of this key or it is not as it was written."""
    try:
        kept = json.loads(index_file(path).read_bytes())
        body = kept["index"]
        if kept["sha256"] != _digest(body) or body["of"] != key:
            return None
        return Index(ranges=tuple(map(from_plain, body["ranges"])), damage=body["damage"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(path: Path, key: dict[str, object], made: Index) -> None:
    body = {"of": key, "damage": made.damage, "ranges": [asdict(piece) for piece in made.ranges]}
    place = index_file(path)
    partial = place.with_name(f"{place.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps({"sha256": _digest(body), "index": body}))
        partial.replace(place)
    except OSError:  # it is made again for the next query
        try:
            partial.unlink(missing_ok=True)
        except OSError:
            return


def _digest(body: Any) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
