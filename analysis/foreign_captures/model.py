"""What capture files hold, read back from the job's rows: the one model that tables, page and plots draw on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from analysis.foreign_captures.summarise import Span
from analysis.rows import by_trial
from records.location import Place, bytes_at

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFile:
    """One file.

    name: as its user wrote it.  packets: records by kind.  span: None without a TCP packet.  flows: a row per
    directed flow, the largest first: key, src, sport, dst, dport and the figures of FlowTable by name.
    interfaces: at how many of them TCP was seen.  seconds: (key, series) to counts per bin of span.width_s; key "" is
    all flows.  rtt: key to (at most so many seconds, samples).  unreadable: why nothing of it could be read.
    damage: what is wrong with the rest.  failed: why its flows, or some of them, could not be analysed.
    """

    name: str
    size: int
    packets: dict[str, int]
    interfaces: int
    span: Span | None
    flows: pa.Table
    seconds: dict[tuple[str, str], Points]
    rtt: dict[str, Points]
    unreadable: str | None
    damage: str | None
    failed: str | None = None

    @property
    def records(self) -> int:
        """Whole records in the file."""
        return sum(self.packets.values())

    @property
    def tcp(self) -> int:
        """TCP packets."""
        return self.packets.get("tcp", 0)

    @property
    def drawn(self) -> list[str]:
        """Keys of the flows that have series of their own, the largest first."""
        own = {key for key, _ in self.seconds if key}
        return [key for key in self.flows.column("key").to_pylist() if key in own]


def gather(paths: Sequence[Place], rows: pa.Table) -> list[CaptureFile]:
    """The files `paths` from the table that analysis.spark.captures.reduce_captures gave for them."""
    of_file = by_trial(rows)
    return [_one(path, of_file.get(number, rows.slice(0, 0))) for number, path in enumerate(paths)]


def _one(path: Place, rows: pa.Table) -> CaptureFile:
    tables = {name: rows.filter(pc.equal(rows["table"], name)) for name in ("packets", "capture", "damage", "second")}
    said = {row["metric"]: row["text"] for row in tables["damage"].to_pylist()}
    about = {row["metric"]: row for row in tables["capture"].to_pylist()}
    seconds: dict[tuple[str, str], Points] = {}
    for row in tables["second"].to_pylist():
        seconds.setdefault((row["key"] or "", row["metric"]), []).append((row["t"], row["value"]))
    rtt: dict[str, Points] = {}
    for row in rows.filter(pc.equal(rows["table"], "rtt")).to_pylist():
        rtt.setdefault(row["key"] or "", []).append((row["t"], row["value"]))
    return CaptureFile(
        name=str(path),
        size=0 if "unreadable" in said else bytes_at(path),
        packets={row["metric"]: int(row["value"]) for row in tables["packets"].to_pylist()},
        interfaces=int(about["interfaces"]["value"]) if "interfaces" in about else 0,
        span=Span(**{end: int(about[end]["text"]) for end in ("low_ns", "high_ns")}) if "low_ns" in about else None,
        flows=_flows(rows.filter(pc.equal(rows["table"], "flow"))),
        seconds={key: sorted(points) for key, points in seconds.items()},
        rtt={key: sorted(points) for key, points in rtt.items()},
        unreadable=said.get("unreadable"),
        damage=said.get("capture"),
        failed=said.get("flows"),
    )


_ENDS = {"src": "sport", "dst": "dport"}  # text: the address; value: the port


def _flows(rows: pa.Table) -> pa.Table:
    """Narrow rows (a row per flow and figure, equal flows in every figure, sorted by key) as a row per flow."""
    columns: dict[str, pa.ChunkedArray] = {}
    for metric in sorted(set(rows.column("metric").to_pylist())):
        one = rows.filter(pc.equal(rows["metric"], metric))
        columns.setdefault("key", one["key"])
        if port := _ENDS.get(metric):
            columns[metric], columns[port] = one["text"], one["value"].cast(pa.int32())
        else:
            columns[metric] = one["value"]
    if not columns:
        return pa.table({"key": pa.array([], pa.string())})
    first = ["key", "src", "sport", "dst", "dport"]
    table = pa.table({name: columns[name] for name in [*first, *(n for n in columns if n not in first)]})
    return table.sort_by([("wire_bytes", "descending"), ("key", "ascending")]).combine_chunks()
