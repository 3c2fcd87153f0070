"""What a query's views do not have, as the files are not here: said once, instead of an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.sql.columns import View
from analysis.sql.views import VIEWS
from records.store import DamagedTrial, Trial, trials

_NAMED = 3


def notes(folders: Sequence[Path], used: Sequence[str]) -> list[str]:
    """A line for each of these views of which trials have nothing: elsewhere, never recorded, or unreadable."""
    finished = [trial for folder in folders for trial in trials(folder)]
    return [line for name in used if VIEWS[name].files for line in _of_view(VIEWS[name], finished)]


def _of_view(view: View, finished: Sequence[Trial]) -> list[str]:
    states = [(trial, _state(view, trial)) for trial in finished]
    away = [trial for trial, state in states if state == "away"]
    broken = [trial for trial, state in states if state == "broken"]
    files = " and ".join(view.files)
    lines = []
    if away and len(away) == len(finished):
        lines.append(f"{view.name} is empty: no {files} of {len(finished)} trials are here; packs leave them out")
    elif away:
        lines.append(f"{view.name} is without {len(away)} of {len(finished)} trials, whose {files} are not here")
    if broken:
        some = ", ".join(f"{trial.path.parent.name}/{trial.path.name}" for trial in broken[:_NAMED])
        more = f" and {len(broken) - _NAMED} more" if broken[_NAMED:] else ""
        lines.append(f"{view.name} is without {some}{more}, which cannot be read: `reasons` of view trials says why")
    return lines


def _state(view: View, trial: Trial) -> str:
    try:
        if view.files == ("captures",):
            here = [one.file for one in trial.manifest().captures if (trial.path / one.file).is_file()]
            return "" if here else "away"
        for file in view.files:
            path = trial.path / file
            if not path.is_file():
                return "away"
            if path.suffix == ".parquet":
                with path.open("rb") as opened:
                    pq.ParquetFile(opened)  # its footer: one that was cut has none
            else:
                trial.link()
    except (OSError, DamagedTrial, pa.ArrowException):
        return "broken"
    return ""
