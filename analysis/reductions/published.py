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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from analysis.details import Reduced, details_of, without
from analysis.large.plan import Draft, draft
from analysis.looked import Looked
from analysis.packed import numbered, read_rows
from analysis.partial import said
from analysis.reductions.code import code_digest
from analysis.reductions.cost import START_S, trials_s
from analysis.reductions.kept import (
    FOLDER,
    RECORD,
    Input,
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
from analysis.reductions.published_trial import PublishedTrial
from analysis.reductions.reduce import note, say_again, silent
from analysis.rows import SCHEMA, Rows
from analysis.spark import jobs
from analysis.spark import session as sessions
from analysis.spark.target import Say, Where
from records.counts import several
from records.filenames import LINK, MANIFEST, VERDICT
from records.filenames import RECORD as CAMPAIGN
from records.location import NotThere, Remote, Unreachable
from records.packed import PACKED, REDUCED, Listed
from records.publishing import Published, fetch_records
from records.store import DamagedTrial, Trial, is_trial

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
    if not isinstance(kept, State):
        return kept[0]
    return _refused(_Trial(files=published_trial(copy, trial), code=code, brief=False).rows(0))[0]


def large_published(copy: Copy, code: str, *, large_packets: int) -> dict[str, jobs.Reducible]:
    """The large trials that have no reduction at the URI that can be used, by cell/trial-NNN."""
    there = (copy.campaign / FOLDER).files()
    reducing = ReducingPublished(copy=copy, code=code, master=None, say=silent)
    all_of_them = {trial: _Trial(files=published_trial(copy, trial), code=code, brief=True) for trial in copy.files}
    large = {trial: one for trial, one in all_of_them.items() if one.draft(0, large_packets=large_packets) is not None}
    return {trial: one for trial, one in large.items() if not reducing.state(trial, there).usable}


def published_trial(copy: Copy, trial: str) -> PublishedTrial:
    """A trial's files at the URI.  trial: cell/trial-NNN."""
    return PublishedTrial(
        campaign=copy.campaign, trial=trial, listed=copy.files[trial], known=copy.folder / trial
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What a task reduces (analysis.spark.jobs).  brief: as analysis.reductions.kept.in_brief, of what is kept."""

    files: PublishedTrial
    code: str
    brief: bool

    @property
    def takes_s(self) -> float:
        """All that a task may take: nobody knows how long its files travel, so each has a task of its own."""
        return jobs.TASK_S

    def draft(self, number: int, *, large_packets: int) -> Draft | None:
        """By its records here.  Out of a pack, or with files like captures that no record names, it is one task's."""
        size = sum(one.bytes for one in self.files.captures)
        trial = Trial(self.files.known)
        found = draft(trial, number, self.files, capture_bytes=size, large_packets=large_packets)
        if found is None or any(one.file == PACKED for one in self.files.listed):
            return None
        known = {one.file for one in found.captures}
        return found if all(one.file in known for one in self.files.captures) else None

    def as_it_stands(self) -> _Trial:
        """Itself: what each task reads is compared with what was walked, and with the list."""
        return self

    def reduce(self, number: int, looked: Looked | None = None) -> Iterator[pa.RecordBatch]:
        """As analysis.spark.jobs.Reducible has it."""
        yield from self.rows(number, looked).to_batches()

    def rows(self, number: int, looked: Looked | None = None) -> pa.Table:
        """The trial's rows, from its files at the URI, and kept there where that may be written.

        What cannot be fetched is damage, with the reason, which is not kept.
        """
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(self.files.whole() if looked is None else self.files.records())
            except Exception as error:  # noqa: BLE001 - whatever it is, the other trials are told
                rows = Rows(number)
                rows.add("damage", "reduction", text=said(error))
                return pa.Table.from_batches([rows.batch()])
            captures = () if looked is None else self.files.captures
            also = [Input(file=one.file, bytes=one.bytes, mtime_ns=0, sha256=one.sha256) for one in captures]
            return self._kept(folder, number, reduce_and_keep(folder, number, self.code, looked=looked, also=also))

    def _kept(self, folder: Path, number: int, found: pa.Table) -> pa.Table:
        """Put what is kept beside the fetched folder to the URI."""
        kept = place_of(folder)
        if not (kept / RECORD).is_file():  # what failed is tried again, and what came out of a pack has its rows
            return found
        try:
            for name in (REDUCED, RECORD):
                place = (kept / name).relative_to(folder.parent.parent).as_posix()
                (self.files.campaign / place).write((kept / name).read_bytes())
        except Unreachable:
            refused = Rows(number)
            refused.add(_REFUSED)
            return pa.concat_tables([found, pa.Table.from_batches([refused.batch()])])
        return in_brief(found, number, _sha256((kept / REDUCED).read_bytes())) if self.brief else found


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
                again, _ = _refused(self._trial(names[number]).rows(number))
                tables.append(details_of(again))
                del fresh[number]
            digests |= fresh
            if refused:
                self.say(f"reductions are not kept: of {several(refused)}, at {self.copy.campaign}")
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

    def _trial(self, trial: str, *, brief: bool = False) -> _Trial:
        return _Trial(files=published_trial(self.copy, trial), code=self.code, brief=brief)

    def _made(self, left: Mapping[int, str], *, brief: bool) -> list[pa.Table]:
        trials = {number: self._trial(trial, brief=brief) for number, trial in left.items()}
        size = sum(one.bytes for trial in trials.values() for one in trial.files.listed)
        if self.master is None and not os.environ.get("SPARK_REMOTE") and trials_s(len(trials), size) < START_S:
            return [one.rows(number) for number, one in trials.items()]
        with sessions.session(master=self.master, say=self.say) as spark:
            return [jobs.reduce_all(spark, trials)]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
