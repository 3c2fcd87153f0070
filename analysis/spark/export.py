"""Parquet of packets and ledgers, partitioned by what they are of, for pandas, DuckDB or Spark.

    OUT/packets/capture=NAME/part-00000.parquet            of capture files
    OUT/packets/cell=C/trial=N/capture=NAME/part-...       of a campaign, with OUT/published/cell=C/trial=N/...,
    OUT/delivered/..., OUT/resources/..., OUT/trials.parquet

OUT, and what is exported, is a folder of this machine or at a URI (records.location).  Each file is one piece of work:
an exact range of a capture, or a ledger table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.capture.ranges import from_json, index, to_json
from analysis.capture.reader import read_range
from analysis.spark.schema import PACKETS, packet_batches
from records.location import Place, Remote, bytes_at, locate
from records.manifest import Manifest
from records.schema import FURTHER_TABLES, TABLES, tables_of
from records.scratch import scratch
from records.store import DamagedTrial, Trial, read_table, trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DONE = pa.schema([("work", pa.int32()), ("rows", pa.int64()), ("bytes", pa.int64()), ("problem", pa.string())])
_DDL = "work int, rows long, bytes long, problem string"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One Parquet file to write: `source` to `target`, relative to the export's folder.

    table: of the ledger, or packets: then `piece` is a range of `source`, named `capture` in its rows.
    """

    source: str
    target: str
    table: str
    capture: str = ""
    piece: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a piece: rows and bytes of its file, or what went wrong, for which there is none."""

    rows: int = 0
    bytes: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """pieces: what to write.  problems: what cannot be exported, or not all of it, and why."""

    pieces: tuple[Piece, ...]
    problems: tuple[str, ...]


def plan_captures(paths: Sequence[Place], *, below: str = "") -> Plan:
    """Ranges of capture files; below: partitions above theirs.  A damaged file gives what stands before."""
    names = [path.name for path in paths]
    found, problems = [], []
    for path in paths:
        name = path.name if names.count(path.name) == 1 else str(path)
        try:
            ranges = index(path.resolve())
        except (OSError, ValueError) as error:
            problems.append(str(error) if str(path) in str(error) else f"{path}: {error}")
            continue
        if ranges.damage is not None:
            problems.append(f"{path}: {ranges.damage}; what stands before is exported")
        folder = f"packets/{below}capture={quote(name, safe='')}"
        found += [
            Piece(source=str(path.resolve()), target=f"{folder}/part-{number:05}.parquet", table="packets",
                  capture=name, piece=to_json(piece))
            for number, piece in enumerate(ranges.ranges)
        ]  # fmt: skip
    return Plan(pieces=tuple(found), problems=tuple(problems))


def plan_campaign(campaign: Path, *, at: Remote | None = None) -> tuple[Plan, pa.Table]:
    """Ledger tables and captures of every finished trial, and the table of the trials themselves.

    at: where the campaign is published, when `campaign` has its records alone (analysis.reductions.published).
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
        below = f"cell={quote(trial.path.parent.name, safe='')}/trial={trial.number}/"
        place = at / trial.path.relative_to(campaign).as_posix() if at else trial.path
        here = [one.file for one in manifest.captures if one.kept and one.file not in away]
        pieces += [
            Piece(source=str(place.resolve()), target=f"{name}/{below}part-00000.parquet", table=name)
            for name in tables_of(manifest.rows)
            if f"{name}.parquet" not in away
        ]  # fmt: skip
        if away:
            problems.append(f"{trial.path}: a pack left {len(away)} files out; what of them was to be exported is not")
        part = plan_captures([place / name for name in here], below=below)
        pieces += part.pieces
        problems += part.problems
        about.append(_about(trial, manifest))
    return Plan(pieces=tuple(pieces), problems=tuple(problems)), pa.Table.from_pylist(about)


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


def write(pieces: Sequence[Piece], out: Place, *, spark: SparkSession | None = None) -> tuple[int, list[str]]:
    """Write all pieces below `out`, in this process or as Spark tasks; (rows written, what went wrong).

    A file that a task says it has written and that is not here as it wrote it has gone wrong.
    """
    if spark is None:
        done = [write_piece(piece, out) for piece in pieces]
    else:
        done = _with_spark(spark, pieces, out.resolve()) if pieces else []
    there = out.files() if isinstance(out, Remote) else {one.target: bytes_at(out / one.target) for one in pieces}
    rows, problems = 0, []
    for piece, one in zip(pieces, done, strict=True):
        if one.problem:
            problems.append(one.problem)
        elif there.get(piece.target) != one.bytes:
            what = f"{there.get(piece.target, 0)} of {one.bytes} bytes"
            problems.append(f"{out / piece.target}: {what} are here: workers have to write to where this side reads")
        else:
            rows += one.rows
    return rows, problems


def _with_spark(spark: SparkSession, pieces: Sequence[Piece], out: Place) -> list[Written]:
    plain, folder = [asdict(piece) for piece in pieces], str(out)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                done = write_piece(Piece(**plain[row]), locate(folder))
                yield pa.RecordBatch.from_pylist([{"work": row, **asdict(done)}], _DONE)

    frame = spark.range(0, len(plain), 1, numPartitions=len(plain)).mapInArrow(work, _DDL)
    done = {row.pop("work"): Written(**row) for row in frame.toArrow().to_pylist()}
    return [done[number] for number in range(len(plain))]


def write_piece(piece: Piece, out: Place) -> Written:
    """Write one Parquet file, which has its name when it is whole."""
    try:
        if isinstance(out, Path):
            target = out / piece.target
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f".{target.name}.partial")
            try:
                return _written(piece, partial, lambda: partial.replace(target))
            finally:
                partial.unlink(missing_ok=True)
        with scratch("export") as folder:
            fresh = folder / "part.parquet"
            return _written(piece, fresh, lambda: (out / piece.target).write(fresh))
    except (OSError, ValueError, DamagedTrial) as error:
        return Written(problem=str(error))


def write_trials(about: pa.Table, out: Place) -> None:
    """Write the table of the trials.  Raises Unreachable, OSError."""
    sink = pa.BufferOutputStream()
    pq.write_table(about, sink, compression="zstd")
    place, content = out / "trials.parquet", bytes(sink.getvalue())
    place.write_bytes(content) if isinstance(place, Path) else place.write(content)


def _written(piece: Piece, path: Path, land: Callable[[], object]) -> Written:
    rows = _packets(piece, path) if piece.table == "packets" else _ledger(piece, path)
    size = path.stat().st_size
    land()
    return Written(rows=rows, bytes=size)


def _packets(piece: Piece, path: Path) -> int:
    file = read_range(locate(piece.source), from_json(piece.piece))
    # The capture's name is a partition already, so a reader gets that column from the folder.
    schema = PACKETS.remove(PACKETS.get_field_index("capture"))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in packet_batches(file.packets, capture=piece.capture, v6=file.v6):
            writer.write_table(pa.Table.from_batches([batch]).drop_columns(["capture"]).cast(schema))
    return len(file.packets)


def _ledger(piece: Piece, path: Path) -> int:
    place = locate(piece.source)
    if isinstance(place, Path):
        table = Trial(place).table(piece.table)
    else:
        table = read_table(place / f"{piece.table}.parquet", (TABLES | FURTHER_TABLES)[piece.table])
    pq.write_table(table, path, compression="zstd")
    return int(table.num_rows)
