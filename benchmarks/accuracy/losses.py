"""Losses: exactly the listed packets, and as many, and as bunched, as the model says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from accuracy.bench import Line, Measure, applied, way, within
from emulation.proof.probe import MIN_FRAME
from records.directions import DIRECTIONS
from topologies.network import Network

_PACKETS = 20_000
_AT_ONCE = 200  # sent without a pause


def bernoulli(network: Network, quick: bool) -> Iterator[Line]:
    """Independent losses."""
    for share in (0.03,) if quick else (0.001, 0.01, 0.03, 0.1):
        for direction in DIRECTIONS:
            lost, wrong = _lost(network, direction, share)
            low, high = stats.binom.ppf([0.025, 0.975], _PACKETS, share) / _PACKETS
            yield Line(what=f"loss {share:.1%}, {direction}, of {_PACKETS}", unit="%", asked=share * 100,
                       delivered=len(lost) / _PACKETS * 100, low=low * 100, high=high * 100,
                       note="95 % of the binomial distribution")  # fmt: skip
            yield _exactly(f"loss {share:.1%}, {direction}", wrong)


def bursts(network: Network, quick: bool) -> Iterator[Line]:
    """Gilbert-Elliott: lost packets, and how long bursts are."""
    del quick
    for p, r in ((0.01, 0.25), (0.002, 0.1)):
        model = {"model": "gilbert-elliott", "p": p, "r": r, "loss_bad": 1}
        lost, wrong = _lost(network, "uplink", model)
        runs = np.diff(np.flatnonzero(np.diff(lost, prepend=-9, append=10**9) != 1))
        half = 1.96 * np.sqrt(1 - r) / r / np.sqrt(len(runs))
        name = f"Gilbert-Elliott p={p:g} r={r:g}"
        yield _exactly(name, wrong)
        yield Line(what=f"{name}: mean burst", unit="packets", asked=1 / r, delivered=float(runs.mean()),
                   low=1 / r - half, high=1 / r + half, note=f"95 % interval of {len(runs)} bursts")  # fmt: skip


def recorded(network: Network, quick: bool) -> Iterator[Line]:
    """A record of 1,000 packets, repeated."""
    del quick
    record = sorted(np.random.default_rng(1).choice(1000, 37, replace=False).tolist())
    lost, wrong = _lost(network, "downlink", {"model": "recorded", "packets": 1000, "lost": record})
    yield _exactly("recorded losses, 37 of 1000, repeated 20 times", wrong)
    yield within("recorded losses", "packets", 37 * _PACKETS / 1000, len(lost), 0)


def _lost(network: Network, direction: str, model: Any) -> tuple[np.ndarray, int]:
    """Numbers of the packets that did not arrive, and how many fates differ from the list."""
    with applied(network, loss=model) as (plan, _), way(network, direction, silence_s=0.5) as path:
        arrived = np.zeros(_PACKETS, dtype=bool)
        for _ in range(_PACKETS // _AT_ONCE):
            arrived[path.send([MIN_FRAME] * _AT_ONCE, spacing_s=0.0001).number] = True
    listed = next(one for one in plan.losses if one.direction == direction).lists(np.arange(_PACKETS))
    return np.flatnonzero(~arrived), int(np.count_nonzero(arrived == listed))


def _exactly(name: str, wrong: int) -> Line:
    return Line(what=f"{name}: fates unlike the list", unit="packets", asked=0, delivered=wrong, low=0, high=0)


MEASURES = (
    Measure(name="bernoulli", kernels=("host", "lab"), run=bernoulli),
    Measure(name="bursts", kernels=("host", "lab"), run=bursts),
    Measure(name="recorded", kernels=("host", "lab"), run=recorded),
)
