"""Files that a profile's file names: loss records, delay distributions, rate traces, the profile after a handover.

What they say is put in their place, so that a profile is whole and a campaign can be replayed without them.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulation import ratetrace
from emulation.events import DIRECTION_KEYS

_MAX_BYTES = 64 << 20
Load = Callable[[str], dict[str, Any]]


def resolved(data: Any, folder: Path, load: Load) -> Any:
    """`data` of a profile's file in `folder`, with what it refers to.  `load` gives another profile's settings.

    ValueError or OSError when a file is missing or is not what it should be.
    """
    if isinstance(data, list):
        return [resolved(item, folder, load) for item in data]
    if not isinstance(data, dict):
        return data
    found = {key: resolved(value, folder, load) for key, value in data.items()}
    loss, distribution, trace, handover = (
        found.get(key) for key in ("loss", "jitter_distribution", "trace", "handover")
    )
    if isinstance(loss, dict) and isinstance(loss.get("lost"), str):
        found["loss"] = loss | {"lost": _integers(folder / loss["lost"])}
    if isinstance(distribution, dict) and isinstance(distribution.get("values"), str):
        path = folder / distribution["values"]
        found["jitter_distribution"] = {"name": path.stem, **distribution, "values": _integers(path)}
    if isinstance(trace, dict):
        found["trace"] = trace | {key: _trace(trace[key], folder) for key in ("uplink", "downlink") if key in trace}
    if isinstance(handover, dict) and isinstance(handover.get("to"), str):
        found["handover"] = handover | {"to": _settings(load(handover["to"]))}
    return found


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
