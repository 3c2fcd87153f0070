"""How many frames a second the line carries, with nothing and with everything left to chance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from accuracy.bench import Line, applied, way

from emulation.line.lateness import Lateness
from emulation.line.link import LineLink
from emulation.profile.media import MediumName
from emulation.proof.probe import ProbePath
from line_bench.common import Device, Measure, Part, devices, dropped, line_process, processor_s, told
from topologies.network import Network

_RATE = 200e6  # of each direction: more than frames of 100 bytes use
_SIZE, _FULL = 100, 1400
_TOGETHER = 16
_EVERYTHING: dict[str, Any] = {
    "delay": 0.02, "jitter": 0.005, "jitter_distribution": "pareto", "duplicate": 0.02, "reorder": 0.02,
    "corrupt": 0.02, "keep_order": False, "loss": {"model": "gilbert-elliott", "p": 0.01, "r": 0.3, "loss_bad": 0.8},
}  # fmt: skip
_DELAYED = {"delay": 0.02}
_STEPS = (20e3, 30e3, 40e3, 50e3, 60e3, 70e3, 80e3, 100e3, 120e3)
_LOADS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("none drawn, 100 bytes", _SIZE, _DELAYED),
    ("all drawn, 100 bytes", _SIZE, _EVERYTHING),
    ("none drawn, 1400 bytes", _FULL, _DELAYED | {"rate": 1e9}),
)
_ASKED = 30e3
_SECONDS = 4.0
_LATE_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a load did: frames a second that were sent, devices' drops, lateness, the line's shares of a processor."""

    sent_per_s: float
    drops: int
    lateness: Lateness
    processor: np.ndarray

    @property
    def clean(self) -> bool:
        """Whether nothing was dropped and 99.9 % of frames were given out within a millisecond of their moment."""
        return not self.drops and self.lateness.quantile_s(0.999) < _LATE_S

    def __str__(self) -> str:
        late, worst = self.lateness, self.lateness.worst_ns / 1e6
        p50, p99, p999 = (late.quantile_s(share) * 1e3 for share in (0.5, 0.99, 0.999))
        return (f"{self.sent_per_s:,.0f}/s sent, {self.drops} dropped, late p50 {p50:.3f} p99 {p99:.3f} "
                f"p99.9 {p999:.3f} worst {worst:.2f} ms, "
                f"{self.processor.sum():.0%} of a core, {self.processor[1]:.0%} in the kernel")  # fmt: skip


def load(network: Network, frames_per_s: float, size: int, *, seconds: float = _SECONDS, **settings: Any) -> Run:
    """Send frames both ways at once, half of them each way, in bunches; nobody reads what arrives."""
    with (
        applied(network, made_by="line", **({"rate": _RATE} | settings)) as (_, link),
        way(network, "uplink") as up,
        way(network, "downlink", port=7008) as down,
    ):
        assert isinstance(link, LineLink)
        process = line_process()
        pour((up, down), 1000.0, size, 0.5)
        link.lateness()
        before, used, began = _counters(network), processor_s(process), time.monotonic()
        sent = pour((up, down), frames_per_s, size, seconds)
        lasted = time.monotonic() - began
        share = (processor_s(process) - used) / lasted
        time.sleep(0.3)
        return Run(sent_per_s=sent / lasted, drops=dropped(before, _counters(network)), lateness=link.lateness(),
                   processor=share)  # fmt: skip


def _counters(network: Network) -> dict[str, Device]:
    """The devices that frames wait at: those of the access point, the line's among them."""
    return devices(network.ports.pid)


def pour(paths: Sequence[ProbePath], frames_per_s: float, size: int, seconds: float) -> int:
    """Send bunches on all paths in turn; how many frames that were.  Who is late hurries, but not for ever."""
    start = due = time.monotonic()
    sent = turn = 0
    while due < start + seconds:
        pause = due - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        elif pause < -0.01:
            due = time.monotonic()
        paths[turn % len(paths)].emit(_TOGETHER, size)
        sent += _TOGETHER
        turn += 1
        due += _TOGETHER / frames_per_s
    return sent


def drawn(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """30,000 frames a second, of which everything is drawn that a profile can ask."""
    del made_by
    yield partial(_drawn, network, 1 if quick else 2 * _SECONDS)


def _drawn(network: Network, seconds: float) -> list[Line]:
    run = load(network, _ASKED, _SIZE, seconds=seconds, **_EVERYTHING)
    return [
        Line(what="30,000 frames a second, all drawn: dropped by a device", unit="", asked=0, delivered=run.drops,
             low=0, high=0, note=str(run)),
        Line(what="the same: lateness, 99.9 % within", unit="ms", asked=0,
             delivered=run.lateness.quantile_s(0.999) * 1e3, low=0, high=_LATE_S * 1e3),
        Line(what="the same: frames sent", unit="1/s", asked=_ASKED, delivered=run.sent_per_s, low=_ASKED * 0.99,
             high=None),
    ]  # fmt: skip


def ceiling(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """The highest load that is still clean in one of three times: what disturbs once is other work."""
    del made_by
    for what, size, settings in _LOADS:
        yield partial(_ceiling, network, what, size, settings, _STEPS[1:7:2] if quick else _STEPS)


def _ceiling(
    network: Network, what: str, size: int, settings: dict[str, Any], steps: Sequence[float]
) -> Iterator[Line]:
    best, note = 0.0, ""
    for wanted in steps:
        for _ in range(3):
            run = load(network, wanted, size, seconds=2, **settings)
            if run.clean and run.sent_per_s > 0.97 * wanted:
                best, note = wanted, str(run)
                break
        else:
            note += f"; at {wanted:,.0f}: {run}"
            break
    yield told(f"highest clean load, {what}", "1/s", best, note)


MEASURES = (
    Measure(name="drawn", ways=("line",), run=drawn),
    Measure(name="ceiling", ways=("line",), run=ceiling),
)
