"""The journey of a trial's messages: captures and ledger in, parts and shares out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.journey import clients, markers, places, reasons
from analysis.journey.clients import ABSENT, AMBIGUOUS, Deliveries
from analysis.journey.intervals import Intervals, intervals
from analysis.journey.legs import Leg, legs
from analysis.journey.markers import Hits
from analysis.journey.passages import Passages, passages
from analysis.journey.places import ENTER, SERVER, Ends, View
from analysis.journey.split import Split, split
from analysis.recorded import Recorded
from records.body import extents
from records.directions import Direction
from records.manifest import Manifest
from records.messaging import BodyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """parts[i, j]: seconds of part i (as parts.PARTS) of attributed delivery j.

    latency: of the same deliveries, seconds, as the ledger has it.  wire_known: whether `wire` is a part.

    copies: by direction, mean transmissions per byte of the attributed messages.  why: why nothing, or not
    everything, is known; '' when all is.
    """

    account: reasons.Account
    parts: np.ndarray
    latency: np.ndarray
    wire_known: bool
    copies: dict[Direction, float]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """One direction: its packets, their streams cut at segments' edges, and the markers in them."""

    direction: Direction
    passages: Passages
    streams: Intervals
    hits: Hits

    def legs(self, hit: np.ndarray, body_bytes: np.ndarray) -> Leg:
        flow, begin = self.hits.flow[hit], self.hits.position[hit]
        return legs(self.passages, self.streams, self.direction, flow=flow, begin=begin, end=begin + body_bytes)


def journey(
    recorded: Recorded, manifest: Manifest, *, published: pa.Table, delivered: pa.Table, damaging: bool
) -> Journey:
    """Split the latency of every first delivery of a message that was due to be sent inside the window.

    recorded: the trial's captures with what they hold.  damaging: whether its link turns bits over at any time.  Tables
    have the shapes of records.schema.  ValueError for packets that are no TCP streams, DamagedTrial for a manifest that
    names no addresses.
    """
    ends = places.ends(manifest)
    views = places.views(recorded, ends)
    work = manifest.workload
    of_consumer, of_connection = clients.groups(work.consumers, ends)
    wanted = clients.deliveries(published, delivered, work.audiences, manifest.window, of_consumer)
    reason = reasons.cannot(
        views, (*work.producers, *work.consumers), stations=_stations(manifest), servers=len(ends.servers)
    )
    if reason is not None or not len(wanted):
        return _nothing(wanted, reason or "nothing that was sent inside the window arrived")
    in_texts = work.asked.body_type is BodyType.TEXT
    up, down = (_way(views, ends, direction, published, damaging=damaging, in_texts=in_texts) for direction in ENTER)
    both = [up.passages, down.passages]
    if not len(up.hits.row) and not len(down.hits.row):
        return _nothing(wanted, reasons.unreadable(both))
    if (reason := reasons.uncertain(both, damaging=damaging)) is not None:
        return _nothing(wanted, reason)
    sent = clients.sent_copy(up.hits, up.passages, work.producers, ends=ends, published=published)[wanted.row]
    got = clients.delivered_copy(wanted, down.hits, down.passages, of_connection, messages=len(published))
    found = np.flatnonzero((sent >= 0) & (got >= 0))
    row = wanted.row[found]
    named = {name: published.column(name).to_numpy()[row] for name in ("producer", "seq", "t_send_ns")}
    body = extents(work.asked.body_type, published.column("body_bytes").to_numpy().astype(np.int64)[row], **named)
    there, back = up.legs(sent[found], body), down.legs(got[found], body)
    server_seen = any(view.place == SERVER for view in views)
    times = split(
        t_sched_ns=published.column("t_sched_ns").to_numpy()[row], t_recv_ns=wanted.t_recv_ns[found],
        up=there, down=back, clock_offset_ns=manifest.clock_offset_ns, server_seen=server_seen,
    )  # fmt: skip
    account = _account(sent, got, times)
    known = times.attributed
    return Journey(
        account=account,
        parts=times.parts[:, known] / 1e9,
        latency=times.latency[known] / 1e9,
        wire_known=server_seen,
        copies=_copies(there, back, row, known),
        why=reasons.explain(account, views, both),
    )


def _stations(manifest: Manifest) -> int:
    """How many stations have clients."""
    work = manifest.workload
    return len({one.node for one in work.producers} | {one.node for one in work.consumers})


def _way(
    views: Sequence[View], ends: Ends, direction: Direction, published: pa.Table, *, damaging: bool, in_texts: bool
) -> _Way:
    found = passages(views, ends, direction, damaging=damaging)
    streams = intervals(found, ENTER[direction])
    hits = markers.find(found, streams, views, published, in_texts=in_texts)
    return _Way(direction=direction, passages=found, streams=streams, hits=hits)


def _nothing(wanted: Deliveries, why: str) -> Journey:
    account = reasons.Account(deliveries=len(wanted), incomplete=len(wanted))
    return Journey(account=account, parts=np.empty((0, 0)), latency=np.empty(0), wire_known=False, copies={}, why=why)


def _account(sent: np.ndarray, got: np.ndarray, times: Split) -> reasons.Account:
    ambiguous = (sent == AMBIGUOUS) | (got == AMBIGUOUS)
    return reasons.Account(
        deliveries=len(sent),
        ambiguous=int(np.count_nonzero(ambiguous)),
        no_uplink_marker=int(np.count_nonzero(~ambiguous & (sent == ABSENT))),
        no_downlink_marker=int(np.count_nonzero(~ambiguous & (sent != ABSENT) & (got == ABSENT))),
        incomplete=int(np.count_nonzero(~times.complete)),
        negative=int(np.count_nonzero(times.complete & ~times.ordered)),
    )


def _copies(up: Leg, down: Leg, row: np.ndarray, known: np.ndarray) -> dict[Direction, float]:
    """A message that several consumers had has gone up once."""
    if not known.any():
        return {}
    _, once = np.unique(row[known], return_index=True)
    return {"uplink": float(up.copies[known][once].mean()), "downlink": float(down.copies[known].mean())}
