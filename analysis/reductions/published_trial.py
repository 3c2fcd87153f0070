"""A trial of a published campaign: its files are fetched by the tasks that need them, its captures read in ranges."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENOENT
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from analysis.capture.format import NotACapture
from analysis.capture.ranges import Index, digest, index
from analysis.large.plan import CAPTURES
from records.filenames import MANIFEST
from records.location import Remote
from records.packed import Listed
from records.publishing import fetch, must_be
from records.scratch import scratch

_FIRST_BYTES, _PART_BYTES = 64, 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTrial:
    """As analysis.large.files.Files.

    campaign: where it was published.  trial: cell/trial-NNN.  listed: the trial's files, by their names in its folder.
    known: a folder, which may be another machine's, where some of them are.
    """

    campaign: Remote
    trial: str
    listed: tuple[Listed, ...]
    known: Path

    @property
    def captures(self) -> tuple[Listed, ...]:
        """Those of its files that are captures."""
        return captures_of(self.listed)

    @property
    def place(self) -> Remote:
        """The trial's folder at the URI."""
        return self.campaign / self.trial

    def capture(self, file: str) -> Remote:
        """As Files has it."""
        return self.place / file

    def index(self, file: str, *, range_bytes: int) -> Index:
        """As Files has it; NotPublished where the file is not the one that is listed."""
        one = next((one for one in self.captures if one.file == file), None)
        if one is None:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), file)
        seen, failed, found = _Seen(), None, Index(ranges=(), damage=None)
        with self.capture(file).open() as whole:
            seen(0, whole.load(0, _FIRST_BYTES), 0)  # a walk begins behind the file's header
            try:
                found = index(self.capture(file), range_bytes=range_bytes, seen=seen)
            except NotACapture as error:
                failed = NotACapture(str(error).replace(str(self.capture(file)), file))
            for start in range(seen.end, whole.size, _PART_BYTES):
                seen(start, whole.load(start, start + _PART_BYTES), 0)
        must_be(self.place, one, size=seen.end, sha256=seen.sha256())
        if failed is not None:
            raise failed
        return replace(found, digests=tuple(seen.ranges))

    @contextmanager
    def records(self, tables: Collection[str] | None = None) -> Iterator[Path]:
        """As Files has it: a folder of this task, without captures."""
        wanted = None if tables is None else {MANIFEST, *(f"{name}.parquet" for name in tables)}
        captures = {one.file for one in self.captures}
        files = [one for one in self.listed if one.file not in captures and (wanted is None or one.file in wanted)]
        with self._fetched(files) as folder:
            yield folder

    @contextmanager
    def whole(self) -> Iterator[Path]:
        """A folder of this task with all of the trial's files.  Raises as records.publishing.fetch does."""
        with self._fetched(self.listed) as folder:
            yield folder

    @contextmanager
    def _fetched(self, files: Collection[Listed]) -> Iterator[Path]:
        with scratch("trial") as place:
            fetch(self.place, files, place / self.trial, known=self.known)
            yield place / self.trial


def captures_of(listed: Iterable[Listed]) -> tuple[Listed, ...]:
    """Those of a trial's files that are captures."""
    return tuple(one for one in listed if fnmatch(one.file, CAPTURES))


class _Seen:
    """Digests of a file and of its ranges, and its end, from its bytes in order, some of which come more than once."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.end = 0
        self.ranges: list[str] = []

    def __call__(self, start: int, data: np.ndarray, ranged: int) -> None:
        """As analysis.capture.ranges.index calls it."""
        assert start <= self.end, "no byte is passed over"
        if ranged:
            self.ranges.append(digest(data[:ranged]))
        new = data[self.end - start :]
        self._digest.update(new.data)
        self.end += len(new)

    def sha256(self) -> str:
        """Of all that was seen, hexadecimal."""
        return self._digest.hexdigest()
