"""On a terminal of 80 columns all of what was asked for can be read, and copied."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from lab import list_, sql
from lab.main import app

NAME = "20240101-000000-aaaaaaaa"
CELL = "network=nistnet-80211,body_bytes=5120,guarantee=nondurable-nonpersistent"


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (list_, sql):
        monkeypatch.setattr(module, "out", Console(width=80, highlight=False, markup=False))
    monkeypatch.setattr(sql, "is_terminal", lambda: True)


def shown(columns: dict[str, list[object]], capsys: pytest.CaptureFixture[str], left: int = 0) -> list[str]:
    sql._show(pa.table(columns), left)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_what_a_terminal_has_room_for_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x" * 72
    assert shown({"cell": [text], "mean": [0.125]}, capsys) == [f"{'cell':72}   mean", f"{text}  0.125"]


@pytest.mark.parametrize("count", [2, 10, 40, 80])
def test_a_wider_table_is_a_line_for_each_cell(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {f"figure_{number}": [number / 8, None] for number in range(count)}
    lines = shown({"cell": [CELL, "tls=off"], **figures}, capsys, left=3)
    first, second = lines.index("-- row 1"), lines.index("-- row 2")
    told = [dict(line.split() for line in part) for part in (lines[first + 1 : second], lines[second + 1 : -1])]
    assert told == [
        {"cell": CELL} | {name: f"{cells[0]:.6g}" for name, cells in figures.items()},
        {"cell": "tls=off"} | dict.fromkeys(figures, "–"),
    ]
    assert lines[-1].startswith("and 3 rows more")


def test_long_cells_and_names_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown({"n" * 90: ["v" * 200], "b": ["one\ntwo"]}, capsys)
    assert lines == ["-- row 1", f"{'n' * 90}  {'v' * 200}", f"b{' ' * 41}one", f"{' ' * 42}two"]


def test_names_and_reports_of_campaigns_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_campaign(tmp_path, Spec(bodies=(100,), trials=1, packets=4, name=NAME))
    folder.parent.rename(tmp_path / "wireless-vs-wireline")
    (tmp_path / "wireless-vs-wireline" / NAME / "report.html").touch()
    done = CliRunner().invoke(app, ["list", str(tmp_path)])
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"wireless-vs-wireline/{NAME}" in done.stdout
    at = lines[0].index("report")
    assert "".join(line[at:].strip() for line in lines[1:]) == f"wireless-vs-wireline/{NAME}/report.html"


def test_a_name_longer_than_the_terminal_is_folded(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, Spec(bodies=(100,), trials=1, packets=4, name=NAME))
    folder.parent.rename(tmp_path / ("w" * 90))
    done = CliRunner().invoke(app, ["list", str(tmp_path)])
    wide = done.stdout.splitlines()[0].index("trials")
    told = "".join(line[:wide].strip() for line in done.stdout.splitlines()[1:])
    assert told == f"{'w' * 90}/{NAME}"
