"""A full disk: noticed whichever process meets it first, and told with the folder.

Whoever meets it may die without a word (its log is on the same disk), or say something else: a broker loses its
clients, a capture has no counts.  So whoever owns the trial watches the file system itself.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
_PERIOD_S = 0.05
# A block or two may be left when what was to be written needs more.
_FULL_BYTES = 1 << 16


class Space:
    """What is free where a folder is.  least_bytes: the least that was seen; no_files: whether no file more fitted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.least_bytes: int | None = None
        self.no_files = False

    def look(self) -> None:
        """Take a reading; none where the file system does not answer."""
        with suppress(OSError):
            now = os.statvfs(self._folder)
            # Some blocks are kept for root, who can use them.
            free = now.f_frsize * (now.f_bavail if os.geteuid() else now.f_bfree)
            self.least_bytes = free if self.least_bytes is None else min(free, self.least_bytes)
            self.no_files |= now.f_files > 0 and now.f_ffree == 0  # some file systems do not count files

    def explain(self, said: Sequence[str]) -> tuple[str, ...]:
        """What a failure said, with the full disk and the folder in it; empty when the disk does not explain it.

        A quota is not seen from outside, nor a disk that was full for a moment: then it is the words that tell.
        """
        words = [os.strerror(number) for number in FULL_ERRORS]
        if any(one.startswith(tuple(words)) for one in said):
            return tuple(said)  # the trial has explained itself so
        if self.least_bytes is not None and self.least_bytes < _FULL_BYTES:
            return f"{words[0]}: {self.least_bytes} bytes were free where {self._folder} is", *said
        if self.no_files:
            return f"{words[0]}: there was no room for another file where {self._folder} is", *said
        told = next((word for word in words if any(word in one for one in said)), "")
        return (f"{told}, maybe where {self._folder} is", *said) if told else ()


@contextmanager
def watched(folder: Path) -> Iterator[Space]:
    """Look at a folder's file system some 20 times a second while the context lasts, and when it ends."""
    space, over = Space(folder), threading.Event()

    def watch() -> None:
        while not over.wait(_PERIOD_S):
            space.look()

    thread = threading.Thread(target=watch, name="disk space", daemon=True)
    space.look()
    thread.start()
    try:
        yield space
    finally:
        over.set()
        thread.join()
        space.look()


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Give an OSError of a full disk the folder, which it lacks when it comes from writing and not from opening."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_ERRORS and error.filename is None:
            error.filename = str(folder)
        raise
