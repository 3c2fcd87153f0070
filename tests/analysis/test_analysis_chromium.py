"""The report in a real browser: nothing sticks out at the width of a telephone and of a laptop, tables sort."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import LAPTOP, PHONE, Measures, asked, measured
from journeys import travelled
from report_read import AIR

from analysis.campaign_compare import between
from analysis.campaign_compare import write as write_comparison
from analysis.details import Details
from analysis.findings import Findings
from analysis.report.build import write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shown(findings: Findings, report: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measures]:
    """The report, the page of a trial with a journey and a comparison, at the widths of a telephone and of a laptop."""
    folder = tmp_path_factory.mktemp("shown")
    cell = replace(findings, cells=tuple(one for one in findings.cells if one.name == AIR))
    trial = sorted((write(travelled(cell, folder / "travelled")).parent / "trials").iterdir())[0]
    comparison = write_comparison(between(findings, findings), folder / "comparison")
    return measured(folder, {"report": report, "trial": trial, "comparison": comparison})


WIDTHS = pytest.mark.parametrize("width", [PHONE, LAPTOP])


@WIDTHS
def test_nothing_sticks_out_of_a_comparison(shown: dict[str, Measures], width: int) -> None:
    found = shown[f"comparison {width}"]
    assert (found["wide"], found["scroll"]) == ([], width)
    assert (found["pictures"], found["drawn"]) == (1, 1)


@WIDTHS
def test_nothing_sticks_out_of_the_page(shown: dict[str, Measures], width: int) -> None:
    found = shown[f"report {width}"]
    assert found["wide"] == []
    assert found["scroll"] == width
    assert found["pictures"] == found["drawn"] == 16
    assert isinstance(found["answered"], (int, float))
    if width == LAPTOP:
        assert found["answered"] <= 800  # picture, verdict and sentence, without scrolling
    assert isinstance(found["narrowest"], (int, float))
    assert found["narrowest"] > 360


@WIDTHS
def test_nothing_sticks_out_of_the_page_of_a_trial(shown: dict[str, Measures], width: int) -> None:
    found = shown[f"trial {width}"]
    assert found["wide"] == []
    assert found["scroll"] == width
    assert found["pictures"] == found["drawn"] == 3


_SORT = """<!doctype html><meta charset="utf-8"><iframe id="f" src="{url}"></iframe><pre id="out"></pre>
<script>
document.getElementById("f").onload = () => {{
  const page = document.getElementById("f").contentDocument;
  const table = page.querySelector("#flows table");
  const state = () => ({{
    flows: [...table.tBodies[0].rows].map((row) => row.cells[0].textContent),
    sorted: [...table.tHead.rows[0].cells].map((head) => head.getAttribute("aria-sort")),
  }});
  const found = {{ unsorted: state() }};
  for (const [name, column] of {clicks}) {{
    const button = table.tHead.rows[0].cells[column].querySelector("button");
    button.focus();
    found[name + " focused"] = page.activeElement === button;
    button.click();
    found[name] = state();
  }}
  found.fixed = page.querySelectorAll("#figures thead button").length;
  document.getElementById("out").textContent = JSON.stringify(found);
}};
</script>"""


def test_tables_are_sorted_by_a_click(tmp_path: Path, findings: Findings) -> None:
    """Columns of the flows: name, direction, packets, bytes, RTT."""
    said = travelled(findings, tmp_path / "c1")
    flows = {
        "a": {"packets": 9.0, "wire_bytes": 5e6, "rtt_mean_s": 0.9},
        "b": {"packets": 1000.0, "wire_bytes": 4e6, "rtt_mean_s": 0.0011},
        "c": {"packets": 10.0, "wire_bytes": 3e6},
        "d": {"packets": 9.0, "wire_bytes": 2e6, "rtt_mean_s": 0.05},
    }
    cell = replace(said.cells[0], trials=(replace(said.cells[0].trials[0], details=Details(flows=flows)),))
    report = write(replace(said, cells=(cell,)))
    (page,) = (report.parent / "trials").iterdir()
    clicks = [["packets", 2], ["packets down", 2], ["rtt", 4], ["rtt down", 4], ["name", 0]]
    found: dict[str, Any] = asked(tmp_path, _SORT.format(url=page.as_uri(), clicks=json.dumps(clicks)), 1280)
    assert found["unsorted"] == {"flows": ["a", "b", "c", "d"], "sorted": [None] * 5}
    assert found["packets"]["flows"] == ["a", "d", "c", "b"]  # 9, 9, 10, 1000: as numbers, equals in their order
    assert found["packets"]["sorted"] == [None, None, "ascending", None, None]
    assert found["packets down"]["flows"] == ["b", "c", "a", "d"]
    assert found["packets down"]["sorted"] == [None, None, "descending", None, None]
    assert found["rtt"]["flows"] == ["b", "d", "a", "c"]  # 1.10 ms, 50.0 ms, 900 ms, none
    assert found["rtt down"]["flows"] == ["a", "d", "b", "c"]
    assert found["name"]["flows"] == ["a", "b", "c", "d"]
    assert found["name"]["sorted"] == ["ascending", None, None, None, None]
    assert all(found[f"{name} focused"] for name, _ in clicks)  # what has focus is a button: keys press it
    assert found["fixed"] == 1
