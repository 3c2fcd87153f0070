"""One-way delays of single packets on an idle link, each frame's transmission time included."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emulation.proof import expectation
from emulation.proof.asked import Asked
from emulation.proof.expectation import Interval
from emulation.proof.foretold import foretell, pairs
from emulation.proof.probe import Arrivals
from records.link import LinkCheck

# Of each direction that a packet takes.  The default experiment's 24 trials, probed while their broker started on the
# same two cores, delivered at most 0.04 ms of delay (their link.json); stalls of a busy machine need the rest, and in
# the lab kernel each direction's timers are 0.4 to 0.5 ms late (tests/support/peers_in_lab_kernel.py, idle machine).
DELAY_TOLERANCE_S = 0.001
FATE_TOLERANCE_S = 0.001
# A packet is stamped before it is sent and after it has come, so none is early; clocks and times are rounded, and tc's
# transmission times are a thousandth short (emulation.tc.netems).
EARLY_S, SHORT = 20e-6, 0.002
# Six stations probed beside each other over one air of 10 Mbit/s: at most 7 of 10 full frames waited for another
# station's (1.2 ms each); how many depends on when the probes begin.  Without jitter all others are alike.
_HALF, _UNDISTURBED = 0.5, 0.25
_STALLED = 0.1  # of all packets: so many may be later than their fates, as the machine stalls


def delay_checks(asked: Asked, arrivals: Arrivals, *, size: int, spacing_s: float) -> Iterator[LinkCheck]:
    """Median one-way delay of single frames of `size` bytes and its spread, and each packet's against its fate."""
    delay = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    frame_s = (asked.air if asked.pays_for_frames else asked.side).airtime(size)
    paid_s = frame_s if asked.pays_for_frames else 0.0
    sides = [one.side for one in asked.hops]
    runs = np.empty((0, 0))  # where neither is asked for what chance makes of delays
    if asked.side.jitter or not asked.seeded:
        runs = expectation.delays(*sides, packets=max(len(delay), 1), spacing_s=spacing_s)
    detail = f"{len(delay)} packets of {size} bytes on an idle link"
    share = _UNDISTURBED if asked.crowded and not asked.side.jitter else _HALF
    if asked.seeded:
        due = foretell(asked, arrivals).received()
        mine, theirs = pairs(due, arrivals)
        delay, due_s = delay[theirs], (due.at_ns - due.sent_ns)[mine] / 1e9
        middle, spread = _of_known(due_s, share)
    else:
        found = expectation.delay(runs, share)
        # A bucket lets a packet pass at once when it is full, as it is for a single packet on an idle link.
        middle = Interval(found.low + paid_s, found.high + frame_s)
        spread = expectation.spread(runs)
    yield LinkCheck(
        quantity="delay",
        direction=asked.direction,
        source="probe",
        asked=asked.side.delay + paid_s,
        delivered=float(np.quantile(delay, share)) if len(delay) else float("inf"),
        low=middle.low - (EARLY_S + SHORT * paid_s if asked.pays_for_frames else 0.0),
        high=middle.high + DELAY_TOLERANCE_S * len(asked.hops),
        detail=f"{'lower quartile' if share < _HALF else 'median'} of {detail}",
    )
    if asked.side.jitter:
        quartiles = np.percentile(delay, [25, 75]) if len(delay) else np.array([0.0, np.inf])
        yield LinkCheck(
            quantity="jitter",
            direction=asked.direction,
            source="probe",
            asked=float(np.median(np.subtract(*np.percentile(runs, [75, 25], axis=1)))),
            delivered=float(quartiles[1] - quartiles[0]),
            low=max(spread.low - DELAY_TOLERANCE_S / 2, 0.0),
            high=spread.high + DELAY_TOLERANCE_S,
            detail=f"interquartile range of the delays of {detail}",
        )
    if asked.seeded and (asked.side.jitter or asked.side.reorder or asked.side.duplicate):
        off_s = np.abs(delay - due_s)
        yield LinkCheck(
            quantity="fates",
            direction=asked.direction,
            source="probe",
            asked=0,
            delivered=float(np.quantile(off_s, 1 - _STALLED)) if len(off_s) else float("inf"),
            low=0,
            high=FATE_TOLERANCE_S * len(asked.hops),
            detail=f"nine of ten delays differ from their fates' by no more, of {detail}",
        )


def _of_known(due_s: np.ndarray, share: float) -> tuple[Interval, Interval]:
    """The quantile of this share, and the interquartile range, of delays that are known beforehand."""
    if not len(due_s):
        return Interval(0, 0), Interval(0, 0)
    low, middle, high = map(float, np.quantile(due_s, [0.25, share, 0.75]))
    return Interval(middle, middle), Interval(high - low, high - low)
