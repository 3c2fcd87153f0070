"""`lab reductions`: what is kept of trials for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import typer
from rich.table import Table

from experiments.campaign import campaign as campaigns
from lab.common import Status, fail, out, shown, told
from lab.copies import copying
from lab.start import find, tidy
from records.location import Remote, locate
from records.packed import PACKED, size
from records.store import trials


def reductions(*, campaign: str | None, results: Path, prune: bool) -> None:
    """Print a row for each campaign, and remove what no report would use."""
    from analysis.reductions.code import code_digest  # noqa: PLC0415 - imports slowly

    with told():
        tidy(results)
        table = Table("campaign", "trials", "reductions", "size", box=None, pad_edge=False)
        if isinstance(place := locate(campaign or ""), Remote):
            _published_row(table, place, prune=prune)
            out.print(table)
            return
        folders = campaigns.folders(results) if campaign is None else [find(results, campaign)]
        code = code_digest()
        gone, unread = 0, False
        for folder in folders:
            try:
                gone += _row(table, folder, code, prune=prune)
            except OSError as error:
                unread = True
                table.add_row(f"{folder.parent.name}/{folder.name}", "?", str(error), "-")
        if not folders:
            out.print(f"{shown(results)}: no campaign here yet; `lab run SCENARIO` makes one")
            return
        out.print(table)
        if prune:
            out.print(f"removed: {size(gone)}")
        if unread:
            raise typer.Exit(Status.FAILED)


def _row(table: Table, folder: Path, code: str, *, prune: bool) -> int:
    """Add a campaign's row; the bytes that were removed."""
    from analysis.reductions import kept  # noqa: PLC0415 - imports slowly

    finished = trials(folder)
    found = {kept.place_of(trial.path): kept.look(trial.path, code) for trial in finished}
    places = kept.places(folder)
    unwanted = [place for place in places if place not in found or not found[place].usable]
    gone = kept.prune(folder, unwanted) if prune else 0
    left = [place for place in places if not (prune and place in unwanted)]
    states = Counter(found[place].state.value if place in found else "of no trial" for place in left)
    if packed := sum((trial.path / PACKED).exists() for trial in finished):
        states["in packed trials"] = packed
    held = sum(path.stat().st_size for place in kept.places(folder) for path in place.iterdir())
    _add(table, folder, len(finished), states, held)
    return gone


def _published_row(table: Table, campaign: Remote, *, prune: bool) -> None:
    from analysis.reductions.kept import State  # noqa: PLC0415 - imports slowly
    from analysis.reductions.published import states_published  # noqa: PLC0415

    if prune:
        fail(
            f"{campaign}: --prune removes reductions of campaigns in folders only; at a URI a report makes those anew "
            "that it cannot use",
            Status.USAGE,
        )
    with copying() as copies:
        copy = copies.copy(campaign)
        states, held = states_published(copy)
        kept = Counter(state.value for state in states.values() if state is not State.NONE)
        _add(table, copy.folder, len(states), kept, held)


def _add(table: Table, folder: Path, finished: int, states: Mapping[str, int], held: int) -> None:
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    table.add_row(f"{folder.parent.name}/{folder.name}", str(finished), told or "-", size(held))
