"""Rows of the trials of a published campaign: those that are kept at its URI, the others made now, and kept there.

A trial whose reduction is wanted is fetched by the task that makes it, into a scratch folder, and checked against the
campaign's list.  Of one whose reduction is right only that is read: its record came with those of the trials, by one
call, where the campaign was published with it.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from analysis.details import Reduced, details_of, without
from analysis.packed import numbered, read_rows
from analysis.partial import said
from analysis.reductions.code import code_digest
from analysis.reductions.cost import START_S, trials_s
from analysis.reductions.kept import (
    FOLDER,
    RECORD,
    Kept,
    KeptRows,
    Reduction,
    State,
    digests_in,
    in_brief,
    judged,
    place_of,
    reduce_and_keep,
)
from analysis.reductions.reduce import note, say_again, silent
from analysis.rows import DDL, SCHEMA, Rows
from analysis.spark import session as sessions
from analysis.spark.target import Say, Where
from records.campaign import RECORD as CAMPAIGN
from records.location import NotThere, Remote, Unreachable
from records.packed import PACKED, REDUCED, Listed
from records.publishing import Published, fetch, fetch_records
from records.scratch import scratch
from records.store import LINK, MANIFEST, VERDICT, DamagedTrial, is_trial

RECORDS = {MANIFEST, LINK, VERDICT, PACKED}
_AT_ONCE = 8  # reductions that are read
_REFUSED = "refused"  # table with a row of each trial whose reduction could not be written


@dataclass(frozen=True, slots=True)
class Copy:
    """A published campaign, and the folder of this machine that has its records, but neither ledgers nor captures."""

    campaign: Remote
    folder: Path
    files: Mapping[str, tuple[Listed, ...]]  # of each trial, by cell/trial-NNN, named inside its folder


def files_of_trials(published: Published) -> dict[str, tuple[Listed, ...]]:
    """What the list has of each trial, by cell/trial-NNN, its files named inside its folder."""
    found: dict[str, list[Listed]] = {}
    for one in published.files:
        cell, _, rest = one.file.partition("/")
        trial, _, name = rest.partition("/")
        if name and "/" not in name and is_trial(trial):
            found.setdefault(f"{cell}/{trial}", []).append(one.model_copy(update={"file": name}))
    return {trial: tuple(files) for trial, files in found.items()}


def copy_records(campaign: Remote, published: Published, below: Path) -> Copy:
    """Fetch the records of the campaign and its trials into a new folder, and those of reductions that are bundled.

    Raises NotPublished, Unreachable.
    """
    folder = below / published.scenario / published.campaign
    files = files_of_trials(published)
    records = {f"{trial}/{one.file}" for trial, mine in files.items() for one in mine if one.file in RECORDS}
    wanted = [one for one in published.files if one.file == CAMPAIGN or one.file in records]
    reductions = [
        one for one in published.files if one.file.startswith(f"{FOLDER}/") and one.file.endswith(f"/{RECORD}")
    ]
    fetch_records(campaign, wanted, folder, if_bundled=reductions)
    trials = {trial: mine for trial, mine in files.items() if (folder / trial).is_dir()}
    for trial, mine in trials.items():
        name_the_others(folder / trial, mine)
    return Copy(campaign, folder, trials)


def name_the_others(trial: Path, files: Sequence[Listed]) -> None:
    """Make empty files for what a trial out of a pack has at its URI: the pack's record asks which there are."""
    if (trial / PACKED).is_file():
        for one in files:
            (trial / one.file).touch()


@contextmanager
def reducing_published(copy: Copy, *, master: Where = None, say: Say = silent) -> Iterator[ReducingPublished]:
    """As analysis.reductions.reduce.reducing, of the folders of trials of a copy."""
    yield ReducingPublished(copy=copy, code=code_digest(), master=master, say=say)


def states_published(copy: Copy) -> tuple[dict[str, State], int]:
    """How the reductions stand that are kept of a published campaign's trials, by cell/trial-NNN, and their bytes."""
    there = (copy.campaign / FOLDER).files()
    reducing = ReducingPublished(copy=copy, code=code_digest(), master=None, say=silent)
    return {trial: reducing.state(trial, there) for trial in copy.files}, sum(there.values())


def rows_published(copy: Copy, trial: str, code: str) -> pa.Table:
    """The rows of one trial, of number 0: those that are kept at the URI where they are right, else made, and kept.

    Its records are in the copy's folder.  What a task of a query does; raises Unreachable.
    """
    kept = ReducingPublished(copy=copy, code=code, master=None, say=silent).kept(0, trial)
    return _refused(reduce_published(copy, trial, 0, code))[0] if isinstance(kept, State) else kept[0]


def reduce_published(copy: Copy, trial: str, number: int, code: str, *, brief: bool = False) -> pa.Table:
    """The rows of a trial, from its files at the URI, and kept there where that may be written: what one task does.

    What cannot be fetched is damage, with the reason, which is not kept.  brief: as analysis.reductions.kept.in_brief,
    of what is kept.
    """
    with scratch("trial") as place:
        folder = place / trial
        try:
            fetch(copy.campaign / trial, copy.files[trial], folder, known=copy.folder / trial)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other trials are told
            rows = Rows(number)
            rows.add("damage", "reduction", text=said(error))
            return pa.Table.from_batches([rows.batch()])
        found = reduce_and_keep(folder, number, code)
        kept = place_of(folder)
        if not (kept / RECORD).is_file():  # what failed is tried again, and what came out of a pack has its rows
            return found
        try:
            for name in (REDUCED, RECORD):
                (copy.campaign / (kept / name).relative_to(place).as_posix()).write((kept / name).read_bytes())
        except Unreachable:
            refused = Rows(number)
            refused.add(_REFUSED)
            return pa.concat_tables([found, pa.Table.from_batches([refused.batch()])])
        return in_brief(found, number, _sha256((kept / REDUCED).read_bytes())) if brief else found


def _refused(rows: pa.Table) -> tuple[pa.Table, int]:
    """The rows but for those of table _REFUSED, and how many of these there are."""
    is_one = pc.equal(rows.column("table"), _REFUSED)
    return rows.filter(pc.invert(is_one)), pc.sum(is_one).as_py() or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducingPublished:
    """As analysis.reductions.reduce.Reducing."""

    copy: Copy
    code: str
    master: Where
    say: Say

    def __call__(self, paths: Sequence[Path]) -> pa.Table:
        """All rows of all trials."""
        return self._reduced(paths, brief=False).rows

    def brief(self, paths: Sequence[Path]) -> Reduced:
        """The rows without details where these are kept, which are files of the copy then, and not in memory."""
        return self._reduced(paths, brief=True)

    def _reduced(self, paths: Sequence[Path], *, brief: bool) -> Reduced:
        names = [path.relative_to(self.copy.folder).as_posix() for path in paths]
        there = (self.copy.campaign / FOLDER).files()

        def look(number: int, trial: str) -> tuple[pa.Table, str] | State:
            kept = self.kept(number, trial, there, copied=brief)
            return kept if isinstance(kept, State) or not brief else (without(kept[0]), kept[1])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(look, range(len(names)), names))
        left = {number: names[number] for number, one in enumerate(found) if isinstance(one, State)}
        say_again(Counter(one for one in found if isinstance(one, State)), self.say)
        tables = [one[0] for one in found if not isinstance(one, State)]
        digests = {number: one[1] for number, one in enumerate(found) if not isinstance(one, State)}
        if left:
            made, refused = _refused(pa.concat_tables(self._made(left, brief=brief)))
            made, fresh = digests_in(made)
            tables.append(made)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                same = dict(zip(fresh, pool.map(lambda one: self._fetched(names[one], fresh[one]), fresh), strict=True))
            for number in (one for one, is_same in same.items() if not is_same):  # another command has made it anew
                again, _ = _refused(reduce_published(self.copy, names[number], number, self.code))
                tables.append(details_of(again))
                del fresh[number]
            digests |= fresh
            if refused:
                self.say(f"reductions are not kept: of {refused} trials, at {self.copy.campaign}")
        rows = pa.concat_tables([SCHEMA.empty_table(), *tables])
        if not brief:
            return Reduced(rows=rows)
        details = {
            number: KeptRows(paths[number], self._here(self._place(names[number], REDUCED)), digest)
            for number, digest in digests.items()
        }
        return Reduced(rows=rows, details=details)

    def _place(self, trial: str, name: str) -> str:
        place = place_of(self.copy.folder / trial).relative_to(self.copy.folder / FOLDER)
        return f"{place.as_posix()}/{name}"

    def _here(self, name: str) -> Path:
        return self.copy.folder / FOLDER / name

    def _copied(self, name: str) -> bytes:
        """A file of the folder of reductions, of which the copy has one from now on, too."""
        content = (self.copy.campaign / FOLDER / name).read_bytes()
        self._here(name).parent.mkdir(parents=True, exist_ok=True)
        self._here(name).write_bytes(content)
        return content

    def _fetched(self, trial: str, digest: str) -> bool:
        """Whether the copy has the file of a trial's rows now, and it is still the one of that digest."""
        try:
            return _sha256(self._copied(self._place(trial, REDUCED))) == digest
        except Unreachable:
            return False

    def kept(
        self, number: int, trial: str, there: Mapping[str, int] | None = None, *, copied: bool = False
    ) -> tuple[pa.Table, str] | State:
        """The rows that are kept of a trial, and their file's digest; where there are none to be used, how it stands.

        there: what is in the folder of reductions; None when nobody has looked.  copied: the copy gets the file, too.
        """
        name = self._place(trial, RECORD)
        if there is not None and not {name, self._place(trial, REDUCED)} <= there.keys():
            return State.NONE
        if (bundled := self.copy.folder / FOLDER / name).is_file():
            with suppress(ValidationError, DamagedTrial):  # reduced anew since it was published
                if not isinstance(found := self._read(number, trial, bundled.read_bytes(), copied=copied), State):
                    return found
        try:
            return self._read(number, trial, (self.copy.campaign / FOLDER / name).read_bytes(), copied=copied)
        except NotThere:
            return State.NONE
        except (ValidationError, DamagedTrial) as error:
            self.say(f"reduced again: {trial}: {error}")
            return State.DAMAGED

    def state(self, trial: str, there: Mapping[str, int]) -> State:
        """How the reduction that is kept of a trial stands, by its record: its rows are not read."""
        name = self._place(trial, RECORD)
        if not {name, self._place(trial, REDUCED)} <= there.keys():
            return State.NONE
        bundled = self.copy.folder / FOLDER / name
        found = State.NONE
        for read in (bundled.read_bytes, (self.copy.campaign / FOLDER / name).read_bytes):
            with suppress(FileNotFoundError, NotThere):  # it is not bundled
                try:
                    kept = self._judged(trial, Reduction.model_validate_json(read()))
                except (ValidationError, DamagedTrial):
                    found = State.DAMAGED
                    continue
                if kept.usable:
                    return kept.state
                found = kept.state
        return found

    def _read(self, number: int, trial: str, text: bytes, *, copied: bool) -> tuple[pa.Table, str] | State:
        """The rows of which `text` is the record, or how they stand; ValidationError, DamagedTrial when it is not."""
        record = Reduction.model_validate_json(text)
        if not (found := self._judged(trial, record)).usable:
            return found.state
        place = self.copy.campaign / FOLDER / self._place(trial, REDUCED)
        content = self._copied(self._place(trial, REDUCED)) if copied else place.read_bytes()
        if _sha256(content) != record.reduced_sha256:
            raise DamagedTrial(f"{place}: it is not the file that {RECORD} says")
        rows = numbered(read_rows(content, path=REDUCED), number)
        return pa.Table.from_batches([rows, *note(number, found)], SCHEMA), record.reduced_sha256

    def _judged(self, trial: str, record: Reduction) -> Kept:
        now = {one.file: (one.bytes, one.sha256) for one in self.copy.files[trial]}
        return judged(
            record, self.code, trial=self.copy.folder / trial, names=now,
            same=lambda one: now[one.file] == (one.bytes, one.sha256),
        )  # fmt: skip

    def _made(self, left: Mapping[int, str], *, brief: bool) -> list[pa.Table]:
        work, code = list(left.items()), self.code
        copy = replace(self.copy, files={trial: self.copy.files[trial] for trial in left.values()})
        size = sum(one.bytes for files in copy.files.values() for one in files)
        if self.master is None and not os.environ.get("SPARK_REMOTE") and trials_s(len(work), size) < START_S:
            return [reduce_published(copy, trial, number, code, brief=brief) for number, trial in work]

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.column(0).to_pylist():
                    number, trial = work[row]
                    yield from reduce_published(copy, trial, number, code, brief=brief).to_batches()

        with sessions.session(master=self.master, say=self.say) as spark:
            rows = spark.range(0, len(work), 1, numPartitions=len(work)).mapInArrow(task, DDL)
            return [rows.toArrow().cast(SCHEMA)]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
