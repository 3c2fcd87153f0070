"""A reproducible tar.xz that is read strictly.

Equal files give equal bytes: no times, no owners, one mode.  The reader asks for each file by name and size and takes
nothing else, so there are no links, devices, extensions or names to beware of, and never more bytes than were asked
for.  Unpacking with tar works, too.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tarfile import BLOCKSIZE, PAX_FORMAT, HeaderError, TarInfo
from typing import BinaryIO

_CHUNK = 1 << 20
_PRESET = 6 | lzma.PRESET_EXTREME
_MEMORY = 128 << 20  # a header can ask for 4 GiB; preset 6 needs 9 MiB to be read


class BadArchive(Exception):
    """The file is not what `write` makes; the message says where it differs."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file to write: `source` is its content or where that stands."""

    name: str
    source: bytes | Path
    bytes: int
    sha256: str


def member(name: str, source: bytes | Path) -> Member:
    """A file with its size and digest; OSError when it cannot be read."""
    digest, size = hashlib.sha256(), 0
    for chunk in _chunks(source):
        digest.update(chunk)
        size += len(chunk)
    return Member(name, source, size, digest.hexdigest())


def write(path: Path, members: Iterable[Member]) -> None:
    """Write the members in their order; BadArchive when a file is no longer what it was when `member` read it."""
    with lzma.open(path, "wb", format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=_PRESET) as out:
        for one in members:
            out.write(_header(one.name, one.bytes))
            digest, size = hashlib.sha256(), 0
            for chunk in _chunks(one.source):
                digest.update(chunk)
                size += len(chunk)
                out.write(chunk)
            if (size, digest.hexdigest()) != (one.bytes, one.sha256):
                raise BadArchive(f"{one.source!s}: it changed while it was being packed")
            out.write(bytes(-size % BLOCKSIZE))
        out.write(bytes(2 * BLOCKSIZE))


class Reader:
    """Reads members in order from `file`; every method raises BadArchive when the next bytes are not as asked."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._xz = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY)

    def first(self, name: str, *, most: int) -> bytes:
        """Content of the next member, whose size is not known beforehand but is at most `most` bytes."""
        block = b"".join(self._take(BLOCKSIZE))
        try:
            size = TarInfo.frombuf(block, "utf-8", "strict").size
        except (HeaderError, ValueError) as error:
            raise BadArchive(f"it does not begin with {name}") from error
        if not 0 <= size <= most:
            raise BadArchive(f"{name}: {size} bytes, more than {most}")
        if block != _header(name, size):
            raise BadArchive(f"it does not begin with {name}")
        content = b"".join(self._take(size))
        self._zeros(-size % BLOCKSIZE)
        return content

    def copy(self, name: str, size: int, target: BinaryIO) -> str:
        """Write the next member, of this name and size, to `target`; returns its SHA-256."""
        expected = _header(name, size)
        if b"".join(self._take(len(expected))) != expected:
            raise BadArchive(f"{name} is not where the list has it")
        digest = hashlib.sha256()
        for chunk in self._take(size):
            digest.update(chunk)
            target.write(chunk)
        self._zeros(-size % BLOCKSIZE)
        return digest.hexdigest()

    def end(self) -> None:
        """Check that nothing follows."""
        self._zeros(2 * BLOCKSIZE)
        if self._some(1) or self._xz.unused_data or self._file.read(1):
            raise BadArchive("something follows its last file")

    def _zeros(self, count: int) -> None:
        if any(any(chunk) for chunk in self._take(count)):
            raise BadArchive("something stands between its files")

    def _take(self, count: int) -> Iterator[bytes]:
        while count:
            chunk = self._some(min(count, _CHUNK))
            if not chunk:
                raise BadArchive("it ends early")
            count -= len(chunk)
            yield chunk

    def _some(self, most: int) -> bytes:
        """At least one and at most `most` bytes; none at the end."""
        while not self._xz.eof:
            data = self._file.read(_CHUNK) if self._xz.needs_input else b""
            if self._xz.needs_input and not data:
                raise BadArchive("it ends early")
            try:
                found = self._xz.decompress(data, max_length=most)
            except (lzma.LZMAError, MemoryError) as error:
                raise BadArchive(f"it is damaged, or no xz file ({error})") from error
            if found:
                return found
        return b""


def _header(name: str, size: int) -> bytes:
    """A regular file's header; of a long name or a large size with an extended one before it."""
    entry = TarInfo(name)
    entry.size = size
    return entry.tobuf(format=PAX_FORMAT, encoding="utf-8", errors="strict")


def _chunks(source: bytes | Path) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
