"""How much later than it should a frame arrives over an idle link: on a quiet machine, beside a trial, beside loops."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accuracy.bench import Line, applied, way

from emulation.kernel import kernel
from emulation.line import idlepoll
from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.profile.media import MediumName
from emulation.proof.probe import ProbePath
from experiments.trial.observers.priority import ahead
from line_bench.beside import trial
from line_bench.common import Measure, Part, bounded, busy_loops, told
from line_bench.stamps import delays_s, sent_ns, stamp_sent
from records.directions import DIRECTIONS
from topologies.network import Network

_SIZES = (64, 100, 576, 1514)
_RATES = (1e6, 11e6, 54e6)
_DELAYS_S = (0.0, 0.02)
_MEDIAN_MS, _P99_MS = 0.1, 0.5
_PAUSE_S, _AWAKE_S = 0.002, 0.0005
_FIRST = 5  # of a series: they find nothing ready
_LATENCY = Path("/dev/cpu_dma_latency")


def _probes(  # noqa: PLR0917 - as the columns are
    network: Network, made_by: MediumName, size: int, direction: str, packets: int, takes_s: float, **settings: Any
) -> np.ndarray:
    """One-way delays (s) over an idle link, on which a frame takes so long."""
    with (
        applied(network, made_by=made_by, **settings),
        way(network, direction, silence_s=1 + settings.get("delay", 0.0)) as path,
        ahead([]),
    ):
        left_ns = _send(path, packets, size, _PAUSE_S, takes_s)
        return delays_s(path.collect(packets), left_ns)


def _biases(network: Network, made_by: MediumName, packets: int, beside: str, *, quick: bool) -> Iterator[Part]:
    for rate in _RATES[:1] if quick else _RATES:
        for size in _SIZES[1::2] if quick else _SIZES:
            yield partial(_bias, network, made_by, packets, beside, rate, size)


def _bias(  # noqa: PLR0917 - as the columns are
    network: Network, made_by: MediumName, packets: int, beside: str, rate: float, size: int
) -> list[Line]:
    """The median and the 99th percentile of what frames took beyond transmission and delay.

    One line for both: what is judged is the worse of the two, as a share of what it may be.
    """
    netem = made_by == "line" or kernel.current() == "lab"
    found = []
    for direction, delay_s in zip(DIRECTIONS, _DELAYS_S, strict=True):
        asked = delay_s if netem else 0.0
        seen = _probes(network, made_by, size, direction, packets // 2, size * 8 / rate, rate=rate, delay=asked)
        found.append((seen[_FIRST:] - asked - size * 8 / rate) * 1e3)
    errors = np.concatenate(found)
    median, p99 = float(np.median(errors)), float(np.percentile(errors, 99))
    share = max(abs(median) / _MEDIAN_MS, p99 / _P99_MS)
    what = f"{beside}: {size} bytes, {rate / 1e6:g} Mbit/s"
    note = f"median {median:+.3f}, p99 {p99:+.3f}, latest {errors.max():+.2f} ms of {len(errors)} frames"
    return [bounded(made_by, f"bias, {what}: worse of median / 0.1 ms and p99 / 0.5 ms", "", share, 0, 1, note)]


def bare(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Frames over no link at all: what sending and stamping take by themselves, which is a part of every bias."""
    del made_by, quick
    for pause_s in (_PAUSE_S, 10 * _PAUSE_S):
        yield partial(_bare, network, pause_s)


def _bare(network: Network, pause_s: float) -> list[Line]:
    with way(network, "uplink") as path, ahead([]):
        left_ns = _send(path, 300, 100, pause_s)
        took = delays_s(path.collect(300), left_ns)[_FIRST:] * 1e3
    what = f"the bare wire, frames {pause_s * 1e3:g} ms apart: median delay, from stamp to stamp"
    return [told(what, "ms", float(np.median(took)), f"p99 {np.percentile(took, 99):.3f} ms")]


def _send(path: ProbePath, packets: int, size: int, pause_s: float, takes_s: float = 0.0) -> np.ndarray:
    """Send frames one by one, in step with nothing that has a period, never on a link that is still busy.

    The moments (wall clock, ns) at which they left, as the sender's device stamped them.  The sender is awake before
    each: what waking up takes is no part of a link.
    """
    chance = np.random.default_rng(1)
    stamp_sent(path)
    due = time.monotonic()
    for _ in range(packets):
        due = max(due, time.monotonic()) + takes_s + chance.uniform(0.75, 1.25) * pause_s
        time.sleep(max(due - _AWAKE_S - time.monotonic(), 0))
        while time.monotonic() < due:
            pass
        path.emit(1, size)
    return sent_ns(path, packets)


def study(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Frames over an idle nistnet-80211, whose transmission takes 0.8 ms at 100 bytes and 12.1 ms at 1,514."""
    for size in (100, FULL_FRAME):
        for direction in DIRECTIONS:
            yield partial(_study, network, made_by, size, direction, 100 if quick else 400)


def _study(network: Network, made_by: MediumName, size: int, direction: str, packets: int) -> list[Line]:
    link = library.load("nistnet-80211")
    takes = link.uplink.airtime(size) * 1e3
    seen = _probes(network, made_by, size, direction, packets, takes / 1e3, **link.model_dump())[_FIRST:] * 1e3
    what = f"nistnet-80211, idle: {size:,} bytes, {direction}: median delay"
    note = f"transmission {takes:.3f} ms; p99 {np.percentile(seen, 99):.3f} ms of {len(seen)} frames"
    return [bounded(made_by, what, "ms", float(np.median(seen)), takes - _MEDIAN_MS, takes + _MEDIAN_MS, note)]


def quiet(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """With nothing else to do."""
    yield from _biases(network, made_by, 200 if quick else 800, "quiet machine", quick=quick)


def loaded(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """With a broker and its clients at work over another access point."""
    with trial():
        yield from _biases(network, made_by, 200 if quick else 600, "beside a trial", quick=quick)


def looped(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """With an endless loop on each processor."""
    with busy_loops():
        yield from _biases(network, made_by, 200 if quick else 600, "beside busy processors", quick=True)


def awake(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """What the kernel is asked of its processors' sleep (us) before, during and after a link is there."""
    del quick
    yield partial(_awake, network, made_by)


def _awake(network: Network, made_by: MediumName) -> list[Line]:
    before = _asked_us()
    with applied(network, made_by=made_by, rate=1e6):
        during = _asked_us()
    after = _asked_us()
    return [
        bounded(made_by, "asked of processors' wake-up while the link is there", "us", during, 0, 0,
                f"before {before:g}, after {after:g}"),
        bounded(made_by, "the same afterwards, less what it was before", "us", after - before, 0, 0),
    ]  # fmt: skip


def halting(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """How late a sleeper of the line's class wakes, with its processor left to itself and kept from halting."""
    del network, made_by
    for kept in (False, True):
        yield partial(_halting, 1000 if quick else 4000, kept)


def _halting(sleeps: int, kept: bool) -> list[Line]:
    before = os.sched_getscheduler(0)
    with idlepoll.beside(os.getpid()) if kept else nullcontext():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            late_ms = np.array([_slept_late_s(0.001) for _ in range(sleeps)]) * 1e3
        finally:
            os.sched_setscheduler(0, before, os.sched_param(0))
    what = f"a sleeper's lateness, its processor {'kept from halting' if kept else 'left to itself'}: p99.9"
    note = f"median {np.median(late_ms):.3f}, p99 {np.percentile(late_ms, 99):.3f}, latest {late_ms.max():.2f} ms"
    return [told(what, "ms", float(np.percentile(late_ms, 99.9)), note)]


def _slept_late_s(pause_s: float) -> float:
    due = time.monotonic() + pause_s
    time.sleep(pause_s)
    return time.monotonic() - due


def _asked_us() -> float:
    with _LATENCY.open("rb") as file:
        return float(struct.unpack("i", file.read(4))[0])


MEASURES = (
    Measure(name="bare", ways=("line",), run=bare),
    Measure(name="awake", ways=("line", "tc"), run=awake),
    Measure(name="halting", ways=("line",), run=halting),
    Measure(name="study", ways=("line", "tc", "lab"), run=study),
    Measure(name="bias", ways=("line", "tc", "lab"), run=quiet),
    Measure(name="bias-beside-trial", ways=("line", "tc"), run=loaded),
    Measure(name="bias-beside-loops", ways=("line", "tc"), run=looped),
)
