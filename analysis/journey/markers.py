"""Finding the 24-byte markers of message bodies in the streams, those across two segments included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.capture.content import Content, pieces
from analysis.journey.intervals import Intervals
from analysis.journey.passages import Passages
from analysis.journey.places import View
from analysis.tcp.segments import SPAN
from records.ledger import message_keys
from records.marker import MAGIC, MANY, SIZE, decoded

_MAX_PRODUCER, _MAX_SEQ = 1 << 23, 1 << 40  # what records.ledger.message_keys can hold
AT_ONCE = 1 << 24  # bytes that are looked through: streams of any length take no more memory
_MOST_BYTES = 2 * SIZE  # of a marker, inside a text


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
    text = _text(passages, streams, views)
    some = [_marked(text, low, in_texts=in_texts) for low in range(0, text.length, AT_ONCE)]
    begin = np.concatenate([np.empty(0, np.int64), *(one for one, _ in some)])
    row = _rows(np.concatenate([np.empty(0, MANY), *(one for _, one in some)]), published)
    known = row >= 0
    return Hits(flow=begin[known] // SPAN, position=begin[known] % SPAN, row=row[known])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The kept bytes of all streams in order, as one text.  Of each piece: its offset in the text, its first byte's
    place (flow * SPAN + position), and the view and the byte of that view's capture from which on it stands.

    length: of the text, bytes.
    """

    offset: np.ndarray
    place: np.ndarray
    view: np.ndarray
    source: np.ndarray
    files: Sequence[Content]
    length: int

    def part(self, low: int, high: int) -> bytes:
        """The bytes [low, high) of the text."""
        which = slice(*np.searchsorted(self.offset, [low + 1, high]) - [1, 0])
        offset, source = self.offset[which], self.source[which]
        first = np.maximum(offset, low)
        stop = np.minimum(np.append(offset[1:], self.length), high)
        begin, end, view = source + first - offset, source + stop - offset, self.view[which]
        found = [memoryview(b"")] * len(view)
        for number in np.unique(view).tolist():
            mine = np.flatnonzero(view == number)
            some = pieces(self.files[number], begin[mine], end[mine])
            for place, one in zip(mine.tolist(), some, strict=True):
                found[place] = one
        return b"".join(found)

    def at(self, offset: np.ndarray) -> np.ndarray:
        """The places of bytes of the text."""
        if not len(offset):
            return offset
        piece = np.searchsorted(self.offset, offset, side="right") - 1
        found: np.ndarray = self.place[piece] + offset - self.offset[piece]
        return found


def _text(passages: Passages, streams: Intervals, views: Sequence[View]) -> _Text:
    at = np.flatnonzero(streams.keeper < streams.missing)
    keeper = streams.keeper[at]
    fresh = np.ones(len(at), dtype=bool)
    fresh[1:] = (keeper[1:] != keeper[:-1]) | (at[1:] != at[:-1] + 1)
    first = np.flatnonzero(fresh)
    place, keeper = streams.edge[at[first]], keeper[first]
    stop = streams.edge[at[np.append(first[1:], len(at)) - 1] + 1] if len(at) else place
    ends = np.cumsum(stop - place)
    return _Text(
        offset=ends - (stop - place),
        place=place,
        view=passages.view[keeper],
        source=passages.at[keeper] + place - (passages.flow[keeper] * SPAN + passages.body[keeper]),
        files=[view.file.data for view in views],
        length=int(ends[-1]) if len(ends) else 0,
    )


def _marked(text: _Text, low: int, *, in_texts: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where markers begin of which the first byte is among those of the text that are looked through at once, and what
    they say.
    """
    part = text.part(low, min(low + AT_ONCE + _MOST_BYTES, text.length))
    hits = np.array([hit.start() for hit in re.finditer(re.escape(MAGIC), part)], dtype=np.int64)
    hits = hits[hits < AT_ONCE]
    data = np.frombuffer(part, dtype=np.uint8)
    if in_texts:
        found, size = decoded(data, hits)
    else:
        hits = hits[hits + SIZE <= len(part)]
        found, size = data[hits[:, None] + np.arange(SIZE)].copy().view(MANY).ravel(), np.full(len(hits), SIZE)
    inside = hits + size <= len(part)
    hits, found, size = low + hits[inside], found[inside], size[inside]
    begin = text.at(hits)
    whole = text.at(hits + size - 1) - begin == size - 1
    return begin[whole], found[whole]


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
