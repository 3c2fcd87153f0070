"""What a query's views do not have, as the files are not here: said once, instead of an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.capture.format import NotACapture
from analysis.capture.kept_index import kept_index
from analysis.reductions.published import files_of_trials
from analysis.sql.columns import View
from analysis.sql.views import VIEWS
from records.counts import out_of
from records.filenames import LINK, MANIFEST
from records.location import Place, Remote
from records.publishing import read_published
from records.store import DamagedTrial, Trial, trials

_NAMED = 3
_CAPTURES = (".pcap", ".pcapng")
_RECORDS: Mapping[str, Callable[[Trial], object]] = {LINK: Trial.link, MANIFEST: Trial.manifest}


def notes(places: Sequence[Place], used: Sequence[str]) -> list[str]:
    """A line for each of these views of which trials have nothing: elsewhere, never recorded, or unreadable.

    Whether a file at a URI can be read is not looked at.  Raises NotPublished, Unreachable.
    """
    views = [VIEWS[name] for name in used if VIEWS[name].files]
    if not views:
        return []
    held: list[dict[str, str]] = [{} for _ in views]  # of each view, how each trial stands
    for place in places:
        for states, view in zip(held, views, strict=True):
            states.update(_at_uri(view, place) if isinstance(place, Remote) else _in_folder(view, place))
    return [line for view, states in zip(views, held, strict=True) for line in _of_view(view, states)]


def _of_view(view: View, states: Mapping[str, str]) -> list[str]:
    away = [trial for trial, state in states.items() if state == "away"]
    broken = [trial for trial, state in states.items() if state == "broken"]
    files = " and ".join(view.files)
    lines = []
    if away and len(away) == len(states):
        lines.append(f"{view.name} is empty: no {files} of {len(states)} trials are here; packs leave them out")
    elif away:
        lines.append(f"{view.name} is without {out_of(len(away), len(states))}, whose {files} are not here")
    if part := [trial for trial, state in states.items() if state == "part"]:
        lines.append(f"{view.name} is without some {files} of {_some(part)}, which are not here")
    if cut := [trial for trial, state in states.items() if state == "cut"]:
        lines.append(f"{view.name} has of {files} of {_some(cut)} only what stands before their damage")
    if broken:
        lines.append(f"{view.name} is without {_some(broken)}, which cannot be read: `reasons` of view trials says why")
    return lines


def _some(trials: Sequence[str]) -> str:
    named = ", ".join("/".join(trial.split("/")[-2:]) for trial in trials[:_NAMED])
    return f"{named} and {len(trials) - _NAMED} more" if trials[_NAMED:] else named


def _at_uri(view: View, place: Remote) -> dict[str, str]:
    wanted = set(view.files)
    states = {}
    for trial, files in files_of_trials(read_published(place)).items():
        names = {one.file for one in files}
        captures = any(name.endswith(_CAPTURES) for name in names)
        here = captures if view.files == ("captures",) else wanted <= names
        states[f"{place}/{trial}"] = "" if here else "away"
    return states


def _in_folder(view: View, folder: Path) -> dict[str, str]:
    return {str(trial.path): state(view, trial) for trial in trials(folder)}


def state(view: View, trial: Trial) -> str:
    """How a trial in a folder stands: '', `away`, `part` of it away, or `broken` as far as a file's ends show it.

    Of captures that have a damage in their middle: `cut`.
    """
    try:
        if view.files == ("captures",):
            paths = [trial.path / one.file for one in trial.manifest().captures if one.kept]
            here = [path for path in paths if path.is_file()]
            damaged = [path for path in here if kept_index(path).damage is not None]
            return "away" if not here else "part" if len(here) < len(paths) else "cut" if damaged else ""
        for file in view.files:
            path = trial.path / file
            if not path.is_file():
                return "away"
            if path.suffix == ".parquet":
                with path.open("rb") as opened:
                    pq.ParquetFile(opened)  # its footer: one that was cut has none
            else:
                _RECORDS[file](trial)
    except (OSError, DamagedTrial, NotACapture, pa.ArrowException):
        return "broken"
    return ""
