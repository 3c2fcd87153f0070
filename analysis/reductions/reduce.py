"""Trials' rows for a report: those that are kept where they are right, the others made now, and kept."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from analysis.details import Read, Reduced, without
from analysis.packed import numbered
from analysis.reductions.code import changed_since_start, code_digest
from analysis.reductions.cost import START_S, reduced_s, trials_s
from analysis.reductions.kept import (
    MADE_OF,
    Kept,
    KeptRows,
    Stamps,
    State,
    digests_in,
    keep,
    kept_rows,
    look,
    reduce_and_keep,
    rows_of,
    shared,
    stamps,
)
from analysis.rows import SCHEMA, Rows, by_trial
from analysis.sidebyside import processes_for, side_by_side
from analysis.spark import jobs
from analysis.spark import session as sessions
from analysis.spark.target import Say, Where
from records.counts import several
from records.store import DamagedTrial, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Reduce = Callable[[Sequence[Path]], pa.Table]
_NAMED = 3
_BLOCK = 128  # trials, the reductions of which are looked at in some 0.2 s
_WORTH = 4  # blocks
_AGAIN = (State.OTHER_CODE, State.CHANGED)


def silent(_line: str) -> None:
    """For those who tell nobody."""


@contextmanager
def reducing(*, master: Where = None, say: Say = silent) -> Iterator[Reducing]:
    """What gives the rows (analysis.rows.SCHEMA) of trial folders, number i those of the i-th.

    Spark starts when trials have to be reduced for the first time, and not for what costs less than that in this
    process, unless a master is named; SparkFailed when it does not run.  Each reduction is in place as soon as it is
    made, so that what was killed goes on where it was.  say: takes a line about those made again, or not kept.
    """
    code = code_digest()
    with ExitStack() as stack:
        started = cache(lambda: stack.enter_context(sessions.session(master=master, say=say)))
        alone = master is None and not os.environ.get("SPARK_REMOTE")
        yield Reducing(code=code, spark=started, alone=alone, say=say)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """Some trials, by number.  rows: of those whose reductions are used.  details: what reads those that rows lack.

    left: how those stand that are to be reduced.  said: a line about each that cannot be read.
    """

    rows: pa.Table
    details: dict[int, KeptRows]
    left: dict[int, State]
    said: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reducing:
    """spark: starts it at the first call.  alone: whether this process may reduce a few trials itself."""

    code: str
    spark: Callable[[], SparkSession]
    alone: bool
    say: Say

    def __call__(self, paths: Sequence[Path]) -> pa.Table:
        """All rows of all trials."""
        return self._reduced(paths, brief=False).rows

    def brief(self, paths: Sequence[Path]) -> Reduced:
        """The rows without details where these are kept in files: so many trials need not fit into memory."""
        return self._reduced(paths, brief=True)

    def _reduced(self, paths: Sequence[Path], *, brief: bool) -> Reduced:
        folders = [path.resolve() for path in paths]
        blocks = [range(first, min(first + _BLOCK, len(folders))) for first in range(0, len(folders), _BLOCK)]
        found = side_by_side(
            lambda block: self._looked(folders, blocks[block], brief=brief), len(blocks),
            # Rows with all details would take longer to travel than to be read.
            processes=processes_for(len(blocks), worth=_WORTH) if brief else 1,
        )  # fmt: skip
        for line in (line for one in found for line in one.said):
            self.say(line)
        tables = [one.rows for one in found]
        left = {number: folders[number] for one in found for number in one.left}
        details: dict[int, Read] = {number: read for one in found for number, read in one.details.items()}
        say_again(Counter(state for one in found for state in one.left.values()), self.say)
        if left:
            made, digests = self._made(left, brief=brief)
            tables.append(made)
            if brief:
                details |= {number: kept_rows(folders[number], digest) for number, digest in digests.items()}
        return Reduced(rows=pa.concat_tables([SCHEMA.empty_table(), *tables]), details=details)

    def _looked(self, folders: Sequence[Path], numbers: Iterable[int], *, brief: bool) -> _Looked:
        """How the reductions of these trials stand."""
        tables, details, left, said = [], dict[int, KeptRows](), dict[int, State](), list[str]()
        for number in numbers:
            found = look(folders[number], self.code)
            kept = _kept(folders[number], number, found, said.append)
            if kept is None:
                left[number] = found.state
                continue
            if brief and found.record is not None:
                kept = without(kept)
                details[number] = kept_rows(folders[number], found.record.reduced_sha256)
            tables.append(kept)
        rows = pa.concat_tables([SCHEMA.empty_table(), *tables]).combine_chunks()
        return _Looked(rows=rows, details=details, left=left, said=said)

    def _made(self, left: dict[int, Path], *, brief: bool) -> tuple[pa.Table, dict[int, str]]:
        """Those of `left`, number to folder, and of which the details are kept, with the digest.

        What a pack left without its files is read, and needs no Spark.
        """
        before = {number: stamps(path) for number, path in left.items()}
        heavy = {number: path for number, path in left.items() if not _is_packed(path)}
        sizes = {number: sum(size for size, _ in before[number].values()) for number in heavy}
        if self.alone and trials_s(len(heavy), sum(sizes.values())) < START_S and not changed_since_start():
            heavy = {}
        tables = [
            reduce_and_keep(path, number, self.code, brief=brief)
            for number, path in left.items() if number not in heavy
        ]  # fmt: skip
        if heavy:
            with shared(heavy.values()) as token:
                trials = {
                    number: jobs.Folder(str(path), self.code, token, reduced_s(sizes[number]), brief=brief)
                    for number, path in heavy.items()
                }
                tables.append(jobs.reduce_all(self.spark(), trials))
        made, digests = digests_in(pa.concat_tables(tables))
        made, made_of = digests_in(made, MADE_OF)
        unkept = {number: path for number, path in left.items() if number not in digests}
        digests |= self._keep(made, unkept, before, made_of)
        if brief:
            of_kept = pc.is_in(made.column("trial"), pa.array(digests, pa.int32()))
            made = pa.concat_tables([made.filter(pc.invert(of_kept)), without(made.filter(of_kept))])
        return made, digests

    def _keep(
        self, made: pa.Table, left: Mapping[int, Path], before: Mapping[int, Stamps], made_of: Mapping[int, str]
    ) -> dict[int, str]:
        """Keep what was made where the campaign's folder cannot be written: here it may be, and else it is said.

        made_of: as kept.keep has it.  Returns the digest of each that is kept.
        """
        digests: dict[int, str] = {}
        unkept: list[OSError] = []
        rows = by_trial(made) if left else {}
        for number, path in left.items():
            found = look(path, self.code)
            if found.state is State.CURRENT and found.record is not None:
                digests[number] = found.record.reduced_sha256
                continue
            try:
                mine, of = rows.get(number, SCHEMA.empty_table()), made_of.get(number, "")
                if digest := keep(path, mine, code=self.code, before=before[number], made_of=of):
                    digests[number] = digest
            except OSError as error:
                unkept.append(error)
        if unkept:
            more = f"; nor are {len(unkept) - 1} others" if unkept[1:] else ""
            self.say(f"reductions are not kept: {unkept[0]}{more}")
        return digests


def rows_of_one(path: Path, code: str) -> pa.Table:
    """The rows of one trial's folder, of number 0: those that are kept where they are right, else made here, and kept.

    code: digest of the modules that reduce, where this is a task's process.
    """
    folder = path.resolve()
    kept = _kept(folder, 0, look(folder, code), silent)
    return reduce_and_keep(folder, 0, code) if kept is None else kept


def _kept(path: Path, number: int, found: Kept, say: Say) -> pa.Table | None:
    """The rows that are kept, and a note on those whose captures are gone; None where there are none to be used."""
    why = found.why
    if found.usable:
        try:
            rows = [numbered(rows_of(path), number)]
        except (OSError, DamagedTrial) as error:
            why = str(error)
        else:
            return pa.Table.from_batches([*rows, *note(number, found)], SCHEMA)
    if why:
        say(f"reduced again: {path.parent.name}/{path.name}: {why}")
    return None


def say_again(again: Mapping[State, int], say: Say) -> None:
    """Say how many trials are reduced again because of how their reductions stand."""
    for state in _AGAIN:
        if again.get(state):
            say(f"reduced again: {several(again[state])}, whose reductions are {state}")


def _is_packed(path: Path) -> bool:
    """Whether the trial's rows are those of its pack, or the reason why they cannot be read."""
    try:
        return bool(Trial(path).elsewhere())
    except (DamagedTrial, OSError):
        return True


def note(number: int, found: Kept) -> Iterator[pa.RecordBatch]:
    """What a reader of the report has to know of a reduction whose captures are gone."""
    if found.record is None or not found.away:
        return
    names = ", ".join(found.away[:_NAMED]) + (f" and {len(found.away) - _NAMED} more" if found.away[_NAMED:] else "")
    rows = Rows(number)
    rows.add("note", "reason", text=f"reduced at {found.record.made} from files that are no longer here: {names}")
    yield rows.batch()
