"""Pages in a real browser: what it measures of them, as JSON.  To start one takes a processor more than a second."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path

PHONE, LAPTOP = 400, 1280  # widths, in pixels
_PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:0">
{frames}<pre id="out"></pre>
<script>
const measure = (frame) => {{
  const page = frame.contentDocument;
  const width = frame.clientWidth;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const inBox = (e) => e.closest(".scroll, .picture, pre");
  const wide = [...page.body.querySelectorAll("*")].filter(
    (e) => !inBox(e) && e.getBoundingClientRect().right > width + 0.5);
  const pictures = [...page.images];
  return {{
    scroll: page.documentElement.scrollWidth,
    wide: wide.map((e) => e.tagName + " " + e.textContent.slice(0, 40)),
    pictures: pictures.length,
    drawn: pictures.filter((e) => e.complete && e.naturalWidth > 0).length,
    answered: page.querySelector(".answer")?.getBoundingClientRect().bottom,
    narrowest: Math.min(...pictures.map((e) => e.getBoundingClientRect().width)),
  }};
}};
window.onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  const found = Object.fromEntries(frames.map((frame) => [frame.id, measure(frame)]));
  document.getElementById("out").textContent = JSON.stringify(found);
}};
</script>"""
_FRAME = '<iframe id="{name}" src="{url}" style="border:0;width:{width}px;height:900px"></iframe>\n'
Measures = dict[str, object]


def measured(folder: Path, pages: Mapping[str, Path], widths: Sequence[int] = (PHONE, LAPTOP)) -> dict[str, Measures]:
    """What a browser finds of each page at each width: by `NAME WIDTH`."""
    frames = "".join(
        _FRAME.format(name=f"{name} {width}", url=page.as_uri(), width=width)
        for name, page in pages.items() for width in widths
    )  # fmt: skip
    found: dict[str, Measures] = asked(folder, _PAGE.format(frames=frames), max(widths))
    return found


def asked(folder: Path, text: str, width: int) -> dict[str, object]:
    """What a page wrote into its element `out`, as JSON, when nothing was left to do in it."""
    page = folder / "frame.html"
    page.write_text(text)
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
