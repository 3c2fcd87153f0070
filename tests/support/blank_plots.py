"""Plots without content, for tests of what else a report says: to draw them is most of what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from matplotlib.figure import Figure

_BLANK = {"svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>', "png": b"\x89PNG\r\n\x1a\n"}


@contextmanager
def blank() -> Iterator[None]:
    """Plots are set out as usual, and nothing of them is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda _, to, *, format, **__: to.write(_BLANK[format]))
        yield
