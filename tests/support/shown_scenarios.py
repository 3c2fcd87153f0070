"""The scenarios under experiments/scenarios, made small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from lab_runs import ROOT

SHORT: dict[str, Any] = {
    "congestion_control": "reno",
    "window": {"warmup_s": 0.5, "window_s": 2, "drain_s": 5},
    "trials": 1,
    "repeat_spoiled": 0,
}
EVENTS = "nodes"  # a list that is no factor's levels


def small(folder: Path, name: str, **settings: object) -> Path:
    """A scenario file of one trial: the committed one, short, with the last level of each factor.

    settings: replace its own.
    """
    whole = yaml.safe_load((ROOT / "experiments" / "scenarios" / f"{name}.yaml").read_text()) | SHORT | settings
    for of_levels in ("compare", "baseline"):
        whole.pop(of_levels, None)
    chosen = _last(whole)
    if case := chosen.pop("cases", None):
        chosen["cases"] = [case]
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(chosen))
    return path


def _last(said: Any) -> Any:
    if isinstance(said, list):
        return _last(said[-1])
    if isinstance(said, dict):
        return {key: value if key == EVENTS else _last(value) for key, value in said.items()}
    return said
