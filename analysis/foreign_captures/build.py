"""`lab analyse`: from capture files to tables, plots and a page."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.foreign_captures.figures import figures, size_text
from analysis.foreign_captures.model import CaptureFile, gather
from analysis.foreign_captures.plots import file_plots
from analysis.foreign_captures.tables import write_tables
from analysis.partial import said
from analysis.plots.style import Plot
from analysis.report.page import Pages
from analysis.report.publish import staged
from analysis.spark import session as sessions
from analysis.spark.captures import reduce_captures
from analysis.spark.target import Where
from records.location import Place, Unreachable, bytes_at, locate

PAGE = "report.html"
HERE_UP_TO_BYTES = 1 << 30  # beyond this Spark's start costs less than one process takes
MOST_FLOWS = 200  # per file in the page; all of them are in flows.csv
_HERE = Path(__file__).parent
_PREFIX = "data:image/svg+xml;base64,"


def analyse_files(
    paths: Sequence[Place], *, master: Where = None, size_limit: int = HERE_UP_TO_BYTES,
    say: Callable[[str], None] = lambda _line: None,
) -> list[CaptureFile]:  # fmt: skip
    """Analyse captures; one CaptureFile per path, those that cannot be read with the reason.

    master: a Spark master, or None: this process when there is little to read, else Spark on this machine (or
    the server that SPARK_REMOTE names).  All give the same.  say: takes what Spark's session says.  Raises SparkFailed.
    """
    size = sum(map(_bytes, paths))
    if master is None and "SPARK_REMOTE" not in os.environ and size <= size_limit:
        return gather(paths, reduce_captures(paths))
    with sessions.session(master=master, say=say) as spark:
        rows = reduce_captures(paths, spark=spark)
    return gather(paths, rows)


def _bytes(path: Place) -> int:
    try:
        return bytes_at(path)
    except Unreachable:  # the reader says why, of this file alone
        return 0


def write_report(folder: Path, files: Sequence[CaptureFile]) -> Path:
    """Write report.html, flows.csv, seconds.csv and plots/ into `folder`; returns the page's path.

    What an earlier call wrote there stays until all is written.  Raises ReportBusy, OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [_drawn(file, name=f"{number}-{_slug(file.name)}") for number, file in enumerate(files, start=1)]
    files, plots = [file for file, _ in drawn], [plots for _, plots in drawn]
    shown = [_view(number, *one) for number, one in enumerate(zip(files, plots, strict=True), start=1)]
    page = Pages(templates=_HERE).fill("files.html.j2", {"files": shown, "glossary": _glossary(files)})
    with staged(folder, names=("plots", "flows.csv", "seconds.csv", PAGE)) as stage:
        (stage / "plots").mkdir()
        for plot in (plot for one in plots for plot in one):
            (stage / "plots" / f"{plot.name}.svg").write_bytes(plot.svg)
            (stage / "plots" / f"{plot.name}.png").write_bytes(plot.png)
        write_tables(stage, files)
        (stage / PAGE).write_text(page)
    return folder / PAGE


def _drawn(file: CaptureFile, *, name: str) -> tuple[CaptureFile, list[Plot]]:
    """A file's plots; one that cannot be drawn says so, and takes nothing of the others with it."""
    try:
        return file, file_plots(file, name=name)
    except Exception as error:  # noqa: BLE001 - whatever it is, the tables stand
        return replace(file, failed="; ".join(filter(None, (file.failed, f"plots: {said(error)}")))), []


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", locate(name).stem).strip("-") or "capture"


def _glossary(files: Sequence[CaptureFile]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.label, one.about) for file in files for one in figures(file.flows)))


def _view(number: int, file: CaptureFile, plots: Sequence[Plot]) -> dict[str, Any]:
    """What the template shows of one file, as plain values."""
    shown = figures(file.flows)
    return {
        "number": number,
        "name": file.name,
        "facts": facts(file),
        "unreadable": file.unreadable,
        "damage": file.damage,
        "failed": file.failed,
        "plots": [
            {"title": one.title, "about": one.about, "data": _PREFIX + base64.b64encode(one.svg).decode()}
            for one in plots
        ],
        "labels": [one.label for one in shown],
        "flows": [
            {"key": row["key"], "cells": [(row[one.name], one.text(row[one.name])) for one in shown]}
            for row in _largest(file.flows).to_pylist()
        ],
        "flows_in_all": len(file.flows),
        "width": file.span.width_s if file.span else None,
    }  # fmt: skip


def _largest(flows: pa.Table) -> pa.Table:
    return flows.slice(0, MOST_FLOWS)


def facts(file: CaptureFile) -> list[tuple[str, str]]:
    """What a file is, in a few lines."""
    found = [("Size", f"{size_text(file.size)}, {_count(file.records, 'whole record')}")]
    if file.span is not None:
        begun = datetime.fromtimestamp(file.span.low_ns / 1e9, UTC)
        found += [
            ("First TCP packet", f"{begun:%Y-%m-%d %H:%M:%S} UTC"),
            ("Until the last", f"{file.span.seconds:,.3f} s".replace(",", "\u202f")),
        ]
    others = [f"{kind} {_count(number)}" for kind, number in file.packets.items() if kind != "tcp" and number]
    found.append(("TCP packets", _count(file.tcp)))
    if others:
        found.append(("Other records", ", ".join(others) + ": counted only"))
    if file.interfaces > 1:
        twice = "a packet that passed several counts at each, as one sent again"
        found.append(("Seen at", f"{_count(file.interfaces, 'interface')}: {twice}"))
    if len(file.flows):
        found.append(("TCP flows", f"{_count(len(file.flows))}, each direction of a connection for itself"))
    return found


def _count(number: int, word: str = "") -> str:
    return f"{number:,}".replace(",", "\u202f") + (f" {word}{'' if number == 1 else 's'}" if word else "")
