"""The report in a real browser: nothing sticks out of the page, at the width of a telephone and of a laptop."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import pytest

from analysis.between import between
from analysis.between import write as write_comparison
from analysis.findings import Findings
from analysis.report.build import write

_PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="f" src="{url}" style="border:0;width:{width}px;height:900px"></iframe><pre id="out"></pre>
<script>
document.getElementById("f").onload = () => {{
  const page = document.getElementById("f").contentDocument;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const inBox = (e) => e.closest(".scroll, pre");
  const wide = [...page.body.querySelectorAll("*")].filter(
    (e) => !inBox(e) && e.getBoundingClientRect().right > {width} + 0.5);
  const pictures = [...page.images];
  document.getElementById("out").textContent = JSON.stringify({{
    scroll: page.documentElement.scrollWidth,
    wide: wide.map((e) => e.tagName + " " + e.textContent.slice(0, 40)),
    pictures: pictures.length,
    drawn: pictures.filter((e) => e.complete && e.naturalWidth > 0).length,
    narrowest: Math.min(...pictures.map((e) => e.getBoundingClientRect().width)),
  }});
}};
</script>"""


def measured(folder: Path, report: Path, width: int) -> dict[str, object]:
    page = folder / "frame.html"
    page.write_text(_PAGE.format(url=report.as_uri(), width=width))
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--allow-file-access-from-files",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={max(width, 500)},1000",
        "--virtual-time-budget=20000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    found = re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[:500]
    measures: dict[str, object] = json.loads(unescape(found[1]))
    return measures


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out_of_a_comparison(tmp_path: Path, findings: Findings, width: int) -> None:
    found = measured(tmp_path, write_comparison(between(findings, findings), tmp_path / "out"), width)
    assert (found["wide"], found["scroll"]) == ([], width)
    assert (found["pictures"], found["drawn"]) == (1, 1)


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out_of_the_page(tmp_path: Path, findings: Findings, width: int) -> None:
    found = measured(tmp_path, write(findings), width)
    assert found["wide"] == []
    assert found["scroll"] == width
    assert found["pictures"] == found["drawn"] == 31
    assert isinstance(found["narrowest"], (int, float))
    assert found["narrowest"] > 360
