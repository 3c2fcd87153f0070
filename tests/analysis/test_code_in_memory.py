"""Code that was changed after this process began may not be what it has in memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from analysis.reductions import code


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two modules that are younger than this process, and one that neither imports."""
    for name, content in {"start": "import late\n", "late": "", "other": ""}.items():
        (tmp_path / f"{name}.py").write_text(content)
    return tmp_path


@pytest.mark.parametrize(("changed", "counts"), [("start", True), ("late", True), ("other", False)])
def test_a_file_whose_time_was_set_back_has_changed_since(
    root: Path, monkeypatch: pytest.MonkeyPatch, changed: str, counts: bool
) -> None:
    assert code.changed_since_start("start", root)
    # As if this process had begun after all three: what is done to one of them afterwards is a change.
    began = time.time() + 0.02
    monkeypatch.setattr(code, "_started_at", lambda: began)
    assert not code.changed_since_start("start", root)
    time.sleep(0.05)
    path = root / f"{changed}.py"
    path.write_text(path.read_text() + "x = 1\n")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    assert code.changed_since_start("start", root) is counts
