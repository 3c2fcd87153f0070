"""Finding the 24-byte markers of message bodies in the streams, those across two segments included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.journey.intervals import Intervals
from analysis.journey.passages import Passages
from analysis.journey.places import View
from analysis.tcp.segments import SPAN
from records.ledger import message_keys
from records.marker import MAGIC, MANY, SIZE, decoded

_MAX_PRODUCER, _MAX_SEQ = 1 << 23, 1 << 40  # what records.ledger.message_keys can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Markers of messages that the ledger knows.  row: of the published table.  position: of the body's first byte."""

    flow: np.ndarray
    position: np.ndarray
    row: np.ndarray

    def take(self, which: np.ndarray) -> Hits:
        """Those at these places."""
        return Hits(flow=self.flow[which], position=self.position[which], row=self.row[which])


def find(
    passages: Passages, streams: Intervals, views: Sequence[View], published: pa.Table, *, in_texts: bool = False
) -> Hits:
    """Every marker whose producer, sequence number and time of sending are those of a published message.

    in_texts: bodies are JMS Text messages, in which markers stand encoded.
    """
    text, offset, place = _assembled(passages, streams, views)
    hits = np.array([hit.start() for hit in re.finditer(re.escape(MAGIC), text)], dtype=np.int64)
    data = np.frombuffer(text, dtype=np.uint8)
    if in_texts:
        found, size = decoded(data, hits)
    else:
        hits = hits[hits + SIZE <= len(text)]
        found, size = data[hits[:, None] + np.arange(SIZE)].copy().view(MANY).ravel(), np.full(len(hits), SIZE)
    inside = hits + size <= len(text)
    hits, found, size = hits[inside], found[inside], size[inside]
    begin, last = _place(hits, offset, place), _place(hits + size - 1, offset, place)
    whole = last - begin == size - 1
    begin, row = begin[whole], _rows(found[whole], published)
    known = row >= 0
    return Hits(flow=begin[known] // SPAN, position=begin[known] % SPAN, row=row[known])


def _assembled(passages: Passages, streams: Intervals, views: Sequence[View]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The kept bytes of all streams in order, in pieces: the text, each piece's offset in it and its place."""
    at = np.flatnonzero(streams.keeper < streams.missing)
    keeper = streams.keeper[at]
    fresh = np.ones(len(at), dtype=bool)
    fresh[1:] = (keeper[1:] != keeper[:-1]) | (at[1:] != at[:-1] + 1)
    first = np.flatnonzero(fresh)
    place, keeper = streams.edge[at[first]], keeper[first]
    stop = streams.edge[at[np.append(first[1:], len(at)) - 1] + 1] if len(at) else place
    source = passages.at[keeper] + place - (passages.flow[keeper] * SPAN + passages.body[keeper])
    files = [view.file.data.data for view in views]
    pieces = zip(passages.view[keeper].tolist(), source.tolist(), (source + stop - place).tolist(), strict=True)
    text = b"".join([files[view][start:end] for view, start, end in pieces])
    return text, np.cumsum(stop - place) - (stop - place), place


def _place(hits: np.ndarray, offset: np.ndarray, place: np.ndarray) -> np.ndarray:
    if not len(hits):
        return hits
    piece = np.searchsorted(offset, hits, side="right") - 1
    found: np.ndarray = place[piece] + hits - offset[piece]
    return found


def _rows(found: np.ndarray, published: pa.Table) -> np.ndarray:
    """Row of the published message that each marker names, -1 when there is no such message."""
    columns = {name: published.column(name).to_numpy() for name in ("producer", "seq", "t_send_ns")}
    keys = message_keys(columns["producer"], columns["seq"])
    order = np.argsort(keys, kind="stable")
    possible = (found["producer"] < _MAX_PRODUCER) & (found["seq"] < _MAX_SEQ) & (len(keys) > 0)
    row = np.full(len(found), -1, dtype=np.int64)
    if not possible.any():
        return row
    wanted = message_keys(found["producer"][possible].astype(np.int64), found["seq"][possible].astype(np.int64))
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    candidate = order[at]
    same = (keys[candidate] == wanted) & (columns["t_send_ns"][candidate] == found["t_send_ns"][possible])
    row[possible] = np.where(same, candidate, -1)
    return row
