"""A sketch as SVG: text stays text, coordinates to a tenth of a point, the same sketch gives the same bytes."""

from __future__ import annotations

import re
from html import escape

from analysis.plots.sketch import Box, Dot, Label, Line, Shape, Sketch

_ANCHOR = {"left": "start", "center": "middle", "right": "end"}
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0, section 2.2


def svg(sketch: Sketch) -> bytes:
    """The whole file."""
    size = f"{_number(sketch.width)} {_number(sketch.height)}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{_number(sketch.width)}pt" '
        f'height="{_number(sketch.height)}pt" font-family="DejaVu Sans, Verdana, sans-serif" fill="none" '
        f'stroke-linejoin="round"><title>{_text(sketch.title)}</title>'
        '<rect width="100%" height="100%" fill="#fff"/>\n'
    )
    return (head + "\n".join(map(_shape, sketch.shapes)) + "\n</svg>\n").encode()


def _shape(shape: Shape) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    if isinstance(shape, Dot):
        return _dot(shape)
    return _line(shape) if isinstance(shape, Line) else _label(shape)


def _box(box: Box) -> str:
    rim = f' stroke="{box.rim}" stroke-width=".6"' if box.rim else ""
    return (
        f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" fill="{box.fill}"{rim}{_opacity(box.opacity)}/>'
    )


def _dot(dot: Dot) -> str:
    return (
        f'<circle cx="{_number(dot.x)}" cy="{_number(dot.y)}" r="{_number(dot.radius)}" fill="{dot.fill}" '
        f'stroke="{dot.rim}"/>'
    )


def _line(line: Line) -> str:
    places = " ".join(f"{_number(x)},{_number(y)}" for x, y in line.points)
    dash = f' stroke-dasharray="{" ".join(map(_number, line.dash))}"' if line.dash else ""
    return (
        f'<polyline points="{places}" stroke="{line.colour}" stroke-width="{line.width:g}"{dash}'
        f"{_opacity(line.opacity)}/>"
    )


def _label(label: Label) -> str:
    anchor = "" if label.align == "left" else f' text-anchor="{_ANCHOR[label.align]}"'
    bold = ' font-weight="bold"' if label.bold else ""
    return (
        f'<text x="{_number(label.x)}" y="{_number(label.y)}" font-size="{label.size:g}" fill="{label.colour}"'
        f"{anchor}{bold}>{_text(label.text)}</text>"
    )


def _opacity(value: float) -> str:
    return "" if value >= 1 else f' opacity="{value:.2g}"'


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
