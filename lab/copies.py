"""Campaigns that a command is given by URI: folders of this machine with their records, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lab.common import note
from records.location import Remote
from records.publishing import read_published
from records.scratch import scratch

if TYPE_CHECKING:
    from analysis.findings import Findings
    from analysis.reductions.published import Copy
    from analysis.spark.target import Target


class Copies:
    """Copies that have been made, in scratch folders of `stack`."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._made: dict[Path, Copy] = {}

    def __contains__(self, place: object) -> bool:
        """Whether a folder is one of the copies, or a URI has one."""
        return any(place in (folder, copy.campaign) for folder, copy in self._made.items())

    def of(self, campaign: Remote) -> Path:
        """A folder with the records of a published campaign.  Raises NotPublished, Unreachable."""
        return self.copy(campaign).folder

    def copy(self, campaign: Remote) -> Copy:
        """The same, and what is known of its files."""
        from analysis.reductions.published import copy_records  # noqa: PLC0415 - imports slowly

        copy = copy_records(campaign, read_published(campaign), self._stack.enter_context(scratch("copy")))
        self._made[copy.folder] = copy
        return copy

    def found(self, folders: Sequence[Path], *, master: Target | None = None) -> list[Findings]:
        """What came of campaigns, in copies or where they were run; raises as analysis.report.build.found."""
        from analysis.reductions.reduce import reducing  # noqa: PLC0415 - Spark imports slowly
        from analysis.report.build import found  # noqa: PLC0415
        from analysis.report.published import found_published  # noqa: PLC0415

        # Published ones first, each of which ends the Spark that it may start.
        made = {
            folder: found_published(self._made[folder], master=master, say=note)
            for folder in folders if folder in self._made
        }  # fmt: skip
        with reducing(master=master, say=note) as reduce:
            made |= {folder: found(folder, reduce.brief) for folder in folders if folder not in made}
        return [made[folder] for folder in folders]


@contextmanager
def copying() -> Iterator[Copies]:
    """Copies, which are removed on every way out."""
    with ExitStack() as stack:
        yield Copies(stack)
