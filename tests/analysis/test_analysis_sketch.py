"""Sketches: what is drawn is in both files, whatever texts hold."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.plots.raster import png
from analysis.plots.sketch import Box, Label, Line, Sketch
from analysis.plots.style import PNG_DPI
from analysis.plots.svg import svg

_SPACE = "{http://www.w3.org/2000/svg}"


def sketch(*shapes: Box | Line | Label, title: str = "") -> Sketch:
    return Sketch(title=title, about="", width=144, height=72, shapes=shapes)


@given(st.text(st.characters(exclude_categories=("Cs",))), st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_gives_a_well_formed_file_that_says_it(title: str, text: str) -> None:
    root = ElementTree.fromstring(svg(sketch(Label(x=1, y=2, text=text), title=title)))  # noqa: S314 - our own
    said = root.findtext(f"{_SPACE}text") or ""
    assert len(root) == 3
    assert said.isprintable() or len(said) <= len(text)
    assert text.isascii() is False or not text.isprintable() or said == text


def test_svg_and_png_have_the_same_shapes_in_the_same_places() -> None:
    shown = sketch(
        Box(x=0, y=0, width=72, height=36, fill="#ff0000"),
        Line(points=((72, 54), (144, 54)), colour="#0000ff", width=12),
        Box(x=108, y=0, width=36, height=36, fill="#00ff00"),
    )
    boxes = ElementTree.fromstring(svg(shown)).findall(f"{_SPACE}rect")  # noqa: S314 - our own
    assert [(box.get("x"), box.get("width")) for box in boxes[1:]] == [("0", "72"), ("108", "36")]
    pixels = matplotlib.image.imread(io.BytesIO(png(shown)), format="png")
    assert pixels.shape[:2] == (PNG_DPI, 2 * PNG_DPI)
    at = {"red": (18, 36), "green": (18, 126), "blue": (54, 108), "white": (60, 20)}  # y, x in points
    found = {name: np.round(pixels[y * PNG_DPI // 72, x * PNG_DPI // 72, :3]).tolist() for name, (y, x) in at.items()}
    assert found == {"red": [1, 0, 0], "green": [0, 1, 0], "blue": [0, 0, 1], "white": [1, 1, 1]}


def test_the_same_sketch_gives_the_same_bytes() -> None:
    shown = sketch(Label(x=1, y=40, text="10 $%$ & more"), Line(points=((0, 0), (9, 9)), colour="#000000", dash=(2, 1)))
    assert svg(shown) == svg(shown)
    assert png(shown) == png(shown)
