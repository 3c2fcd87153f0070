"""Parquet of packets and ledgers, partitioned by what they are of, for pandas, DuckDB or Spark.

    OUT/packets/capture=NAME/part-00000.parquet            of capture files
    OUT/packets/cell=C/trial=N/capture=NAME/part-...       of a campaign, with OUT/published/cell=C/trial=N/...,
    OUT/delivered/..., OUT/resources/..., OUT/trials.parquet

OUT, and what is exported, is a folder of this machine or at a URI (records.location).  Each file is one piece of work:
an exact range of a capture, or a ledger table.  On this machine all are written into a folder of their own in OUT,
looked at again by whoever asked for them, by size and digest, and only then put in place.  At a URI each is there when
all of it is; sizes are looked at again, and when they are not those that were written all of them are removed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import RANGE_BYTES, Index, from_json, to_json
from analysis.capture.reader import read_range
from analysis.large.files import Files, Here
from analysis.spark.schema import PACKETS, packet_batches
from records.location import Place, Remote, is_partial, locate, written_to
from records.manifest import Manifest
from records.publishing import NotPublished
from records.schema import tables_of
from records.scratch import scratch
from records.store import DamagedTrial, Trial, trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DONE = "work int, rows long, bytes long, sha256 string, problem string"
_DONE_SCHEMA = pa.schema(
    {"work": pa.int32(), "rows": pa.int64(), "bytes": pa.int64(), "sha256": pa.string(), "problem": pa.string()}
)
_STAGE = "_unfinished"  # readers of partitioned Parquet pass over names that begin so
_NAMED = 3


class NotShared(Exception):
    """Files that tasks have written are not what this process sees in the folder; the message names some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One Parquet file to write, `target`, relative to the export's folder.

    table: of the ledger of `trial`, or packets: then `piece` is a range of `source`, named `capture` in its rows.
    """

    target: str
    table: str
    trial: Files | None = None
    source: str = ""
    capture: str = ""
    piece: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a piece: its file's rows, size and digest, or the problem because of which there is none."""

    rows: int = 0
    bytes: int = 0
    sha256: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """pieces: what to write.  problems: what cannot be exported, or not all of it, and why."""

    pieces: tuple[Piece, ...]
    problems: tuple[str, ...]


def _here_of(trial: Trial) -> Here:
    return Here(trial.path.resolve())


def plan_captures(paths: Sequence[Place], *, below: str = "", indexed: Callable[[Place], Index] = kept_index) -> Plan:
    """Ranges of capture files, each once.  below: partitions above theirs.  indexed: finds the ranges of one.

    A damaged file gives what stands before.
    """
    files: dict[Place, Place] = {}
    for path in paths:  # a file may be named twice
        files.setdefault(path.resolve(), path)
    once = tuple(files.values())
    names = [path.name for path in once]
    found, problems = [], []
    for path in once:
        name = path.name if names.count(path.name) == 1 else str(path)
        try:
            ranges = indexed(path.resolve())
        except (OSError, ValueError, NotPublished) as error:
            problems.append(str(error) if str(path) in str(error) else f"{path}: {error}")
            continue
        if ranges.damage is not None:
            problems.append(f"{path}: {ranges.damage}; what stands before is exported")
        folder = f"packets/{below}capture={level(name)}"
        found += [
            Piece(source=str(path.resolve()), target=f"{folder}/part-{number:05}.parquet", table="packets",
                  capture=name, piece=to_json(piece))
            for number, piece in enumerate(ranges.ranges)
        ]  # fmt: skip
    return Plan(pieces=tuple(found), problems=tuple(problems))


def plan_campaign(campaign: Path, *, files_of: Callable[[Trial], Files] = _here_of) -> tuple[Plan, pa.Table]:
    """Ledger tables and captures of every finished trial, and the table of the trials themselves.

    files_of: gives a trial's files, where `campaign` has the records of a published one alone.
    """
    pieces: list[Piece] = []
    problems: list[str] = []
    about = []
    for trial in trials(campaign):
        try:
            manifest, away = trial.manifest(), {one.file for one in trial.elsewhere()}
        except DamagedTrial as error:
            problems.append(str(error))
            continue
        below = f"cell={level(trial.path.parent.name)}/trial={trial.number}/"
        files = files_of(trial)
        here = [one.file for one in manifest.captures if one.kept and one.file not in away]
        pieces += [
            Piece(trial=files, target=f"{name}/{below}part-00000.parquet", table=name)
            for name in tables_of(manifest.rows)
            if f"{name}.parquet" not in away
        ]  # fmt: skip
        if away:
            problems.append(f"{trial.path}: a pack left {len(away)} files out; what of them was to be exported is not")
        part = plan_captures([files.capture(name) for name in here], below=below, indexed=partial(_index_of, files))
        pieces += part.pieces
        problems += part.problems
        about.append(_about(trial, manifest))
    return Plan(pieces=tuple(pieces), problems=tuple(problems)), pa.Table.from_pylist(about)


def _index_of(files: Files, path: Place) -> Index:
    return files.index(path.name, range_bytes=RANGE_BYTES)


def level(name: str) -> str:
    """The name in a folder `KEY=NAME`, as readers of partitioned Parquet undo it; letters of any script as they are.

    (As UTF-8 in percent signs a name of 50 letters could be too long for a folder.)
    """
    return "".join(sign if sign.isalnum() else quote(sign, safe="") for sign in name)


def _about(trial: Trial, manifest: Manifest) -> dict[str, object]:
    try:
        state = trial.verdict().state.value
    except DamagedTrial:
        state = "damaged"
    window = manifest.window
    return {
        "scenario": manifest.scenario, "campaign": manifest.campaign, "cell": trial.path.parent.name,
        "trial": trial.number, "seed": manifest.seed, "state": state,
        "window_start_ns": window.start_ns, "window_end_ns": window.end_ns,
        "clock_offset_ns": manifest.clock_offset_ns,
        "kernel": manifest.kernel.chosen, "medium": manifest.medium or "tc",
        "transmission_time": manifest.transmission_time, "levels": json.dumps(dict(manifest.cell.levels)),
    }  # fmt: skip


def write(
    pieces: Sequence[Piece],
    out: Place,
    *,
    spark: SparkSession | None = None,
    beside: Mapping[str, pa.Table] | None = None,
) -> tuple[int, list[str]]:
    """Write all pieces below `out`, in this process or as Spark tasks; (rows written, what went wrong).

    beside: further tables, by file name.  Raises NotShared where what tasks have written is not here: then, and when it
    is interrupted, nothing of it stays in `out`.
    """
    tables = beside or {}
    done = _at_uri(pieces, out, spark, tables) if isinstance(out, Remote) else _here(pieces, out, spark, tables)
    return sum(one.rows for one in done), [one.problem for one in done if one.problem]


def _here(pieces: Sequence[Piece], out: Path, spark: SparkSession | None, beside: Mapping[str, pa.Table]) -> list[Done]:
    stage = out / f"{_STAGE}-{uuid4().hex}"
    stage.mkdir(parents=True)
    try:
        done = _done(pieces, stage.resolve(), spark)
        if spark is not None:
            verify(pieces, done, stage)
        for name, table in beside.items():
            (stage / name).write_bytes(_parquet(table))
        for path in sorted(stage.iterdir()):
            path.replace(out / path.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return done


def _at_uri(
    pieces: Sequence[Piece], out: Remote, spark: SparkSession | None, beside: Mapping[str, pa.Table]
) -> list[Done]:
    try:
        done = _done(pieces, out, spark)
        there = out.files()
        whole = {piece.target: one.bytes for piece, one in zip(pieces, done, strict=True) if not one.problem}
        if wrong := sorted(name for name in whole.keys() | there.keys() if whole.get(name) != there.get(name)):
            raise NotShared(_not_shared(str(out), len(whole), wrong))
        for name, table in beside.items():
            (out / name).write(_parquet(table))
    except BaseException:
        mine = {*(piece.target for piece in pieces), *beside}
        for name in out.files():  # others may have put something there since
            if (name if not is_partial(name) else written_to(name)) in mine:
                (out / name).unlink()
        raise
    return done


def _done(pieces: Sequence[Piece], out: Place, spark: SparkSession | None) -> list[Done]:
    if spark is None:
        return [write_piece(piece, out) for piece in pieces]
    return _with_spark(spark, pieces, out) if pieces else []


def _with_spark(spark: SparkSession, pieces: Sequence[Piece], out: Place) -> list[Done]:
    folder = str(out)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place = locate(folder)
        for batch in batches:
            for row in batch.column(0).to_pylist():
                # A worker to which the folder is not there has a disk of its own, and leaves nothing on it.
                there = isinstance(place, Remote) or place.is_dir()
                done = write_piece(pieces[row], place) if there else Done()
                yield pa.RecordBatch.from_pylist([{"work": row} | asdict(done)], _DONE_SCHEMA)

    frame = spark.range(0, len(pieces), 1, numPartitions=len(pieces)).mapInArrow(work, _DONE)
    return [Done(**row) for row in frame.toArrow().sort_by("work").drop_columns("work").to_pylist()]


def verify(pieces: Sequence[Piece], done: Sequence[Done], out: Path) -> None:
    """Raise NotShared unless `out` has all files that were `done`, as they were written, and no other.

    What an attempt that Spark has given up left behind is removed.
    """
    for unfinished in out.rglob(".*.partial"):
        unfinished.unlink()
    wanted = {out / piece.target: one for piece, one in zip(pieces, done, strict=True) if not one.problem}
    wrong = [str(path.relative_to(out)) for path, one in wanted.items() if seen(path) != (one.bytes, one.sha256)]
    wrong += [str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path not in wanted]
    if wrong:
        raise NotShared(_not_shared(str(out.parent), len(wanted), wrong))


def _not_shared(out: str, wanted: int, wrong: Sequence[str]) -> str:
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return (
        f"{out}: of {wanted} files that workers wrote, {len(wrong)} are not here as they wrote them "
        f"({', '.join(wrong[:_NAMED])}{more}); nothing is exported: --out has to be storage that workers share "
        "with this machine under one path, or leave --master out"
    )


def seen(path: Path) -> tuple[int, str] | None:
    """Size and digest of a file as this process sees it."""
    try:
        with path.open("rb") as file:
            return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def write_piece(piece: Piece, out: Place) -> Done:
    """Write one Parquet file, which has its name when it is whole."""
    try:
        if isinstance(out, Remote):
            with scratch("export") as folder:
                fresh = folder / "part.parquet"
                done = _made(piece, fresh)
                (out / piece.target).write(fresh)
                return done
        target = out / piece.target
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.{uuid4().hex}.partial")  # another attempt may run beside this one
        try:
            done = _made(piece, fresh)
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
    except (OSError, ValueError, DamagedTrial, NotPublished) as error:
        return Done(problem=str(error))
    return done


def _made(piece: Piece, path: Path) -> Done:
    rows = _packets(piece, path) if piece.trial is None else _ledger(piece.trial, piece.table, path)
    written = seen(path)
    if written is None:
        raise OSError(f"{path}: it cannot be read again")
    return Done(rows=rows, bytes=written[0], sha256=written[1])


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _packets(piece: Piece, path: Path) -> int:
    file = read_range(locate(piece.source), from_json(piece.piece))
    # The capture's name is a partition already, so a reader gets that column from the folder.
    schema = PACKETS.remove(PACKETS.get_field_index("capture"))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in packet_batches(file.packets, capture=piece.capture, v6=file.v6):
            writer.write_table(pa.Table.from_batches([batch]).drop_columns(["capture"]).cast(schema))
    return len(file.packets)


def _ledger(trial: Files, name: str, path: Path) -> int:
    with trial.records({name}) as folder:
        table = Trial(folder).table(name)
    pq.write_table(table, path, compression="zstd")
    return int(table.num_rows)
