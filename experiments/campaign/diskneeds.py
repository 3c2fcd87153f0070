"""How much disk a campaign may need, before it runs.  Pure, but for reading what finished trials have left."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from emulation.profile.profile import LinkProfile
from experiments.scenario import placement
from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import Settings
from experiments.trial.capturing import snap_and_points, why_not_kept
from experiments.trial.observers.diskspace import Space
from records.manifest import CapturePoint
from records.messaging import Delivery
from records.store import DamagedTrial, Trial
from records.workload import Command, Messages
from topologies.plan import TopologyPlan
from topologies.routes import Hop, Routes

# Messages published and delivered per second that a broker gets through, at most: README's default experiment has
# 20,800 and, with durable persistent ones, 7,300 on two cores.  A faster machine needs more room on fast links.
_HANDLED_PER_S = {Delivery.NONPERSISTENT: 20_000.0, Delivery.PERSISTENT: 8_000.0}
# Around a body: STOMP's headers (213 to 234 bytes in the default experiment, OpenWire's 210 to 280); an answer; and
# of each packet Ethernet, IPv4, TCP with timestamps, and a record's own head in a capture.
_HEADERS, _ANSWER, _PACKET, _RECORD = 230, 150, 66, 16
_SEGMENT = 1448
_ROW_BYTES = 20  # of a ledger, compressed
_DRAINS_S = 2.0
_UNLIMITED_BIT_S = 1e9  # what a program may get through a link without a rate
_LOGS, _JOURNAL = 500_000, 40_000_000  # of each trial; ActiveMQ's journal, while it runs
_UNSURE = 2.0  # by what factor an estimate may be too high
_REPORT, _PAGES = 20_000_000, 300_000  # of a campaign, and of each trial in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Bytes that a trial writes: captures, and everything else."""

    captures: float
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A trial that is to run.  beside: how many like it run at the same time, itself included."""

    settings: Settings
    trial: int
    size: Size
    beside: int = 1

    @property
    def stays(self) -> float:
        """Bytes that are there when it has ended."""
        capture = self.settings.capture
        if not why_not_kept(capture, trial=self.trial, sizes=[round(self.size.captures)]):
            return self.size.rest + self.size.captures
        # An estimate a little above the bound says nothing: the trial's captures may be below it, and stay.
        may_stay = capture.keep_mb is not None and not (self.trial - 1) % capture.keep_every
        bound = (capture.keep_mb or 0.0) * 1e6
        return self.size.rest + (bound if may_stay and self.size.captures < _UNSURE * bound else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Bytes: of captures that stay, of everything together, what is written and removed again included."""

    trials: int
    captures: float
    bytes: float


def needed(parts: Sequence[Part]) -> Need:
    """What these trials, and a report on them, may need together."""
    stays = sum(part.stays for part in parts)
    passing = max(
        (part.beside * (part.size.captures + part.size.rest - part.stays + _JOURNAL) for part in parts), default=0.0
    )
    return Need(
        trials=len(parts),
        captures=sum(part.stays - part.size.rest for part in parts),
        bytes=stays + passing + _REPORT + _PAGES * len(parts),
    )


def seen(finished: Iterable[Trial]) -> Size | None:
    """The most that finished trials of a cell have written, None when there is none; what a pack left out counts."""
    found = []
    for trial in finished:
        with suppress(DamagedTrial, OSError):
            captures = sum(one.bytes for one in trial.manifest().captures)
            files = [path for path in trial.path.rglob("*") if path.is_file() and path.suffix != ".pcap"]
            away = sum(one.bytes for one in trial.elsewhere() if not one.file.endswith(".pcap"))
            found.append(Size(captures=captures, rest=away + sum(path.stat().st_size for path in files)))
    if not found:
        return None
    return Size(captures=max(one.captures for one in found), rest=max(one.rest for one in found))


def expected(settings: Settings, profile: LinkProfile, links: Mapping[str, LinkProfile]) -> Size:
    """What a trial may write that nobody has run: what its link, schedule or processor lets through, recorded.

    links: the profiles of the topology's own links.
    """
    work = settings.workload
    seconds = settings.window.warmup_s + settings.window.window_s + min(settings.window.drain_s, _DRAINS_S)
    rates = [_total_rate(profile, settings.stations), *(_total_rate(one, 1) for one in links.values())]
    highest = None if None in rates else max(rate for rate in rates if rate is not None)
    snap, points = snap_and_points(settings.capture, highest, settings.stations)
    if isinstance(work, Command):
        # Full frames all the time, as fast as the link lets them, each with an acknowledgement for two of them.
        # They may go on through the whole drain.
        seconds = settings.window.window_s + settings.window.drain_s
        way, frames_per_s = _Frames.of(_SEGMENT - _HEADERS), (highest or _UNLIMITED_BIT_S) / 8 / (_SEGMENT + _PACKET)
        return Size(captures=frames_per_s * seconds * _ports(settings, points) * way.recorded(snap), rest=_LOGS)
    mix = _Mix.of(work)
    per_s = _publications_per_s(work, settings.stations, profile, mix, seconds)
    answer = 0 if work.replies else _RECORD + min(_PACKET + _ANSWER, snap)
    recorded = _ports(settings, points) * (mix.ways * mix.recorded(snap) + answer)
    return Size(
        captures=per_s * seconds * recorded,
        rest=_LOGS + per_s * seconds * mix.ways * _ROW_BYTES,
    )


def _ports(settings: Settings, points: Collection[CapturePoint]) -> float:
    """How many of the ports that are recorded a packet between a client and a service passes, on average."""
    plan = topology_plan(settings)
    routes, ways = Routes(plan), placement.ways(settings, plan)
    passed = [len(_passed(plan, hop, points)) for way in ways for hop in routes.hops(*way)]
    return sum(passed) / len(ways) if ways else len(points)


def _passed(plan: TopologyPlan, hop: Hop, points: Collection[CapturePoint]) -> list[CapturePoint]:
    """The recorded ports of a hop: of an access point that it passes, and of the nodes behind them."""
    segment = plan.segment(hop.segment)
    if segment.profile is None:
        return []
    found: list[CapturePoint] = []
    for host in (hop.sender, hop.receiver):
        if host in segment.stations:
            found += ["station", "client"] if plan.role(host) == "station" else ["station"]
        else:
            found += ["wired", "server"] if plan.role(host) == "server" else ["wired"]
    return [point for point in found if point in points]


@dataclass(frozen=True, slots=True)
class _Frames:
    """A message's way over one port: packets with payload, their bytes at layer 2, and acknowledgements."""

    segments: int
    bytes: float
    acks: float

    @staticmethod
    def of(body_bytes: float) -> _Frames:
        payload = body_bytes + _HEADERS
        segments = math.ceil(payload / _SEGMENT)
        return _Frames(segments, payload + segments * _PACKET, segments / 2)

    def recorded(self, snap: int) -> float:
        """Bytes in a capture that keeps `snap` of each packet."""
        each = min(self.bytes / self.segments, snap)
        return self.segments * (_RECORD + each) + self.acks * (_RECORD + min(_PACKET, snap))

    def busy_s(self, rate: float, overhead: float) -> float:
        """Seconds that the way there takes on a medium; acknowledgements go the other way."""
        return self.bytes * 8 / rate + self.segments * overhead


@dataclass(frozen=True, slots=True)
class _Mix:
    """The messages of a load: how often each passes between a client and a service, and its way there on average.

    fanout: how many receive it.  each: share of the messages, and the way of one of that size.
    """

    fanout: float
    ways: float
    each: tuple[tuple[float, _Frames], ...]

    @classmethod
    def of(cls, work: Messages) -> _Mix:
        """A reply is a message of its request's size, and takes the same way back."""
        fanout = work.deliveries_per_message
        each = tuple((share, _Frames.of(size)) for size, share in work.sizes.items())
        return cls(fanout, (1 + fanout) * (2 if work.replies else 1), each)

    def recorded(self, snap: int) -> float:
        return sum(share * frames.recorded(snap) for share, frames in self.each)

    def busy_s(self, rate: float, overhead: float) -> float:
        return sum(share * frames.busy_s(rate, overhead) for share, frames in self.each)


def _scheduled_per_s(work: Messages, seconds: float) -> float | None:
    """What a producer's schedule has at most, on average over so long; None in a closed loop."""
    rate, bursts = work.highest_rate, work.bursts
    if rate is None or bursts is None:
        return rate
    period_s: float = bursts.messages / rate + bursts.pause_s
    return min(rate, math.ceil(seconds / period_s) * bursts.messages / seconds)


def _publications_per_s(work: Messages, stations: int, profile: LinkProfile, mix: _Mix, seconds: float) -> float:
    up, down = profile.uplink, profile.downlink
    producers, consumers = len(work.clients.producers(stations)), len(work.clients.consumers(stations))
    bounds = [_HANDLED_PER_S[work.guarantee.delivery] / mix.ways]
    if (rate := _scheduled_per_s(work, seconds)) is not None:
        bounds.append(producers * rate)
    elif up.delay + down.delay:
        bounds.append(producers * work.in_flight / (up.delay + down.delay))
    if up.rate is not None and profile.medium == "shared":
        bounds.append(1 / (mix.ways * mix.busy_s(up.rate, up.frame_overhead)))
    else:
        if up.rate is not None:
            ports = min(producers, stations)
            bounds.append(ports / mix.busy_s(up.rate, up.frame_overhead))
        if down.rate is not None and mix.fanout:
            ports = min(consumers, stations)
            bounds.append(ports / (mix.fanout * mix.busy_s(down.rate, down.frame_overhead)))
    return min(bounds)


def _total_rate(profile: LinkProfile, stations: int) -> float | None:
    rates = (profile.uplink.rate, profile.downlink.rate)
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    return max(known) * (1 if profile.medium == "shared" else stations)


def free_bytes(place: Path) -> int | None:
    """What is free where a folder is, or will be; None when the file system does not say."""
    while not place.exists() and place != place.parent:
        place = place.parent
    space = Space(place)
    space.look()
    return space.least_bytes
