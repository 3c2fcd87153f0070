"""Notes that one user's commands leave for the next, one per topic: small files that nobody else can have written."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_MOST_BYTES = 4096


def place(topic: str) -> Path:
    """Where this user's note is: root's in /run, others' in $XDG_RUNTIME_DIR, else in the temporary folder."""
    user, name = os.geteuid(), f"airwire-{topic}"
    if not user:
        return Path(f"/run/{name}.json")
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    if runtime.is_dir() and runtime.stat().st_uid == user:
        return runtime / f"{name}.json"
    return Path(tempfile.gettempdir()) / f"{name}-{user}.json"


def recall(topic: str) -> dict[str, str] | None:
    """The note; None when there is none, or none that this user wrote."""
    try:
        number = os.open(place(topic), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as file:
            state = os.fstat(number)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
                return None
            note = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return note if isinstance(note, dict) else None


def keep(topic: str, note: dict[str, str]) -> None:
    """Replace the note, whole; where that is not possible there will be none, and the work is done each time."""
    path = place(topic)
    with suppress(OSError):
        number, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        try:
            with open(number, "w") as file:
                json.dump(note, file)
            os.replace(fresh, path)
        except OSError:
            os.unlink(fresh)


def stamp(path: Path) -> str:
    """A file's real place, size and time of change (ns); OSError when it is not there."""
    state = path.stat()
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder."""
    found = hashlib.sha256()
    for path in sorted(one for one in folder.rglob("*") if one.is_file() and "__pycache__" not in one.parts):
        content = path.read_bytes()
        found.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()
