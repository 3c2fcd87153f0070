"""`lab list`: campaigns, how far they got, where their reports are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from experiments.campaign import campaign as campaigns
from lab.common import Status, fail, out, shown, told
from lab.start import tidy
from lab.tally import tally, verdicts
from records.errors import CannotGoOn
from records.filenames import RECORD
from records.location import Place, Remote, locate
from records.publishing import NotPublished, Published, must_be_whole, published_below

_REPORT = "report.html"
_UNKNOWN = "?"
_OTHERS = 32  # columns of a terminal that are enough for what is said of a campaign


def list_campaigns(*, places: list[str] | None, results: Path) -> None:
    """Print a row for each campaign."""
    with told():
        tidy(results)
        rows = list(_rows(map(locate, places))) if places else [_here(folder) for folder in campaigns.folders(results)]
        if not rows:
            out.print(f"{shown(results)}: no campaign here yet; `lab run SCENARIO` makes one")
            return
        elsewhere = any(row[-1] for row in rows)
        table = Table(box=None, pad_edge=False)
        # A name is what other commands are given: whole in one line where that leaves room for the other columns.
        longest = max(cell_len(row[0]) for row in rows)
        table.add_column("campaign", overflow="fold", no_wrap=longest + _OTHERS <= out.width)
        table.add_column("trials", no_wrap=True)
        table.add_column("verdicts")
        table.add_column("report", overflow="fold")
        if elsewhere:
            table.add_column("at", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row if elsewhere else row[:-1]))
        out.print(table)


def _rows(places: Iterable[Place]) -> Iterator[tuple[str, ...]]:
    """Of each place the oldest first, as their folders' names are times."""
    for place in places:
        if isinstance(place, Remote):
            rows = [_there(*one) for one in published_below(place).items()]
        else:
            rows = [_here(folder) for folder in _folders(place)]
        yield from sorted(rows, key=lambda row: (row[0].rpartition("/")[2], row))


def _folders(place: Path) -> list[Path]:
    """The campaign in a folder, or those in its folders and in folders of these."""
    if not place.is_dir():
        fail(f"{place}: there is no such folder", Status.USAGE)
    found = [path.parent for below in ("", "*/", "*/*/") for path in place.resolve().glob(f"{below}{RECORD}")]
    if not (chosen := [folder for folder in found if not folder.is_symlink()]):
        fail(f"{place}: no campaign is there or in folders of it", Status.USAGE)
    return chosen


def _here(folder: Path) -> tuple[str, ...]:
    """The row of a campaign in a folder of this machine."""
    report = folder / _REPORT
    try:
        must_be_whole(folder)
        found = tally(folder)
        said = f"{found.done}/{found.planned}", verdicts(found)
    except (CannotGoOn, OSError) as error:
        said = _UNKNOWN, str(error).splitlines()[0]
    return f"{folder.parent.name}/{folder.name}", *said, shown(report) if report.exists() else "-", ""


def _there(target: Remote, found: Published | NotPublished) -> tuple[str, ...]:
    """The row of a campaign at a URI."""
    if isinstance(found, NotPublished):
        why = str(found).splitlines()[0].removeprefix(f"{target}: ")
        return _UNKNOWN, _UNKNOWN, why, "-", str(target)
    said = (_UNKNOWN, "published by an older program: `lab publish` again says more")
    if found.tally is not None:
        said = f"{found.tally.done}/{found.tally.planned}", verdicts(found.tally)
    report = str(target / _REPORT) if any(one.file == _REPORT for one in found.files) else "-"
    return f"{found.scenario}/{found.campaign}", *said, report, str(target)
