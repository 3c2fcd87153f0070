"""`lab analyse`: flow tables and plots of captures that Airwire did not make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from lab.cluster import chosen
from lab.common import Status, err, fail, note, out, shown, told
from records.location import locate

if TYPE_CHECKING:
    from analysis.foreign_captures.model import CaptureFile

_TOP = 10


def analyse(
    *, captures: list[str], folder: Path | None, master: str | None, conf: list[str] | None, env: str,
    event_log: str | None,
) -> None:  # fmt: skip
    """Print the flows of the captures and write page and tables."""
    from analysis.foreign_captures.build import analyse_files, write_report  # noqa: PLC0415 - matplotlib imports slowly
    from analysis.report.publish import ReportBusy  # noqa: PLC0415
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415

    with told():
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        try:
            places = [locate(one) for one in captures]
            files = analyse_files(places, master=target, say=note)
        except SparkFailed as error:
            fail(str(error), Status.FAILED)
        for file in files:
            _show(file)
        if any(file.unreadable is None for file in files):
            place = folder or Path(f"{places[0].stem}-flows")
            try:
                out.print(f"report: {shown(write_report(place, files))}")
            except ReportBusy as error:
                fail(str(error), Status.FAILED)
        raise typer.Exit(_status(files))


def _show(file: CaptureFile) -> None:
    from analysis.foreign_captures.build import facts  # noqa: PLC0415
    from analysis.units import inside_sentence  # noqa: PLC0415

    if file.unreadable is not None:
        err.print(file.unreadable, style="red")
        return
    if file.damage is not None:
        err.print(f"{file.name}: damaged: {file.damage}; what stands before is shown", style="yellow")
    if file.failed is not None:
        err.print(f"{file.name}: not analysed as a whole: {file.failed}", style="yellow")
    if not file.tcp:
        kinds = ", ".join(f"{number} {kind}" for kind, number in file.packets.items() if number) or "no packet at all"
        err.print(f"{file.name}: no TCP packet in its {file.records} records ({kinds})", style="red")
        return
    said = "; ".join(f"{inside_sentence(label)} {text}" for label, text in facts(file))
    out.print(f"{file.name}: {said}")
    out.print(_table(file))
    if len(file.flows) > _TOP:
        out.print(f"... and {len(file.flows) - _TOP} more flows, in flows.csv")
    out.print()


def _table(file: CaptureFile) -> Table:
    from analysis.foreign_captures.figures import TERMINAL, figures  # noqa: PLC0415
    from analysis.units import inside_sentence  # noqa: PLC0415

    columns = figures(file.flows, TERMINAL)
    table = Table(box=None, pad_edge=False)
    table.add_column("flow", overflow="fold")
    for one in columns:
        table.add_column(inside_sentence(one.label), justify="right")
    for row in file.flows.slice(0, _TOP).to_pylist():
        table.add_row(Text(row["key"]), *(one.text(row[one.name]) for one in columns))
    return table


def _status(files: list[CaptureFile]) -> Status:
    if any(file.unreadable is not None or not file.tcp for file in files):
        return Status.FAILED
    partial = any(file.damage is not None or file.failed is not None for file in files)
    return Status.NOT_ALL_VALID if partial else Status.ALL_VALID
