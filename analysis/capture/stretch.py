"""Stretches of a capture: packet records of one byte order that share a list of interfaces."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.capture.format import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """offsets: byte of the data at which each packet record starts.  state: with every interface of the stretch.

    pcapng only: kinds: type of each record's block, None when all are enhanced packets.  since: byte of each
    interface's description, -1 when it stands before the data.
    """

    state: State
    offsets: np.ndarray
    kinds: np.ndarray | None = None
    since: np.ndarray = field(default_factory=lambda: np.full(1, -1, dtype=np.int64))

    def first(self, count: int) -> Stretch:
        """The first `count` records."""
        kinds = None if self.kinds is None else self.kinds[:count]
        return Stretch(state=self.state, offsets=self.offsets[:count], kinds=kinds, since=self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All whole records of some bytes.  end: the byte after the last.  state: how to read on from there.

    fault: what is wrong at `end`, None when nothing is.  cut: more bytes could heal it.
    """

    stretches: tuple[Stretch, ...]
    end: int
    state: State
    fault: str | None
    cut: bool
