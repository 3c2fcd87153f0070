"""`lab sql`: questions to campaigns, in SQL."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from lab import cluster
from lab.common import Screen, Status, can_be_written, fail, is_terminal, note, out, shown, told
from lab.files import filling
from lab.start import find, tidy
from records.campaign import read_campaign
from records.location import Place, Remote, locate
from records.spreadsheet import inert

if TYPE_CHECKING:
    import pyarrow as pa

    from analysis.spark.target import Target

MOST = 40
Form = Literal["table", "csv", "json"]


def sql(
    *, query: str | None, campaigns: list[str] | None, results: Path, form: Form | None, file: Path | None,
    every: bool, views: bool, master: str | None, conf: list[str] | None, env: str, event_log: str | None,
) -> None:  # fmt: skip
    """Run the query and print or write its rows."""
    with told():
        if views:
            _show_views()
            return
        if query is None:
            fail('a query is missing, as in lab sql "SELECT cell, state FROM trials"', Status.USAGE)
        from analysis.sql.guard import check  # noqa: PLC0415 - imports slowly

        chosen = _form(form, file)
        can_be_written("--out", file)
        check(query)  # before anything starts
        target = cluster.chosen(master=master, conf=conf, env=env, event_log=event_log)
        tidy(results)
        places = [_place(results, name) for name in (campaigns or (None,))]
        rows, left = _answer(query, places, None if every or chosen != "table" else MOST, target)
        text = _written(rows, chosen) if chosen != "table" else ""
        if file is not None:
            with filling(file) as made:
                made.write_text(text)
            out.print(f"{rows.num_rows} rows: {shown(file)}")
        elif chosen == "table":
            _show(rows, left)
        else:
            typer.echo(text, nl=False)


def _place(results: Path, name: str | None) -> Place:
    """The folder of a campaign, or the URI that `name` is."""
    place = None if name is None else locate(name)
    return place if isinstance(place, Remote) else find(results, name and str(place))


def _form(form: Form | None, file: Path | None) -> Form:
    """What to write, by the option or the file's name."""
    by_name: dict[str, Form] = {".csv": "csv", ".json": "json"}
    chosen = form or (by_name.get(file.suffix.lower(), "table") if file else "table")
    if file is not None and chosen == "table":
        fail(f"--out: {file}: a file is csv or json, by its name or by --format", Status.USAGE)
    return chosen


def _answer(query: str, places: list[Place], most: int | None, target: Target | None) -> tuple[pa.Table, int]:
    from analysis.spark import session as sessions  # noqa: PLC0415 - Spark imports slowly
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.sql.guard import relations  # noqa: PLC0415
    from analysis.sql.notes import notes  # noqa: PLC0415
    from analysis.sql.query import ask  # noqa: PLC0415
    from analysis.sql.views import VIEWS  # noqa: PLC0415
    from analysis.sql.work import campaigns  # noqa: PLC0415

    found = campaigns([str(place) for place in places])
    for place in found:
        if isinstance(place, Path):
            read_campaign(place)  # one that is damaged is told in its own words, not in Spark's
    for line in notes(found, relations(query, VIEWS)):
        note(line)
    try:
        with sessions.session(master=target, say=note) as spark:
            answer = ask(spark, query, found, most=most)
    except SparkFailed as error:
        fail(str(error), Status.FAILED)
    return answer.rows, answer.left


def _cells(rows: pa.Table) -> Iterator[list[Any]]:
    columns = [column.to_pylist(maps_as_pydicts="lossy") for column in rows.columns]
    return (list(row) for row in zip(*columns, strict=True))


def _show(rows: pa.Table, left: int) -> None:
    """A table; on a terminal that is too narrow for it, a line for each cell."""
    names, texts = rows.column_names, [[_text(cell) for cell in row] for row in _cells(rows)]
    wide = sum(max(map(_width, column)) + 2 for column in zip(names, *texts, strict=True))
    if is_terminal() and wide - 2 > out.width:
        _show_cells(names, texts)
    else:  # where nobody watches no row is folded, however long its texts are
        console = out if is_terminal() else Screen(highlight=False, markup=False, width=max(out.width, wide))
        console.print(_table(rows, texts))
    if left:
        out.print(f"and {left} rows more: --all prints them, --out FILE.csv writes them")


def _table(rows: pa.Table, texts: list[list[str]]) -> Table:
    import pyarrow as pa  # noqa: PLC0415 - imports slowly

    table = Table(box=None, pad_edge=False)
    for field in rows.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        table.add_column(Text(field.name), justify="right" if number else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    return table


def _show_cells(names: list[str], texts: list[list[str]]) -> None:
    """The terminal itself wraps what is longer than its lines, so that it can be copied as it is."""
    indent = min(max(map(_width, names)), out.width // 2) + 2
    for number, row in enumerate(texts, 1):
        out.print(Text(f"-- row {number}", style="bold"))
        for name, text in zip(names, row, strict=True):
            value = text.replace("\n", "\n" + " " * indent)
            out.print(Text(name + " " * max(indent - _width(name), 2) + value), soft_wrap=True)


def _width(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float | Decimal):
        return f"{float(cell):.6g}"
    return (
        json.dumps(_plain(cell), ensure_ascii=False, default=str) if isinstance(cell, list | dict | bool) else str(cell)
    )


def _written(rows: pa.Table, form: Form) -> str:
    """All rows as CSV with one header line, or as a JSON array of objects, one a line."""
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([inert(name) for name in rows.column_names])
        for row in _cells(rows):
            writer.writerow([inert(_flat(one)) for one in row])
        return text.getvalue()
    if twice := [name for name, count in Counter(rows.column_names).items() if count > 1]:
        fail(f"two columns are called {twice[0]}, which JSON cannot tell apart: name one with AS", Status.USAGE)
    named = (dict(zip(rows.column_names, map(_plain, row), strict=True)) for row in _cells(rows))
    return "[" + ",\n".join(json.dumps(row, default=str) for row in named) + "]\n"


def _flat(cell: object) -> object:
    """A cell as CSV has it: lists and maps as JSON, decimal numbers with all their digits."""
    if isinstance(cell, Decimal):
        return cell
    plain = _plain(cell)
    return json.dumps(plain, default=str) if isinstance(plain, list | dict) else plain


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: what is no number is null."""
    if isinstance(cell, float):
        return cell if abs(cell) != float("inf") and cell == cell else None  # noqa: PLR0124 - NaN
    if isinstance(cell, list):
        return [_plain(one) for one in cell]
    if isinstance(cell, dict):
        return {key if isinstance(key, str) else _text(key): _plain(value) for key, value in cell.items()}
    return float(cell) if isinstance(cell, Decimal) else cell


def _show_views() -> None:
    from analysis.sql.columns import spark_type  # noqa: PLC0415 - imports slowly
    from analysis.sql.views import VIEWS  # noqa: PLC0415

    for view in VIEWS.values():
        out.print(f"{view.name}: {view.about} (from {view.source})")
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 2))
        for column in view.columns:
            table.add_row(Text(column.name), Text(spark_type(column.type)), Text(column.unit), Text(column.about))
        out.print(table)
        out.print()
