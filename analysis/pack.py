"""What goes into a pack: each trial's records, its reduction and its latencies; the rest is named with its digest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.details import Reduced, without
from analysis.histogram import histogram
from analysis.packed import encode, without_folder
from analysis.partial import DAMAGE, is_of_the_machine
from analysis.reductions.code import code_digest
from analysis.reductions.kept import Kept, State, look
from records.archive import Member, member
from records.counting import read_reduction
from records.filenames import RECORD
from records.latency import sent_in_window
from records.manifest import Git
from records.pack import ASIDE, LEDGERS, SCENARIO, TRIAL, check_ledgers, check_trial
from records.packed import LATENCIES, PACKED, REDUCED, Elsewhere, Packed
from records.store import DamagedTrial, Trial, aside_of, trials
from records.waits import read_sent

UNKNOWN = "unknown"  # of code that made a reduction
Reduce = Callable[[Sequence[Path]], Reduced]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """members: every file of the pack.  elsewhere: what it leaves out of the trials' folders."""

    members: tuple[Member, ...]
    trials: int
    elsewhere: tuple[Elsewhere, ...]


def packing(campaign: Path, place: Path, *, reduce: Reduce, revision: Git, ledgers: bool = False) -> Packing:
    """The files of a campaign's pack.  The caller holds the campaign's lock.

    place: an empty folder for what is made until the pack is written.
    reduce: gives the rows of trial folders; asked only for trials that are not packed already.
    revision: of this program.  Raises DamagedTrial when a record cannot be read, or a ledger is wanted that stands
    elsewhere.  A ledger or a capture that cannot be read is damage that the reduction tells of.
    """
    campaign = campaign.resolve()
    finished = trials(campaign)
    for trial in finished:
        check_trial(trial)
        if ledgers:
            check_ledgers(trial)
        if ledgers and (away := [one.file for one in trial.elsewhere() if one.file in LEDGERS]):
            raise DamagedTrial(f"{trial.path / away[0]} stands elsewhere; pack with --ledgers there, or without here")
    fresh = [trial for trial in finished if not trial.elsewhere()]
    rows = iter(_each(reduce([trial.path for trial in fresh]), len(fresh)))
    members = [member(name, campaign / name) for name in (RECORD, SCENARIO) if (campaign / name).exists()]
    left: list[Elsewhere] = []
    code = code_digest()
    for number, trial in enumerate(finished):
        reduced: bytes | Path
        kept = None
        came = trial.packed() if trial.elsewhere() else None
        if came is not None:
            reduced, latencies = read_reduction(trial), (trial.path / LATENCIES).read_bytes()
            by = came.reduced_by
        else:
            reduced = place / f"{number}-{REDUCED}"
            reduced.write_bytes(encode(without_folder(next(rows), str(trial.path))))
            kept = look(trial.path, code)
            by, latencies = _reduced_by(kept, code, revision), _latencies(trial)
        made = {REDUCED: reduced, LATENCIES: latencies}
        below = f"{trial.path.parent.name}/{trial.path.name}"
        mine = [member(f"{below}/{name}", content) for name, content in made.items()]
        here = [name for name in LEDGERS if (trial.path / name).is_file()]
        taken = {*TRIAL, *(here if ledgers else ())} - {*made, PACKED}
        mine += [member(f"{below}/{name}", trial.path / name) for name in sorted(taken)]
        packed = Packed(reduced_by=by, reduced_sha256=mine[0].sha256, elsewhere=_elsewhere(trial, taken, kept))
        members += [*mine, member(f"{below}/{PACKED}", f"{packed.model_dump_json(indent=1)}\n".encode())]
        left += packed.elsewhere
    members += [
        member(f"{path.parent.name}/{path.name}/{name}", path / name)
        for path in aside_of(campaign) for name in ASIDE if (path / name).is_file()
    ]  # fmt: skip
    return Packing(members=tuple(members), trials=len(finished), elsewhere=tuple(left))


def _reduced_by(kept: Kept, code: str, revision: Git) -> Git:
    """This program's revision, or that nobody knows it any more, where older code reduced captures that are gone."""
    older = kept.state is State.AWAY and kept.record is not None and kept.record.code != code
    return Git(revision=UNKNOWN, dirty=False) if older else revision


def _each(found: Reduced, count: int) -> Iterator[pa.Table]:
    """All rows of each of so many trials."""
    numbers = found.rows.column("trial").to_numpy()
    order = np.argsort(numbers, kind="stable")
    edges = np.searchsorted(numbers[order], np.arange(count + 1))
    for number in range(count):
        mine = found.rows.take(order[edges[number] : edges[number + 1]])
        read = found.details.get(number)
        if read is not None:
            whole = read()
            mine = pa.concat_tables([whole, mine.slice(without(whole).num_rows)])  # behind what is kept stand notes
        yield mine


def _elsewhere(trial: Trial, taken: set[str], kept: Kept | None) -> tuple[Elsewhere, ...]:
    """Every file of the trial that the pack leaves out, those that stand elsewhere already among them; by name.

    kept: its reduction here.  Captures that were removed since are told as well, as that is all that is left of them.
    """
    packed = trial.packed()
    found = {one.file: one for one in packed.elsewhere} if packed else {}
    if kept is not None and kept.record is not None and kept.state is State.AWAY:
        gone = (one for one in kept.record.inputs if one.file in kept.away)
        found |= {one.file: Elsewhere(file=one.file, bytes=one.bytes, sha256=one.sha256) for one in gone}
    for name in _files(trial.path):
        if name not in (*TRIAL, *taken):
            one = member(name, trial.path / name)
            found[name] = Elsewhere(file=name, bytes=one.bytes, sha256=one.sha256)
    return tuple(found[name] for name in sorted(found) if name not in taken)


def _files(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        paths = (Path(root) / name for name in names)
        yield from (str(path.relative_to(folder)) for path in paths if path.is_file())


def _latencies(trial: Trial) -> bytes:
    """Latencies of what was sent in the window; none when the ledger cannot be read, which the reduction tells."""
    least, missing = np.empty(0), np.empty(0, dtype=bool)
    try:
        manifest = trial.manifest()
        sides = trial.table("published"), trial.table("delivered")
        waits = read_sent(*sides, manifest.workload.audiences, manifest.stopped).deliveries
        found = sent_in_window(waits, manifest.window)
        least, missing = found.seconds, found.absent
    except DAMAGE as error:
        if is_of_the_machine(error):
            raise
    sink = pa.BufferOutputStream()
    pq.write_table(histogram(least, missing), sink, compression="none", write_statistics=False, store_schema=False)
    return bytes(sink.getvalue())
