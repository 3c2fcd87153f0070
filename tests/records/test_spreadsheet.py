"""CSV that a spreadsheet opens: foreign texts stay texts, numbers stay numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.calibration import Calibrated
from records.calibration import write_csv as write_calibration
from records.spreadsheet import inert, write_csv


@pytest.mark.parametrize(
    "name", ["=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "-", "=1", "+", "--1", "-inf", "1=1"[1:]]
)
def test_a_text_that_would_be_calculated_is_neutralised(name: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["name"], [[name]])
    with (tmp_path / "t.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["name"] == f"'{name}"


@pytest.mark.parametrize("cell", [-1.5, 3, None, "-1.5", "+3", "-1e-05", "1.", "-.5", "plain", "a=b", "", "lte-1"])
def test_numbers_and_plain_words_stay_as_they_are(cell: object) -> None:
    assert inert(cell) == cell


@given(st.text(max_size=20))
def test_no_text_begins_a_formula(text: str) -> None:
    shown = str(inert(text))
    assert shown.endswith(text)
    assert not shown.startswith(("=", "@", "\t", "\r"))
    if shown.startswith(("+", "-")):
        float(shown)


def test_a_calibration_is_written_so_too(tmp_path: Path) -> None:
    refused = Calibrated(profile="lte", kernel="host", refused="=1+1", stations=(), checks=(), tries=0, stall_s=0.0)
    write_calibration(tmp_path / "c.csv", [refused])
    assert (tmp_path / "c.csv").read_text().splitlines()[1].endswith(",'=1+1")
