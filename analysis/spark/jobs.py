"""The job: one trial is one task's, a large one as many tasks' as it takes, and only small rows come back.

Small trials share a task, which costs Spark more than they take (`python benchmarks/spark_scale.py`).  Of a large trial
each capture is walked by a task, which finds its ranges, and these are decoded by a task each; the packets are
exchanged by connection, each bucket of connections is looked at by one task, and one puts the trial together.  Both
ways give the same rows.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from analysis.capture.buckets import rows_by
from analysis.large import parts, pieces
from analysis.large.plan import LARGE_PACKETS, Draft, PlannedCapture, TrialPlan, draft_here, plan, walked
from analysis.looked import Looked
from analysis.partial import must_see
from analysis.reductions.cost import reduced_s
from analysis.rows import DDL, SCHEMA
from analysis.spark import partitions
from analysis.spark.watch import told_as
from records.counts import several

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_S = 1.0  # CPU-seconds of trials that share a task; Spark's own of a task are some 0.06
FEWEST_TASKS = 64  # of as many trials: so many cores are kept at work
_WALKED = pa.schema([pa.field("row", pa.int32(), nullable=False), pa.field("capture", pa.string())])
_WALKED_DDL = "row int, capture string"  # of PlannedCapture, JSON; null where it could not be walked


class Reducible(Protocol):
    """A trial that is to be reduced; it is sent to the task that does it.  takes_s: CPU-seconds, as far as is known."""

    @property
    def takes_s(self) -> float: ...

    def draft(self, number: int, *, large_packets: int) -> Draft | None:
        """As analysis.large.plan.draft."""

    def as_it_stands(self) -> Reducible:
        """The same with how its files stand now: for the task that puts together what others have read of them."""

    def reduce(self, number: int, looked: Looked | None = None) -> Iterator[pa.RecordBatch]:
        """Its rows, of analysis.rows.SCHEMA.  looked: what other tasks have found in its captures."""


def reduce_trials(
    spark: SparkSession, paths: Sequence[Path], *, code: str | None = None, token: str | None = None,
    large_packets: int = LARGE_PACKETS,
) -> pa.Table:  # fmt: skip
    """`reduce_all`, of the trial folders `paths`, numbered from 0; code, token: as Folder has them."""
    from analysis.reductions.kept import stamps  # noqa: PLC0415 - whoever keeps nothing need not import it

    takes_s = [reduced_s(sum(size for size, _ in stamps(path).values())) for path in paths]
    trials = {number: Folder(str(path.resolve()), code, token, takes_s[number]) for number, path in enumerate(paths)}
    return reduce_all(spark, trials, large_packets=large_packets)


def reduce_all(
    spark: SparkSession, trials: Mapping[int, Reducible], *, large_packets: int = LARGE_PACKETS
) -> pa.Table:  # fmt: skip
    """Reduce the trials, by their numbers in the result; one action, and one before it where any is large.

    large_packets: from so many packets in its captures on, a trial is work for several tasks.
    Returns a table of analysis.rows.SCHEMA.
    """
    if not trials:
        return SCHEMA.empty_table()
    with told_as(spark, several(len(trials))):
        drafts = [one.draft(number, large_packets=large_packets) for number, one in trials.items()]
        standing = {one.number: trials[one.number].as_it_stands() for one in drafts if one is not None}
        large = _planned(spark, [one for one in drafts if one is not None])
        apart = {one.number for one in large}
        whole = {number: one for number, one in trials.items() if number not in apart}
        frames = []
        if whole:
            frames.append(_whole(spark, whole))
        if large:
            frames.append(_shared_out(spark, standing, large))
        frame = frames[0] if len(frames) == 1 else frames[0].union(frames[1])
        return frame.toArrow().cast(SCHEMA)


@dataclass(frozen=True, slots=True)
class Folder:
    """A trial's folder that all tasks see; one that is not seen ends the job.

    code: digest of the modules that reduce; with it the task keeps the trial's rows beside the campaign as soon as it
    has them (analysis.reductions), and file names are as seen from the trial's folder.
    token: name of a file (kept.shared): a task that does not see it says also of which files it has made its rows
    (kept.sources).  brief: whether one that sees it gives back of what it has kept all but the details.
    takes_s: as Reducible has it.  before: how its files stood (kept.stamps) before other tasks read any.
    """

    folder: str
    code: str | None
    token: str | None
    takes_s: float
    brief: bool = False
    before: Mapping[str, tuple[int, int]] | None = None

    def draft(self, number: int, *, large_packets: int) -> Draft | None:
        """As Reducible has it."""
        return draft_here(Path(self.folder), number, large_packets=large_packets)

    def as_it_stands(self) -> Folder:
        """As Reducible has it."""
        from analysis.reductions.kept import stamps  # noqa: PLC0415

        return replace(self, before=stamps(Path(self.folder)))

    def reduce(self, number: int, looked: Looked | None = None) -> Iterator[pa.RecordBatch]:
        """As Reducible has it."""
        from analysis.reductions.kept import is_shared, reduce_and_keep, sources  # noqa: PLC0415
        from analysis.trial import reduce_trial  # noqa: PLC0415

        path = Path(self.folder)
        if self.code is None:
            yield reduce_trial(path, number, looked)
            return
        must_see(path)
        seen = self.token is not None and is_shared(path, self.token)
        brief = seen and self.brief
        before = None if looked is None else self.before
        yield from reduce_and_keep(path, number, self.code, brief=brief, looked=looked, before=before).to_batches()
        if self.token is not None and not seen:
            yield sources(path, number, self.code)


def _planned(spark: SparkSession, drafts: Sequence[Draft]) -> list[TrialPlan]:
    """The large trials with the ranges of their captures, each of which is walked by a task."""
    work = [(one, number) for one, drafted in enumerate(drafts) for number in range(len(drafted.captures))]
    if not work:
        return []

    def walk(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                one, number = work[row]
                found = walked(drafts[one].files, drafts[one].captures[number])
                told = None if found is None else json.dumps(asdict(found))
                yield pa.RecordBatch.from_pylist([{"row": row, "capture": told}], schema=_WALKED)

    rows: Any = spark.range(0, len(work), 1, numPartitions=len(work)).mapInArrow(walk, _WALKED_DDL).toArrow()
    found: dict[int, list[PlannedCapture | None]] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: int(row["row"])):
        told = row["capture"]
        found.setdefault(work[row["row"]][0], []).append(None if told is None else _from_plain(json.loads(told)))
    plans = [plan(drafts[one], captures) for one, captures in found.items()]
    return [one for one in plans if one is not None]


def _from_plain(told: dict[str, Any]) -> PlannedCapture:
    return PlannedCapture(**{**told, "ranges": tuple(told["ranges"]), "digests": tuple(told["digests"])})


def _whole(spark: SparkSession, trials: Mapping[int, Reducible]) -> DataFrame:
    groups = together([one.takes_s for one in trials.values()])
    # A task takes apart its own trials alone: of ten thousand, all of them would be a tenth of a second each time.
    numbered = [(number, pickle.dumps(one)) for number, one in trials.items()]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                for place in groups[row]:
                    number, one = numbered[place]
                    trial: Reducible = pickle.loads(one)  # noqa: S301 - of this job
                    yield from trial.reduce(number)

    return spark.range(0, len(groups), 1, numPartitions=len(groups)).mapInArrow(work, DDL)


def together(takes_s: Sequence[float]) -> list[range]:
    """Which trials, by their places among those that take so many seconds, are one task's: neighbours, TASK_S at most.

    Of less than twice FEWEST_TASKS trials, each has a task of its own.
    """
    most = max(1, len(takes_s) // FEWEST_TASKS)
    found: list[range] = []
    first, spent_s = 0, 0.0
    for place, one_s in enumerate(takes_s):
        if place > first and (spent_s + one_s > TASK_S or place - first == most):
            found.append(range(first, place))
            first, spent_s = place, 0.0
        spent_s += one_s
    return [*found, range(first, len(takes_s))] if takes_s else []


def _shared_out(spark: SparkSession, trials: Mapping[int, Reducible], large: Sequence[TrialPlan]) -> DataFrame:
    buckets = partitions.keys(sum(one.buckets for one in large))
    keys = partitions.keys(len(large))
    ranges = pieces.pieces_of(large, buckets)
    mine = [trials[one.number] for one in large]

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0).to_pylist():
                piece = ranges[row]
                yield from pieces.decode(large[piece.plan], piece)

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = rows_by(batches, ("plan", "bucket"))
        for one, bucket in list(held):
            found = parts.look(large[one], bucket, held.pop((one, bucket)))
            yield parts.to_rows(found, key=keys[one], plan=one, bucket=bucket)

    def put_together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = rows_by(batches, ("plan",))
        for (one,) in list(held):
            looked = parts.together(held.pop((one,)))
            # What could not be had is for one task to try once more, and to say.
            yield from mine[one].reduce(large[one].number, None if looked.of_the_machine else looked)

    decoded: Any = spark.range(0, len(ranges), 1, numPartitions=len(ranges)).mapInArrow(decode, pieces.DDL)
    looked_at: Any = decoded.repartition(len(buckets), "key").mapInArrow(look, parts.DDL)
    frame: DataFrame = looked_at.repartition(len(keys), "key").mapInArrow(put_together, DDL)
    return frame
