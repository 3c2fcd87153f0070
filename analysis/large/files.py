"""Where the files of a large trial stand, as each of the tasks that share it gets at them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import Index
from analysis.partial import must_see
from records.location import Place


class Files(Protocol):
    """The files of one trial; it is sent to the tasks."""

    def capture(self, file: str) -> Place:
        """Where a capture is read, in ranges.  Unreachable where this task does not see the trial."""

    def index(self, file: str, *, range_bytes: int) -> Index:
        """The ranges of a capture; raises what analysis.capture.ranges.index does, and Unreachable."""

    def records(self, tables: Collection[str] | None = None) -> AbstractContextManager[Path]:
        """A folder that has the trial's records and ledger.

        tables: those of the ledger that are wanted, and the manifest of the records; None for all.  Raises Unreachable.
        """


@dataclass(frozen=True, slots=True)
class Here:
    """Of a trial in a folder that all tasks see."""

    folder: Path

    def capture(self, file: str) -> Path:
        """As Files has it."""
        must_see(self.folder)
        return self.folder / file

    def index(self, file: str, *, range_bytes: int) -> Index:
        """The one that is kept beside the capture, which is made where there is none."""
        return kept_index(self.capture(file), range_bytes=range_bytes)

    @contextmanager
    def records(self, tables: Collection[str] | None = None) -> Iterator[Path]:  # noqa: ARG002 - all of them are there
        """The trial's own folder."""
        must_see(self.folder)
        yield self.folder
