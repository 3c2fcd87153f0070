"""Walking a long stretch of records by many chains at once, pure numpy.

Each chain starts at a guess.  Guesses alone are unsafe at any depth: a capture that carries a capture fools
99 % of them (measured).  So they are proven afterwards: the first chain starts at a known record, and a chain
that ends exactly on the start of the next proves it.  Where a chain ends elsewhere, the walk goes on record by
record until it meets the start of a later chain, which is thereby proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from analysis.capture.framing import Framing, Scan

# A guess costs about 6 µs and a step of all chains about 12 µs (measured): with records of some 800 bytes the
# two together are least at this square root.
_BYTES_PER_CHAIN = 600
_FEWEST, _MOST = 32, 4096
_FEW = 32  # running chains below which a step costs more than so many records of the plain walk
_SPANS = (1600, 1 << 14, 1 << 18)  # bytes looked through for a guess; the first hold a record of any plain frame
_PATIENT = 64  # guesses that may look through the longest span
_TRIED = 256  # candidates tried of one span, so that no file makes many
_DEPTH = 4  # records that must look right one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chains:
    """starts: where each began.  ends: where it stood at last.  offsets: their records, chain after chain;
    chain k's are offsets[first[k] : first[k + 1]]."""

    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray
    first: np.ndarray


def lockstep(data: np.ndarray, *, start: int, end: int, framing: Framing) -> Scan:
    """Offsets of every whole record between byte `start`, where one starts, and `end`."""
    words = np.ndarray(max(end - 3, 0), dtype=framing.order + "u4", buffer=data.data, strides=(1,))
    starts = _guesses(words, start=start, end=end, framing=framing)
    return _join(data, _run(words, starts, end=end, framing=framing), end=end, framing=framing)


def _run(words: np.ndarray, starts: np.ndarray, *, end: int, framing: Framing) -> _Chains:
    ends = starts.copy()
    # The last chain must not look for a header beyond the end.
    stop = np.minimum(np.append(starts[1:], end), end - framing.head_bytes + 1)
    running = np.flatnonzero(starts < stop).astype(np.int32)
    here, stop = starts[running], stop[running]
    places: list[np.ndarray] = []
    chains: list[np.ndarray] = []
    while len(running) > _FEW:
        after, whole = framing.steps(words, here, end)
        if np.count_nonzero(whole) < len(whole):  # a tenth of the time of all(), in the innermost loop
            ends[running[~whole]] = here[~whole]
            after, here, running, stop = after[whole], here[whole], running[whole], stop[whole]
        places.append(here)
        chains.append(running)
        going, here = after < stop, after
        if np.count_nonzero(going) < len(going):
            ends[running[~going]] = here[~going]
            here, running, stop = here[going], running[going], stop[going]
    ends[running] = here
    offsets, first = _chain_by_chain(places, chains, len(starts))
    return _Chains(starts=starts, ends=ends, offsets=offsets, first=first)


def _chain_by_chain(places: list[np.ndarray], chains: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """What was found step by step, put in the order of the file."""
    if not places:
        return np.empty(0, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    place, chain = np.concatenate(places), np.concatenate(chains)
    first = np.concatenate([[0], np.cumsum(np.bincount(chain, minlength=count))])
    step = np.repeat(np.arange(len(places)), [len(chain) for chain in chains])
    offsets = np.empty(len(place), dtype=np.int64)
    offsets[first[chain] + step] = place
    return offsets, first


def _join(data: np.ndarray, chains: _Chains, *, end: int, framing: Framing) -> Scan:
    """The records of proven chains, and of walks between them."""
    starts, last = chains.starts, len(chains.starts) - 1
    loose = np.append(np.flatnonzero(chains.ends != np.append(starts[1:], end)), last)
    known = frozenset(starts.tolist()) if len(loose) > 1 else frozenset[int]()
    pieces, chain = [], 0
    while True:
        until = int(loose[np.searchsorted(loose, chain)])
        pieces.append(chains.offsets[chains.first[chain] : chains.first[until + 1]])
        at = int(chains.ends[until])
        if at == starts[until] or at not in known:
            walked, at = framing.walk(data.data, start=at, end=end, stops=known)
            pieces.append(np.array(walked, dtype=np.int64))
        chain = int(np.searchsorted(starts, at))
        if not until < chain <= last or starts[chain] != at:
            fault, cut = framing.fault(data.data, at=at, end=end)
            return Scan(offsets=np.concatenate(pieces), end=at, fault=fault, cut=cut)


def _guesses(words: np.ndarray, *, start: int, end: int, framing: Framing) -> np.ndarray:
    """Places at which records seem to start, spread over the stretch; the first is `start`."""
    count = min(max(isqrt((end - start) // _BYTES_PER_CHAIN), _FEWEST), _MOST)
    wanted = np.linspace(start, end, count, endpoint=False).astype(np.int64)[1:]
    found = [np.array([start], dtype=np.int64)]
    for span in _SPANS:
        if span == _SPANS[-1]:
            wanted = wanted[:: max(len(wanted) // _PATIENT, 1)]
        places, asked = _first_likely(words, wanted, span=span, end=end, framing=framing)
        found.append(places)
        wanted = np.delete(wanted, asked)
        wanted = wanted[wanted + span < end - framing.head_bytes]  # of the others all has been looked through
        if not len(wanted):
            break
    return np.unique(np.concatenate(found))


def _first_likely(
    words: np.ndarray, wanted: np.ndarray, *, span: int, end: int, framing: Framing
) -> tuple[np.ndarray, np.ndarray]:
    """First likely record within `span` bytes of each wanted place; and which places have one."""
    last = end - framing.head_bytes
    tried = [
        framing.candidates(words, start=place, stop=min(place + span, last))[:_TRIED] if place < last else wanted[:0]
        for place in wanted.tolist()
    ]
    asked = np.repeat(np.arange(len(wanted)), [len(places) for places in tried])
    places = np.concatenate([wanted[:0], *tried])
    holds = _holds(words, places, end=end, framing=framing)
    asked, first = np.unique(asked[holds], return_index=True)
    return places[holds][first], asked


def _holds(words: np.ndarray, places: np.ndarray, *, end: int, framing: Framing) -> np.ndarray:
    """From which places some records that look right follow each other."""
    good = np.ones(len(places), dtype=bool)
    here = places.copy()
    for _ in range(_DEPTH):
        rows = np.flatnonzero(good & (here < end))
        inside = here[rows] <= end - framing.head_bytes
        good[rows[~inside]] = False
        rows = rows[inside]
        likely = framing.likely(words, here[rows])
        after, whole = framing.steps(words, here[rows], end)
        good[rows] = likely & whole
        here[rows] = after
    return good
