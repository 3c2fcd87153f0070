"""`lab compare`: is one campaign no worse than another?  Made for a gate: the exit status is the answer."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from lab.cluster import chosen
from lab.common import Status, err, fail, out, shown
from lab.copies import Copies, copying
from lab.revisions import Named, NotFound, choose, named, said
from lab.start import tidy
from records.campaign import read_campaign
from records.commands import declared_in
from records.errors import CannotGoOn, WrongInput
from records.location import Remote, locate
from records.publishing import NotPublished
from records.store import DamagedTrial

if TYPE_CHECKING:
    from analysis.campaign_compare import Between
    from analysis.spark.target import Target

CANNOT_TELL = Status.NOT_ALL_VALID
_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)")
_STYLE = {"worse": "red", "inconclusive": "yellow", "better": "green", "no worse": ""}


def compare(
    *,
    a: str,
    b: str,
    results: Path,
    metric: list[str] | None,
    margin: str,
    share_margin: str,
    across: list[str] | None,
    out_folder: Path | None,
    json: bool,
    master: str | None,
    conf: list[str] | None,
    env: str,
    event_log: str | None,
) -> None:
    """Compare the campaigns, write the page and print the verdicts."""
    with _told(), copying() as copies:
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        tolerated = (_share("--margin", margin), _share("--share-margin", share_margin))
        tidy(results)
        one, other = (_named(results, name, copies) for name in (a, b))
        first, second = choose(one, other)
        names = _metrics(metric, (first, second))
        for line in filter(None, (said(one, first), said(other, second))):
            err.print(line)
        beside = Path(f"{second.name}-compare") if second in copies else second / "compare"
        place = out_folder or beside / first.name
        found, page = _compared((first, second), copies, names, tolerated, frozenset(across or ()), target, place)
        if json:
            print(found.model_dump_json(indent=1))
        else:
            _show(found, page)
        raise typer.Exit(found.status)


def _named(results: Path, name: str, copies: Copies) -> Named:
    """What `name` stands for; of a campaign at a URI a folder that has its records."""
    place = locate(name)
    if not isinstance(place, Remote):
        return named(results, name and str(place))
    if place in copies:
        raise NotFound(f"{name}: A and B are the same campaign")
    return Named(name=name, folders=(copies.of(place),))


def _compared(
    sides: tuple[Path, Path], copies: Copies, names: tuple[str, ...] | None,
    tolerated: tuple[float, float], across: frozenset[str], target: Target | None, folder: Path,
) -> tuple[Between, Path]:  # fmt: skip
    """The result, and the page that was written of it."""
    from analysis.campaign_compare import NothingToCompare, Tolerance, between, write  # noqa: PLC0415 - Spark imports slowly
    from analysis.report.build import NothingToReport  # noqa: PLC0415
    from analysis.report.publish import ReportBusy  # noqa: PLC0415
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415

    tolerance = Tolerance(margin=tolerated[0], share_margin=tolerated[1], across=across)
    try:
        found = between(*copies.found(sides, master=target), metrics=names, tolerance=tolerance)
        return found, write(found, folder)
    except (NothingToCompare, NothingToReport) as error:
        fail(str(error), Status.USAGE)
    except (ReportBusy, SparkFailed) as error:
        fail(str(error), CANNOT_TELL)


def _show(found: Between, page: Path) -> None:
    table = Table("cell", "metric", box=None, pad_edge=False)
    for heading in ("A", "B", "B / A [95 %]"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    table.add_column("how")
    told = ""
    for row in found.rows:
        title, told = "" if row.title == told else row.title, row.title
        table.add_row(
            Text(title), Text(row.label), row.a.text if row.a else "–", row.b.text if row.b else "–", Text(row.text),
            Text(row.verdict, style=_STYLE[row.verdict]), Text(row.words),
        )  # fmt: skip
    out.print(table)
    out.print()
    for line in found.warnings:
        out.print(f"note: {line}")
    out.print(found.summary, style=_STYLE[found.verdict])
    out.print(f"page: {shown(page)}")


def _metrics(asked: list[str] | None, campaigns: Iterable[Path]) -> tuple[str, ...] | None:
    """Those that the user names, of ours and of what the campaigns' programs print; None when none is named."""
    from analysis.metrics import METRICS  # noqa: PLC0415

    cells = [cell for campaign in campaigns for cell in read_campaign(campaign).cells]
    printed = {name: one for cell in cells for name, one in declared_in(cell.settings.get("settings", {})).items()}
    known = [name for name, one in METRICS.items() if one.better is not None]
    known += [name for name, one in printed.items() if one.better is not None]
    for name in asked or ():
        if name not in known:
            fail(f"--metric: {name!r} is not one of {', '.join(known)}", Status.USAGE)
    return tuple(dict.fromkeys(asked)) if asked else None


def _share(option: str, text: str) -> float:
    found = _SHARE.fullmatch(text.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= value < 1:
        fail(f"{option}: {text!r} is not a share below 100 %, such as 5%", Status.USAGE)
    return value


@contextmanager
def _told() -> Iterator[None]:
    """Errors as of all verbs, but never with status 1, which says `worse`."""
    try:
        yield
    except typer.Exit:
        raise
    except (NotFound, NotPublished, DamagedTrial, WrongInput) as error:
        fail(str(error), Status.USAGE)
    except CannotGoOn as error:
        fail(str(error), CANNOT_TELL)
    except KeyboardInterrupt:
        fail("interrupted", Status.INTERRUPTED)
    except OSError as error:
        fail(f"{error.filename or 'the operating system'}: {error.strerror or error}", CANNOT_TELL)
    except Exception:  # noqa: BLE001 - a mistake of ours must not look like an answer
        traceback.print_exc()
        fail("a mistake in this program, see above", CANNOT_TELL)
