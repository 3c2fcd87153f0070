"""How long clients may take to connect over a link: from its rate, delay and loss, and how many they are.  Pure."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter

from emulation.kernel.kernel import KernelName
from emulation.profile import distribution
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.lossmodel import GilbertElliott
from emulation.profile.profile import LinkProfile, Sides
from experiments.load.connecting import PARALLEL
from experiments.scenario import placement
from experiments.scenario.segments import load_paths, profile_of, topology_plan
from experiments.scenario.settings import Settings
from experiments.trial.plan import workload
from records.workload import Command
from stacks.driver import Tls


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What a client exchanges until it has subscribed.  frames, bytes: each way, at most."""

    round_trips: int
    frames: int
    bytes: int


# TCP's handshake, then two requests and answers over STOMP or with the reference broker, three over OpenWire, which has
# the most frames and bytes.
CLEAR = Talk(round_trips=4, frames=10, bytes=2_000)
# TLS's handshake before the requests: RFC 8446, section 2, and RFC 5246, section 7.3.  Our certificates have 460 bytes.
TALKS: dict[Tls, Talk] = {
    "off": CLEAR,
    "1.2": Talk(round_trips=CLEAR.round_trips + 2, frames=CLEAR.frames + 5, bytes=CLEAR.bytes + 2_000),
    "1.3": Talk(round_trips=CLEAR.round_trips + 1, frames=CLEAR.frames + 5, bytes=CLEAR.bytes + 2_000),
}
# TCP sends a first packet again after a second, and doubles that with each copy that is lost (RFC 6298, 2.1 and 5.5);
# after six copies (tcp_syn_retries) it gives up by itself.
_FIRST_RTO_S, _MOST_COPIES = 1.0, 6
_MOST_LOSS = 0.99
_UNLUCKY = 1e-4  # how often more copies of one packet are lost, on a link that is sound
_MARGIN = 2.0
_MOST_QUIET_S = 15.0  # four copies of a packet: what goes on for longer is a provider that talks of itself
# What the provider and this machine may take, however fast the link is: for one client, and for all of them.
_CLIENT_S, _ALL_S, _EACH_CLIENT_S = 60.0, 120.0, 0.1
_EACH_PROCESS_S: dict[KernelName, float] = {"host": 1.0, "lab": 5.0}  # starting a station's client


def servers_s(settings: Settings, *, limits: bool = True) -> float:
    """Seconds that servers that are programs take until all are ready: each begins when the one before is.

    limits: those included that only say how long it may take.
    """
    work = settings.workload
    if not isinstance(work, Command) or work.server is None:
        return 0.0
    each_s = work.server.ready_s or (work.server.limit_s if limits else 0.0)
    return each_s * len(topology_plan(settings).of_role("server"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectTime:
    """Seconds.  expected_s: for all clients, on the link alone.  client_s: limit of each.  all_s: limit of all.

    quiet_s: how long the link may go on carrying something after the last one.
    """

    expected_s: float
    client_s: float
    all_s: float
    quiet_s: float

    def __add__(self, other: ConnectTime) -> ConnectTime:
        """Over one link behind another."""
        return ConnectTime(
            expected_s=self.expected_s + other.expected_s,
            client_s=self.client_s + other.client_s,
            all_s=self.all_s + other.all_s,
            quiet_s=self.quiet_s + other.quiet_s,
        )


def connect_time(settings: Settings, profile: LinkProfile, *, kernel: KernelName) -> ConnectTime:
    """Times of a trial with these settings on this link.  ValueError as LinkProfile.groups."""
    names = [f"sta{number}" for number in range(1, settings.stations + 1)]
    profile.groups(names)
    work = workload(settings, names)
    clients = Counter([*(one.node for one in work.producers), *(one.node for one in work.consumers)])
    talk = max((TALKS[one.tls] for one in settings.driver().services()), key=attrgetter("round_trips"), default=CLEAR)
    own = _ALL_S + _EACH_CLIENT_S * clients.total() + _EACH_PROCESS_S[kernel] * len(clients)
    if settings.connect == "bare" or not clients:
        return ConnectTime(expected_s=0.0, client_s=_CLIENT_S, all_s=own, quiet_s=_FIRST_RTO_S)
    sides = {name: profile.stations.get(name, profile.sides()) for name in clients}
    worst = max(_backoff_s(one, clients.total() * talk.round_trips) for one in sides.values())
    in_turn = max(math.ceil(clients[name] / PARALLEL) * _alone_s(sides[name], talk) for name in clients)
    expected = in_turn + _air_s(profile, sides, clients, talk)
    one = max(map(_loaded_s, sides.values()))
    slowest = _MARGIN * talk.round_trips * one + worst
    return ConnectTime(
        expected_s=expected,
        client_s=_CLIENT_S + slowest,
        all_s=own + _MARGIN * expected + slowest,
        quiet_s=_FIRST_RTO_S + _MARGIN * one + min(worst, _MOST_QUIET_S),
    )


def _both(sides: Sides) -> tuple[DirectionProfile, DirectionProfile]:
    return sides.uplink, sides.downlink


def _loss(sides: Sides) -> float:
    """Chance that a packet or its answer is lost."""
    arrive = math.prod(1 - one.loss_share for one in _both(sides))
    return min(1 - arrive, _MOST_LOSS)


def _alone_s(sides: Sides, talk: Talk) -> float:
    """What one client takes on an idle link, copies of lost packets included, on average."""
    rtt = sum(one.delay + one.airtime(talk.bytes // talk.round_trips) for one in _both(sides))
    again = _loss(sides) / (1 - _loss(sides))
    return talk.round_trips * (rtt + again * (_FIRST_RTO_S + rtt))


def _loaded_s(sides: Sides) -> float:
    """A round trip when both queues are full and both delays the longest."""
    return sum(
        distribution.longest(one) + one.airtime(FULL_FRAME) * (one.queue_limit_bytes / FULL_FRAME + 1)
        for one in _both(sides)
    )


def _backoff_s(sides: Sides, packets: int) -> float:
    """How long TCP waits when as many copies of a packet are lost as happens to one of so many now and then."""
    first = _loss(sides)
    if not first:
        return 0.0
    again = min(max(first, *(_in_a_burst(one) for one in _both(sides))), _MOST_LOSS)
    copies = math.ceil(math.log(_UNLUCKY / packets) / math.log(again))
    return float(_FIRST_RTO_S * (2 ** min(copies, _MOST_COPIES + 1) - 1))


def _in_a_burst(side: DirectionProfile) -> float:
    """Chance that the packet after a lost one is lost as well."""
    model = side.loss
    if isinstance(model, GilbertElliott):
        return (1 - model.r) * model.loss_bad + model.r * model.loss_good
    return side.loss_share


def _air_s(profile: LinkProfile, sides: dict[str, Sides], clients: Counter[str], talk: Talk) -> float:
    """For how long the clients' frames occupy the medium; on a duplex one, the busiest direction of a station."""

    def each(one: DirectionProfile) -> float:
        return 0.0 if one.rate is None else talk.bytes * 8 / one.rate + talk.frames * one.frame_overhead

    taken: Sequence[list[float]] = [[clients[name] * each(one) for one in _both(sides[name])] for name in clients]
    return sum(map(sum, taken)) if profile.medium == "shared" else max(map(max, taken))


def connect_time_of(
    settings: Settings, network: LinkProfile, links: Mapping[str, LinkProfile], *, kernel: KernelName
) -> ConnectTime:
    """How long clients may take to connect: the sum over the segments of the longest path.

    UnknownStackError as stacks.registry.get.
    """
    own = connect_time(settings, network, kernel=kernel)
    plan = topology_plan(settings)
    if placement.between_stations(settings) and plan.emulated[0].via == "access-point":
        return own + own  # up and down again
    if len(plan.emulated) == 1:
        return own
    longest = max((path for _, _, path in load_paths(plan)), key=len)
    profiles = [profile_of(plan.segment(one.segment), network, links, settings.network) for one in longest[1:]]
    return reduce(operator.add, (connect_time(settings, one, kernel=kernel) for one in profiles), own)
