"""Rates: of a burst, with frame overhead, both ways, shared, and of stations with a rate of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from accuracy.bench import Line, Measure, applied, flood, rate_between, way, within
from accuracy.tcp import PORT, Flow, run
from emulation.kernel import kernel
from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.proof.probe import MIN_FRAME
from topologies.network import Network

HOST_RATES = (100e3, 300e3, 1e6, 2e6, 5.5e6, 11e6, 24e6, 54e6, 100e6)
LAB_RATES = (100e3, 300e3, 1e6, 2e6, 5.5e6, 11e6, 24e6, 50e6)
CEILING_RATES = (60e6, 80e6, 100e6, 150e6, 200e6, 250e6, 300e6, 400e6, 600e6)
_WITHIN = 0.01


def burst_rate(network: Network, rate: float, direction: str, *, seconds: float) -> float:
    """Bit/s of a burst that waited in the queue, after what passes at once."""
    frames = max(int(rate * seconds / 8 / FULL_FRAME), 30)
    with (
        applied(network, rate=rate, queue_bytes=max(2 * frames * FULL_FRAME, 10_000)),
        way(network, direction, silence_s=1 + 3 * FULL_FRAME * 8 / rate) as path,
    ):
        arrivals = path.send([FULL_FRAME] * frames)
    skip = kernel.burst_bytes(rate) // FULL_FRAME + 1
    times = arrivals.received_ns[skip:]
    if len(times) < 2:
        return 0.0
    return (len(times) - 1) * FULL_FRAME * 8 / (int(times[-1] - times[0]) / 1e9)


def rates(network: Network, quick: bool) -> Iterator[Line]:
    """A burst of full frames, each way."""
    chosen = HOST_RATES if kernel.current() == "host" else LAB_RATES
    for rate in chosen[::2] if quick else chosen:
        for direction in ("uplink", "downlink"):
            found = burst_rate(network, rate, direction, seconds=1 if quick else 2)
            yield within(f"rate {rate / 1e6:g} Mbit/s, {direction}", "Mbit/s", rate / 1e6, found / 1e6, _WITHIN)


def ceiling(network: Network, quick: bool) -> Iterator[Line]:
    """The highest rate that the lab kernel still shapes within one per cent, both ways; reported only."""
    best = LAB_RATES[-1]
    for rate in CEILING_RATES[::3] if quick else CEILING_RATES:
        found = [
            [burst_rate(network, rate, direction, seconds=1) for _ in range(2)] for direction in ("uplink", "downlink")
        ]
        if any(all(abs(one / rate - 1) > _WITHIN for one in runs) for runs in found):
            break
        best = rate
    yield Line(what="highest rate within 1 %", unit="Mbit/s", asked=None, delivered=best / 1e6, low=50, high=None)


def overhead(network: Network, quick: bool) -> Iterator[Line]:
    """802.11b at 11 Mbit/s: what full and small frames reach, against the formula of the profile."""
    del quick
    side = library.load("80211b-11m").downlink
    for name, frame, frames in (("full frames", FULL_FRAME, 1500), ("58-byte frames", MIN_FRAME, 3000)):
        expected = frame * 8 / side.airtime(frame)
        with (
            applied(network, medium="shared", rate=side.rate, frame_overhead=side.frame_overhead, queue_bytes=10**7),
            way(network, "downlink") as path,
        ):
            times = path.send([frame] * frames).received_ns[4:]
        found = (len(times) - 1) * frame * 8 / (int(times[-1] - times[0]) / 1e9)
        yield within(f"802.11b at 11 Mbit/s, {name}", "Mbit/s", expected / 1e6, found / 1e6, _WITHIN)


def asymmetric(network: Network, quick: bool) -> Iterator[Line]:
    """2 Mbit/s up and 20 down, both full at the same time."""
    seconds, asked = (3 if quick else 6), {"uplink": 2e6, "downlink": 20e6}
    with (
        applied(network, queue_time=0.1, **{name: {"rate": rate} for name, rate in asked.items()}),
        way(network, "uplink") as up,
        way(network, "downlink") as down,
    ):
        paths = (up, down)
        began = flood(paths, rates=[1.3 * rate for rate in asked.values()], seconds=seconds)
        for path, (name, rate) in zip(paths, asked.items(), strict=True):
            found = rate_between(path.collect(path.sent), began, 0.5, seconds)
            yield within(f"2 up and 20 down at once, {name}", "Mbit/s", rate / 1e6, found / 1e6, _WITHIN)


def shared(network: Network, quick: bool) -> Iterator[Line]:
    """Two greedy flows on one medium: UDP both ways and between stations, TCP both ways."""
    rate, seconds = 4e6, (4 if quick else 10)
    for what, first, second in (
        ("up against down, one station", ("uplink", 0), ("downlink", 0)),
        ("two stations up", ("uplink", 0), ("uplink", 1)),
        ("two stations down", ("downlink", 0), ("downlink", 1)),
    ):
        found = _two_floods(network, rate, (first, second), seconds=seconds, even=False)
        yield within(f"shared, UDP {what}: first flow's share", "", 0.5, found[0] / sum(found), 0.05)
        yield within(f"shared, UDP {what}: both", "Mbit/s", rate / 1e6, sum(found) / 1e6, _WITHIN)
    found = _two_floods(network, rate, (("uplink", 0), ("downlink", 0)), seconds=seconds, even=True)
    yield Line(what="shared, UDP in lockstep: first flow's share", unit="", asked=None, delivered=found[0] / sum(found),
               low=None, high=None, note="one queue: by who comes just before whom")  # fmt: skip
    with applied(network, medium="shared", rate=rate, queue_bytes=60_000):
        station, server = network.stations[0], network.servers[0]
        flows = [Flow(station, server, PORT), Flow(server, station, PORT + 1)]
        carried = run(flows, warm_s=1, seconds=seconds)
    both = sum(carried)
    yield Line(what="shared, TCP up against down: first flow's share", unit="", asked=0.5,
               delivered=carried[0] / both, low=None, high=None,
               note=f"{both / 1e6:.2f} Mbit/s of payload")  # fmt: skip


def _two_floods(
    network: Network, rate: float, ways: Sequence[tuple[str, int]], *, seconds: float, even: bool
) -> list[float]:
    """Bit/s that two equal greedy flows get on a shared medium."""
    (first, one_station), (second, other_station) = ways
    with (
        applied(network, medium="shared", rate=rate, queue_bytes=60_000),
        way(network, first, station=one_station) as one,
        way(network, second, station=other_station, port=7008) as other,
    ):
        paths = (one, other)
        began = flood(paths, rates=[0.75 * rate] * 2, seconds=seconds, even=even)
        return [rate_between(path.collect(path.sent), began, 1, seconds) for path in paths]


def own_rates(network: Network, quick: bool) -> Iterator[Line]:
    """A station limited to 1 Mbit/s on a shared medium of 10, beside one that is not; both greedy."""
    seconds = 3 if quick else 6
    settings = {"medium": "shared", "rate": 10e6, "queue_bytes": 60_000, "stations": {"sta1": {"rate": 1e6}}}
    for direction in ("uplink", "downlink"):
        with (
            applied(network, **settings),
            way(network, direction, station=0) as slow,
            way(network, direction, station=1, port=7008) as fast,
        ):
            paths = (slow, fast)
            began = flood(paths, rates=(3e6, 12e6), seconds=seconds)
            found = [rate_between(path.collect(path.sent), began, 1, seconds) for path in paths]
        yield within(f"station of 1 on a medium of 10, {direction}", "Mbit/s", 1, found[0] / 1e6, _WITHIN)
        yield within(f"the medium of 10 with it, {direction}", "Mbit/s", 10, sum(found) / 1e6, _WITHIN)


MEASURES = (
    Measure(name="rate", kernels=("host", "lab"), run=rates),
    Measure(name="ceiling", kernels=("lab",), run=ceiling),
    Measure(name="overhead", kernels=("host", "lab"), run=overhead),
    Measure(name="asymmetric", kernels=("host", "lab"), run=asymmetric),
    Measure(name="shared", kernels=("host", "lab"), run=shared),
    Measure(name="own-rates", kernels=("host", "lab"), run=own_rates),
)
