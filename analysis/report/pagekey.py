"""The key that this user's reports seal the pages of trials with: who hands a campaign over cannot have sealed any."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_BYTES = 32


def page_key() -> bytes:
    """The key, made when there is none; empty where none can be kept that is this user's alone."""
    try:
        path = _place()
    except RuntimeError:  # a user without a home
        return b""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
    return _read(path)


def _place() -> Path:
    """In the user's cache (XDG Base Directory Specification)."""
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "airwire" / "pages.key"


def _make(path: Path) -> None:
    """Put a key in place, whole, unless another command was faster."""
    number, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(number, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        os.unlink(fresh)


def _read(path: Path) -> bytes:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as file:
            state = os.fstat(number)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
                return b""
            key = file.read(_BYTES + 1)
    except OSError:
        return b""
    return key if len(key) == _BYTES else b""
