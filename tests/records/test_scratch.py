"""Folders for a command's own use are gone when it is, at the latest when the next command makes one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from records.scratch import scratch

ROOT = Path(__file__).parents[2]
_HOLD = """
import sys, time
from records.scratch import scratch
with scratch("test") as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def holder() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", _HOLD], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def ended(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    process.communicate(timeout=120)


def test_a_folder_is_gone_with_its_block(tmp_path: Path) -> None:
    with scratch("test") as folder:
        (folder / "file").write_text("x")
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_gone_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), scratch("test"):
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_folder(tmp_path: Path) -> None:
    process, left = holder()
    ended(process, signal.SIGKILL)
    assert (left / "file").is_file()
    with scratch("test"):
        assert not left.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_living_process_keeps_its_folder() -> None:
    process, held = holder()
    try:
        with scratch("test"):
            assert (held / "file").is_file()
        assert (held / "file").is_file()
    finally:
        ended(process, signal.SIGKILL)


def test_what_somebody_else_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "airwire-notes").mkdir()
    (tmp_path / "airwire-notes" / "mine").write_text("x")
    with scratch("test"):
        pass
    assert (tmp_path / "airwire-notes" / "mine").is_file()
