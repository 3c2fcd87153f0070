"""What a task found in some connections of a large trial, on its way to the task that puts the trial together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from analysis import captures
from analysis.capture.buckets import from_bytes, to_bytes
from analysis.capture.reader import Capture as PacketFile
from analysis.captures import Sent
from analysis.journey import places, seen
from analysis.journey.legs import Leg
from analysis.journey.markers import Hits
from analysis.journey.passages import Flows, Payloads
from analysis.journey.seen import Seen
from analysis.journey.ways import Way
from analysis.large.pieces import files_of, told_of
from analysis.large.plan import TrialPlan
from analysis.looked import Looked, kinds_of, without_packets
from analysis.partial import is_of_the_machine, said
from analysis.recorded import Recorded
from records.manifest import Manifest
from records.store import Trial

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int32(), nullable=False),
        pa.field("plan", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("what", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("about", pa.string(), nullable=False),
        pa.field("content", pa.binary(), nullable=False),
    ]
)
DDL = "key int, plan int, bucket int, what string, name string, about string, content binary"
_PUBLISHED = "published"  # the table of the ledger that names the messages that are looked for
_LINK = "link"  # begins the names of Leg.links' columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """what: `file` or `unread` of a capture, `flows`, `bins` or `recovery` of what it sent, `way` and `hits` of a way,
    `peers`, `failed`, `machine`: that something failed of the machine.  name: of the capture's file, the way or the
    part.  about: JSON.
    """

    what: str
    name: str = ""
    about: Any = None
    table: pa.Table | None = None


def look(plan: TrialPlan, bucket: int, pieces: pa.Table) -> list[Part]:
    """What the connections of one bucket show; bucket 0 adds what files hold.  pieces: of large.pieces.SCHEMA."""
    parts = list(_files(plan, pieces)) if bucket == 0 else []
    try:
        with plan.files.records([_PUBLISHED] if plan.bodies else []) as folder:
            files = files_of(plan, pieces)
            del pieces  # as much as the files: a caller that holds them no more has that memory back
            return [*parts, *_looked(Trial(folder), plan, files)]
    except Exception as error:  # noqa: BLE001 - whatever it is, the trial says so
        return [*parts, *_failed("captures", error), *_failed("journey", error)]


def _failed(name: str, error: Exception) -> Iterator[Part]:
    yield Part(what="failed", name=name, about=said(error))
    if is_of_the_machine(error):
        yield Part(what="machine")


def _looked(trial: Trial, plan: TrialPlan, files: Mapping[str, PacketFile]) -> list[Part]:
    parts: list[Part] = []
    manifest = trial.manifest()
    known = {capture.file: capture for capture in manifest.captures}
    recorded: Recorded = [(known[name], file) for name, file in files.items()]
    try:
        for capture, file in recorded:
            if not capture.link and captures.enters(capture, manifest):
                parts += _sent(capture.file, captures.sent(file.tcp, capture, manifest))
    except Exception as error:  # noqa: BLE001 - as above
        parts += _failed("captures", error)
    if plan.bodies:
        try:
            parts += _seen(_shown(trial, manifest, plan, recorded))
        except Exception as error:  # noqa: BLE001 - as above
            parts += _failed("journey", error)
    return parts


def _shown(trial: Trial, manifest: Manifest, plan: TrialPlan, recorded: Recorded) -> Seen:
    """By all captures that can be read, those without packets of these connections among them."""
    files = {capture.file: file for capture, file in recorded}
    empty = without_packets(records=0, kinds={}, damage=None)
    readable = {one.file for one in plan.captures if one.unread is None}
    broken = any(not one.whole for one in plan.captures if _link(manifest, one.file))
    followed: Recorded = [
        (capture, files.get(capture.file, empty))
        for linked in (False, True) for capture in manifest.captures
        if capture.file in readable and bool(capture.link) == linked and not (linked and broken)
    ]  # fmt: skip
    ends = places.ends(manifest)
    views = places.views(followed, ends)
    return seen.see(views, ends, manifest, published=trial.table(_PUBLISHED), damaging=plan.damaging)


def _link(manifest: Manifest, file: str) -> bool:
    return any(capture.file == file and bool(capture.link) for capture in manifest.captures)


def _files(plan: TrialPlan, pieces: pa.Table) -> Iterator[Part]:
    told = told_of(pieces)
    for number, capture in enumerate(plan.captures):
        ranges: list[Mapping[str, Any]] = told.get(number, [])
        failed = next((str(one["failed"]) for one in ranges if "failed" in one), None)
        if any(one.get("of_the_machine") for one in ranges):
            yield Part(what="machine")
        if why := capture.unread or failed:
            yield Part(what="unread", name=capture.file, about=why)
            continue
        records, kinds = sum(one["records"] for one in ranges), kinds_of([one["kinds"] for one in ranges])
        about = {"records": records, "kinds": kinds, "damage": capture.damage}
        yield Part(what="file", name=capture.file, about=about)


def _sent(file: str, found: Sent) -> Iterator[Part]:
    yield Part(what="flows", name=file, table=found.flows)
    yield Part(what="bins", name=file, table=pa.table(found.bins))
    start, end = found.in_recovery.T
    yield Part(what="recovery", name=file, table=pa.table({"start": start, "end": end}))


def _seen(found: Seen) -> Iterator[Part]:
    yield Part(what="peers", about=found.peers)
    ways = {way.direction: way for way in found.ways} | ({} if found.between is None else {"between": found.between})
    for name, way in ways.items():
        about = {"direction": way.direction, "turns": way.turns, "payloads": asdict(way.payloads)}
        yield Part(what="way", name=name, about=about, table=pa.table(_columns(way.flows)))
        legs = _columns(way.leg)
        links = {f"{_LINK}{number}": row for number, row in enumerate(legs.pop("links"))}
        yield Part(
            what="hits", name=name, table=pa.table({**_columns(way.hits), **legs, **links, "turned": way.turned})
        )


def _columns(record: Flows | Hits | Leg) -> dict[str, np.ndarray]:
    return {one.name: getattr(record, one.name) for one in fields(record)}


def to_rows(parts: Sequence[Part], *, key: int, plan: int, bucket: int) -> pa.RecordBatch:
    """In the shape of SCHEMA.  key: by which Spark knows where the trial is put together."""
    rows = [
        {
            "key": key, "plan": plan, "bucket": bucket, "what": one.what, "name": one.name,
            "about": json.dumps(one.about), "content": b"" if one.table is None else to_bytes(one.table),
        }
        for one in parts
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def together(rows: pa.Table) -> Looked:
    """All parts of one trial, rows of SCHEMA."""
    held = sorted(_parts(rows), key=lambda one: one[0])
    files: dict[str, PacketFile] = {}
    unread: dict[str, str] = {}
    failed: dict[str, str] = {}
    sent: dict[str, list[Sent]] = {}
    shown: list[Seen] = []
    machine = False
    for _, parts in held:
        of = {(one.what, one.name): one for one in parts}
        for one in parts:
            if one.what == "file":
                files[one.name] = without_packets(**one.about)
            elif one.what == "unread":
                unread[one.name] = one.about
            elif one.what == "failed":
                failed.setdefault(one.name, one.about)
            elif one.what == "machine":
                machine = True
            elif one.what == "flows":
                sent.setdefault(one.name, []).append(_sent_of(of, one.name))
            elif one.what == "peers":
                shown.append(_seen_of(of, peers=one.about))
    return Looked(
        files=files,
        unread=unread,
        sent={name: captures.together(some) for name, some in sent.items()},
        shown=None if "journey" in failed or not shown else seen.together(shown),
        failed=failed,
        of_the_machine=machine,
    )


def _parts(rows: pa.Table) -> Iterator[tuple[int, list[Part]]]:
    """By bucket."""
    found: dict[int, list[Part]] = {}
    for row in rows.select(["bucket", "what", "name", "about", "content"]).to_pylist():
        content = row["content"]
        table = from_bytes(content) if content else None
        part = Part(what=row["what"], name=row["name"], about=json.loads(row["about"]), table=table)
        found.setdefault(row["bucket"], []).append(part)
    yield from found.items()


_Parts = Mapping[tuple[str, str], Part]


def _table(of: _Parts, what: str, name: str) -> pa.Table:
    table = of[what, name].table
    assert table is not None, f"{what} have a table"
    return table


def _arrays(table: pa.Table) -> dict[str, np.ndarray]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _sent_of(of: _Parts, file: str) -> Sent:
    times = _arrays(_table(of, "recovery", file))
    return Sent(
        flows=_table(of, "flows", file),
        bins=_arrays(_table(of, "bins", file)),
        in_recovery=np.stack([times["start"], times["end"]], axis=1),
    )


def _seen_of(of: _Parts, *, peers: bool) -> Seen:
    ways = {name: _way(of, name) for what, name in of if what == "way"}
    between = ways.pop("between", None)
    return Seen(ways=tuple(ways.values()), between=between, peers=peers)


def _way(of: _Parts, name: str) -> Way:
    about = of["way", name].about
    hits = _arrays(_table(of, "hits", name))
    links = [hits.pop(link) for link in sorted((one for one in hits if one.startswith(_LINK)), key=_number)]
    turned = hits.pop("turned")
    mine = {one.name: hits.pop(one.name) for one in fields(Hits)}
    return Way(
        direction=about["direction"],
        flows=Flows(**_arrays(_table(of, "way", name))),
        hits=Hits(**mine),
        leg=Leg(**hits, links=np.stack(links) if links else np.empty((0, len(turned)), dtype=np.int64)),
        turned=turned,
        turns=about["turns"],
        payloads=Payloads(**about["payloads"]),
        between=name == "between",
    )


def _number(link: str) -> int:
    return int(link.removeprefix(_LINK))
