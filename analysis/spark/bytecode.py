"""Byte code that is sent with its source, so that the first task of a worker compiles nothing."""

from __future__ import annotations

from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from struct import Struct

# What follows the magic number in a file of byte code: flags, and the source that it is of.
_BY_TIME, _UNCHECKED = Struct("<III"), Struct("<I8s")


def byte_code(source: Path) -> bytes | None:
    """What Python has compiled of a module here, as a file that is taken without a look at its source (PEP 552).

    None where there is none, or that of another source.
    """
    try:
        cached, about, content = Path(cache_from_source(str(source))).read_bytes(), source.stat(), source.read_bytes()
    except OSError:
        return None
    checked_by_time = MAGIC_NUMBER + _BY_TIME.pack(0, int(about.st_mtime) & 0xFFFFFFFF, about.st_size & 0xFFFFFFFF)
    if not cached.startswith(checked_by_time):
        return None
    return MAGIC_NUMBER + _UNCHECKED.pack(1, source_hash(content)) + cached[len(checked_by_time) :]
