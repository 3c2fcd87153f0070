"""Files that a profile's file names: loss records, delay distributions, rate traces, the profile after a handover.

What they say is put in their place, so that a profile is whole and a campaign can be replayed without them.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulation.profile import ratetrace
from emulation.profile.events import DIRECTION_KEYS
from records.yaml_lines import Key

_MAX_BYTES = 64 << 20
Settings = dict[str, Any]
Load = Callable[[str], Settings]


class BadReference(ValueError):
    """A file that is missing or is not what it should be.  at: where the profile names it."""

    def __init__(self, at: Key, error: OSError | ValueError) -> None:
        named = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        super().__init__(named)
        self.at = at


def resolved(data: Any, folder: Path, load: Load, at: Key = ()) -> Any:
    """`data` of a profile's file in `folder`, with what it refers to.  `load` gives another profile's settings.

    at: where `data` stands in the file.
    """
    if isinstance(data, list):
        return [resolved(item, folder, load, (*at, number)) for number, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    found = {key: resolved(value, folder, load, (*at, key)) for key, value in data.items()}
    for key, read in _REFERENCES.items():
        if isinstance(found.get(key), dict):
            try:
                found[key] = read(found[key], folder, load)
            except (OSError, ValueError) as error:
                raise BadReference((*at, key), error) from error
    return found


def _losses(loss: Settings, folder: Path, _: Load) -> Settings:
    lost = loss.get("lost")
    return loss | {"lost": _integers(folder / lost)} if isinstance(lost, str) else loss


def _distribution(distribution: Settings, folder: Path, _: Load) -> Settings:
    values = distribution.get("values")
    if not isinstance(values, str):
        return distribution
    path = folder / values
    return {"name": path.stem, **distribution, "values": _integers(path)}


def _rates(trace: Settings, folder: Path, _: Load) -> Settings:
    return trace | {key: _trace(trace[key], folder) for key in ("uplink", "downlink") if key in trace}


def _handover(handover: Settings, _: Path, load: Load) -> Settings:
    to = handover.get("to")
    return handover | {"to": _settings(load(to))} if isinstance(to, str) else handover


_REFERENCES = {"loss": _losses, "jitter_distribution": _distribution, "trace": _rates, "handover": _handover}


def _trace(value: Any, folder: Path) -> Any:
    if not isinstance(value, str):
        return value
    path = _small(folder / value)
    return {"opportunities_ms": ratetrace.read(path).opportunities_ms}


def _settings(profile: dict[str, Any]) -> dict[str, Any]:
    """What a link becomes: every setting of both directions, the defaults of those that are not given included."""
    wanted = DIRECTION_KEYS - {"queue_bytes", "queue_packets", "queue_time"}
    return {
        direction: {key: value for key, value in profile[direction].items() if key in wanted}
        for direction in ("uplink", "downlink")
    }


def _integers(path: Path) -> list[int]:
    """Whole numbers separated by white space; `#` begins a comment."""
    numbers = []
    for line, text in enumerate(_small(path).read_text().splitlines(), 1):
        for word in text.partition("#")[0].split():
            try:
                numbers.append(int(word))
            except ValueError:
                raise ValueError(f"{path}:{line}: {word[:40]!r} is not a whole number") from None
    return numbers


def _small(path: Path) -> Path:
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise ValueError(f"{path}: not a file")
    if state.st_size > _MAX_BYTES:
        raise ValueError(f"{path}: {state.st_size} bytes; such a file has at most {_MAX_BYTES}")
    return path
