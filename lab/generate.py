"""What is generated: README's table of stacks, docs/stacks.md's of what they keep, docs/spark.md's of views for SQL,
and the lock file.

python -m lab.generate          writes all; the lock file takes the network, and keeps the versions that it has
python -m lab.generate tables   the tables alone
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from analysis.sql.columns import View, spark_type
from analysis.sql.views import ESTIMATE, VIEWS
from lab.common import ROOT, told
from lab.stacks import listed
from records.errors import CannotGoOn
from stacks.folders import Found, own

README = ROOT / "README.md"
KEPT = ROOT / "docs" / "stacks.md"
SPARK = ROOT / "docs" / "spark.md"
CONFORMANCE = ROOT / "results" / "reference" / "conformance"
LOCK = ROOT / "requirements.lock"
BEGIN, END = "<!-- made by `make generate` -->\n\n", "\n<!-- end of what `make generate` makes -->\n"
_SIGNS = {"kept": "kept", "broken": "**broken**", "untried": "untried", "not promised": "–"}
_OF_A_PROMISE = ("promise", "about", "answer", "why")
_OF_STACKS = Path("build/stacks.in")  # as the lock file names where a requirement is from
_UV = Path("build/lock")


def table() -> str:
    """README's table of our stacks."""
    rows = [
        (f"`{row.stack}`", row.about, row.runs_on or "clients only", *map(_words, (row.patterns, row.guarantees)))
        for row in listed(Found(own()))
    ]
    head = ("stack", "what it is", "runs on", "patterns", "guarantees")
    return _table((head, ("---",) * len(head), *rows))


def _result(path: Path) -> dict[str, Any]:
    """What `lab conform --json` wrote, and what the file is called; CannotGoOn when it is not that."""
    try:
        promises = [{key: one[key] for key in _OF_A_PROMISE} for one in json.loads(path.read_text())["promises"]]
        if unknown := {one["answer"] for one in promises} - _SIGNS.keys():
            raise ValueError(f"no answer is {', '.join(map(repr, unknown))}")
        return {"promises": promises, "called": path.stem}
    except (ValueError, KeyError, TypeError) as error:
        raise CannotGoOn(
            f"{path}: not what `lab conform --json` writes ({error!r}); `make conform` makes it anew"
        ) from error


def kept() -> str:
    """The table of what stacks keep of what they declare, by the results of `make conform`, and how they break it.

    Raises CannotGoOn where these are not of the same promises.
    """
    found = sorted(CONFORMANCE.glob("*.json"))
    results = [_result(path) for path in found]
    promises = {tuple((one["promise"], one["about"]) for one in result["promises"]) for result in results}
    if len(promises) != 1:
        raise CannotGoOn(
            f"{CONFORMANCE}: has not one set of promises, but {len(promises)}; `make conform` makes all anew"
        )
    rows = [("promise", *(f"`{result['called']}`" for result in results))]
    rows.append(("---",) * len(rows[0]))
    for place, (promise, about) in enumerate(promises.pop()):
        rows.append((f"{promise}: {about}", *(_SIGNS[result["promises"][place]["answer"]] for result in results)))
    told = [
        f"* `{result['called']}`, {one['promise']}: {one['why']}.\n"
        for result in results
        for one in result["promises"]
        if one["answer"] in {"broken", "untried"}
    ]
    return _table(rows) + ("\n" + "".join(told) if told else "")


def views() -> str:
    """The tables of docs/spark.md: every view with its columns."""
    return "\n".join(_view(view) for view in VIEWS.values())


def _view(view: View) -> str:
    rows = [("column", "type", "unit", "what it is"), ("---",) * 4]
    for column in view.columns:
        if column.metric and column.type == ESTIMATE:
            continue
        rows.append((f"`{column.name}`", f"`{spark_type(column.type)}`", column.unit, column.about))
    if view.name == "cells":
        about = "a column for each metric of `trials`: mean over the valid trials and its 95 % interval"
        rows.append(("`delivered_per_s` ...", f"`{spark_type(ESTIMATE)}`", "as there", about))
    return f"#### {view.name}\n\n{view.about[0].upper()}{view.about[1:]}.  From {view.source}.\n\n{_table(rows)}"


def filled(path: Path, made: Callable[[], str]) -> str:
    """A page's text with its table as it is now; CannotGoOn where it has no place for it."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise CannotGoOn(f"{path}: has no lines {BEGIN.strip()} and {END.strip()}, between which the table is")
    return f"{before}{BEGIN}{made()}{END}{after}"


def requirements() -> tuple[str, ...]:
    """What our stacks need of the environment, each once."""
    return tuple(dict.fromkeys(package.requires for one in own() for package in one.python))


def lock() -> None:
    """Write the lock file; CannotGoOn when that does not work."""
    wanted = ROOT / _OF_STACKS
    wanted.parent.mkdir(exist_ok=True)
    wanted.write_text("".join(f"{one}\n" for one in requirements()))
    uv = ROOT / _UV / "bin" / "uv"
    if not uv.exists():
        _run(sys.executable, "-m", "venv", str(_UV))
        _run(str(_UV / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "uv")
    _run(
        str(uv), "pip", "compile", "--quiet", "--no-header", "--generate-hashes", "--python-version", "3.11",
        "--extra", "test", "--output-file", LOCK.name, "pyproject.toml", str(_OF_STACKS),
    )  # fmt: skip


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise CannotGoOn(f"{' '.join(command)}: ended with status {done.returncode}; {LOCK.name} is as it was")


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _words(words: Sequence[str]) -> str:
    return ", ".join(words)


TABLES = {README: table, KEPT: kept, SPARK: views}


def main(words: Sequence[str]) -> int:
    """Write what is made, with `tables` all but the lock file; the exit status."""
    try:
        with told():
            for page, made in TABLES.items():
                page.write_text(filled(page, made))
            if list(words) != ["tables"]:
                lock()
    except typer.Exit as ended:  # told() is made for verbs, whose program ends so
        return ended.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
