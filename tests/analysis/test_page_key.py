"""The key that trial pages are sealed with: made once, its user's alone, and none where that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from analysis.report.pagekey import page_key


def test_a_key_is_made_once_and_only_its_user_can_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    key = page_key()
    path = tmp_path / "airwire" / "pages.key"
    assert (len(key), page_key(), path.read_bytes()) == (32, key, key)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert page_key() == b""
    path.chmod(0o600)
    path.write_bytes(key[:-1])
    assert page_key() == b""
    path.rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    assert page_key() == b""


def test_without_a_place_for_a_key_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert page_key() == b""
    monkeypatch.delenv("XDG_CACHE_HOME")
    with monkeypatch.context() as homeless:
        homeless.delenv("HOME", raising=False)
        homeless.setattr("pwd.getpwuid", _nobody)
        assert page_key() == b""
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # is passed over, as the specification says
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(page_key()) == 32
    assert (tmp_path / ".cache" / "airwire" / "pages.key").is_file()


def _nobody(uid: int) -> NoReturn:
    raise KeyError(uid)
