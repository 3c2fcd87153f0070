"""Rows of the views that come of a trial's own files: ledger, resources, link proof, captures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from analysis.capture.ranges import RANGE_BYTES, Range, from_json
from analysis.capture.reader import read_range
from analysis.large.files import Files, Here
from analysis.partial import DAMAGE, is_of_the_machine, must_see
from analysis.reductions.published import published_trial
from analysis.spark.schema import BATCH_ROWS, packet_batches
from analysis.sql.brought import Brought, brought
from analysis.sql.columns import View, batch
from analysis.sql.notes import state
from analysis.sql.views import CLOCKS, VIEWS
from analysis.sql.work import NAME_THE_OTHERS, Work
from records.link import LinkProof
from records.location import Remote
from records.manifest import Consumer, PlacedWorkload
from records.store import DamagedTrial, Trial

_NS = 1e9


def batches(work: Work) -> Iterator[pa.RecordBatch]:
    """The rows of a trial's file, none of one that a note (notes.py) is about: view `trials` says what it is.

    Raises Unreachable, NotPublished where a URI does not give what was published there, DamagedTrial for a file that
    cannot be read and of which no note says so.
    """
    with brought(work) as here:
        for fault in here.faults.values():
            raise fault
        view, trial = VIEWS[work.view], Trial(Path(here.work.trials[0]))
        must_see(trial.path)
        try:
            if view.name == "links":
                yield batch(view, [{**work.which, **_link(one)} for one in trial.link().segments])
            elif view.name == "clients":
                yield batch(view, [{**work.which, **one} for one in _clients(trial.manifest().workload)])
            elif view.name == "packets":
                yield from _packets(view, here, trial)
            else:
                yield from _ledger(view, work, trial)
        except DAMAGE as error:
            # Only captures that could be read are asked for; and rows that are missing make the answer another one, so
            # they may be where a note says it; of a file at a URI none says more than that it is not there.
            if view.name == "packets" or is_of_the_machine(error):
                raise
            if state(view, trial) not in ({"away"} if work.at else {"away", "broken"}):
                raise DamagedTrial(f"{str(error).strip()}; {NAME_THE_OTHERS}") from error


def _ledger(view: View, work: Work, trial: Trial) -> Iterator[pa.RecordBatch]:
    start_ns, table = trial.manifest().window.start_ns, trial.table(view.name)
    for part in table.to_batches(max_chunksize=BATCH_ROWS):
        yield _wide(view, part, {**work.which, "at_s": _seconds(part.column(CLOCKS[view.name]), start_ns)})


def _packets(view: View, here: Brought, trial: Trial) -> Iterator[pa.RecordBatch]:
    work, manifest = here.work, trial.manifest()
    capture = next(one for one in manifest.captures if one.file == work.capture)
    files: Files = Here(trial.path)
    if here.copy is not None:  # in ranges, without copying it
        files = published_trial(here.copy, trial.path.relative_to(here.copy.folder).as_posix())
    path = files.capture(capture.file)
    start_ns = manifest.window.start_ns + manifest.clock_offset_ns
    pieces = [from_json(work.piece)] if work.piece else _whole(files, capture.file)
    for piece in pieces:
        file = read_range(path, piece)
        for part in packet_batches(file.packets, capture=capture.file, v6=file.v6):
            at = {"at_s": _seconds(part.column("ts_ns"), start_ns), "side": capture.side, "node": capture.node}
            yield _wide(view, part, {**work.which, **at})


def _whole(files: Files, capture: str) -> Sequence[Range]:
    """Its ranges.  A note says of damage in a folder; what is at a URI nobody has walked before."""
    found, path = files.index(capture, range_bytes=RANGE_BYTES), files.capture(capture)
    if found.damage and isinstance(path, Remote):
        raise DamagedTrial(f"{path}: {found.damage}; {NAME_THE_OTHERS}")
    return found.ranges


def _seconds(times_ns: pa.Array, start_ns: int) -> pa.Array:
    return pc.divide(pc.cast(pc.subtract(times_ns, start_ns), pa.float64()), _NS)


def _wide(view: View, part: pa.RecordBatch, beside: Mapping[str, object]) -> pa.RecordBatch:
    """The view's columns: those of `part`, and beside them arrays, or values that all rows have."""
    arrays = []
    for column in view.columns:
        value = beside.get(column.name)
        if column.name not in beside:
            arrays.append(part.column(column.name))
        elif isinstance(value, pa.Array):
            arrays.append(value)
        else:
            arrays.append(pa.repeat(pa.scalar(value, column.type), part.num_rows))
    return pa.RecordBatch.from_arrays(arrays, schema=view.schema)


def _clients(work: PlacedWorkload) -> Iterator[dict[str, object]]:
    for role, clients in (("producer", work.producers), ("consumer", work.consumers)):
        for one in clients:
            told = {"role": role, "number": one.id, "node": one.node, "topic": one.topic, "ports": list(one.ports)}
            more = {"durable": one.durable, "caller": one.caller} if isinstance(one, Consumer) else {}
            yield {**told, **more}


def _link(one: LinkProof) -> dict[str, object]:
    checks = [check.model_dump() | {"holds": check.holds} for check in one.checks]
    queues = [{"during": during.during, **queue.model_dump()} for during in one.counters for queue in during.queues]
    losses = [{"during": during.during, **loss.model_dump()} for during in one.counters for loss in during.losses]
    return {
        "segment": one.segment, "profile": one.profile, "made_by": one.made_by, "medium": one.medium,
        "between_servers": one.link, "rate_uplink": one.rate_uplink, "rate_downlink": one.rate_downlink,
        "overhead_uplink_s": one.overhead_uplink, "overhead_downlink_s": one.overhead_downlink,
        "holds": bool(checks) and all(check.holds for check in one.checks),
        "checks": checks, "queues": queues, "losses": losses,
    }  # fmt: skip
