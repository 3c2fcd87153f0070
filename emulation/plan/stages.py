"""A link profile as stages, and the kernel feature that each stage needs.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from emulation.profile import distribution, timeline
from emulation.profile.direction import DirectionProfile
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from records.directions import DIRECTIONS, Direction


class Feature(StrEnum):
    """Kernel features that stages need."""

    NAMESPACES = "namespaces"
    VETH = "veth"
    BRIDGE = "bridge"
    IFB = "ifb"
    REDIRECT = "redirect"
    HTB = "htb"
    NFT_BRIDGE = "nft_bridge"
    NETEM = "netem"
    HOOKS = "port hooks"
    TUN = "tun"
    REALTIME = "real-time class"


CURE: dict[Feature, str] = {
    Feature.NAMESPACES: "run as root on a kernel with CONFIG_NET_NS",
    Feature.VETH: "load module veth (package linux-modules-extra or linux-image-amd64)",
    Feature.BRIDGE: "load module bridge (package linux-modules-extra or linux-image-amd64)",
    Feature.IFB: "load module ifb (package linux-modules-extra or linux-image-amd64)",
    Feature.REDIRECT: "load modules cls_u32, act_mirred and sch_ingress (package linux-modules-extra)",
    Feature.HTB: "load module sch_htb (package linux-modules-extra or linux-image-amd64)",
    Feature.NFT_BRIDGE: "install packages nftables and python3-nftables, and load modules nf_tables and nft_numgen",
    Feature.NETEM: "load module sch_netem (package linux-modules-extra, or a kernel with CONFIG_NET_SCH_NETEM)",
    Feature.HOOKS: "load modules cls_u32, act_mirred and sch_ingress (package linux-modules-extra)",
    Feature.TUN: "load module tun (modprobe tun), let this container have /dev/net/tun, or use --medium tc",
    Feature.REALTIME: "allow SCHED_FIFO (CAP_SYS_NICE, cpu.rt_runtime_us of the control group), or use --medium tc",
}
ACCESS_POINT = frozenset({Feature.NAMESPACES, Feature.VETH, Feature.BRIDGE})
# Whatever a profile asks, as the line does all of it by itself: frames are redirected to it and back.
LINE = frozenset({Feature.HOOKS, Feature.TUN, Feature.REALTIME})


GROUP_FRAMES = (
    "frames to a group: by tc one that takes a shared medium once cannot be made into one for each receiver, with "
    "losses of its own: use medium line"
)
_RATE = frozenset({Feature.HTB, Feature.IFB, Feature.REDIRECT})
_LATE = ("delay", "jitter", "reorder", "duplicate", "corrupt")
_MOST_UNITS = 8  # a distribution's unit is fewer times its jitter: below, nobody need work out which
_NETEM_JITTER = (2**31 - 1) / 1e9  # seconds: nanoseconds in an s32 (Linux, net/sched/sch_netem.c, tabledist)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """kind: rate, loss, outage, trace or one of netem's.  needs: features without which the kernel cannot do it."""

    kind: str
    direction: Direction
    needs: frozenset[Feature]


def stages(profile: LinkProfile) -> tuple[Stage, ...]:
    """What is done to packets at any time, per direction, in the order in which an uplink packet meets it."""
    states = timeline.all_states(profile)
    found = []
    for direction in DIRECTIONS:
        sides = {getattr(both, direction) for state in states for both in state.sides}
        kinds = {"rate": _RATE} if any(side.rate is not None for side in sides) else {}
        if any(event.trace for event in profile.timeline):
            kinds["trace"] = _RATE
        if any(side.loss for side in sides):
            kinds["loss"] = frozenset({Feature.NFT_BRIDGE})
        if any(state.dark or state.out for state in states):
            kinds["outage"] = frozenset({Feature.NFT_BRIDGE})
        for kind in _LATE:
            if any(getattr(side, kind) for side in sides):
                kinds[kind] = frozenset({Feature.NETEM})
        found += [Stage(kind=kind, direction=direction, needs=needs) for kind, needs in kinds.items()]
    return tuple(found)


def needed(profile: LinkProfile, medium: MediumName = "tc") -> dict[Feature, str]:
    """Every feature the profile needs of a kernel when that medium makes its link, with what needs it.

    With tc, loss is counted by nftables even where it is zero.
    """
    if medium == "line":
        return dict.fromkeys(ACCESS_POINT, "the access point") | dict.fromkeys(LINE, "the line")
    wanted = dict.fromkeys(ACCESS_POINT | {Feature.NFT_BRIDGE}, "the access point")
    for stage in stages(profile):
        wanted |= {feature: f"{stage.direction} {stage.kind}" for feature in stage.needs if feature not in wanted}
    return wanted


def top_rate(profile: LinkProfile) -> float:
    """The highest rate (bit/s) that the profile has at any time, 0 when it has none."""
    sides = [both for state in timeline.all_states(profile) for both in state.sides]
    rates = [getattr(both, way).rate or 0.0 for both in sides for way in DIRECTIONS]
    traces = [event.trace for event in profile.timeline if event.trace]
    return max([*rates, *(trace.top_rate for trace in traces)])


def needs_tc(profile: LinkProfile) -> str:
    """What of a profile the line cannot do, and the kernel's queueing disciplines can; '' when there is nothing."""
    return "burst_bytes (its air gives out no frame before it has been sent)" if timeline.bursts(profile) else ""


def needs_line(profile: LinkProfile, *, group_frames: bool = False, between: bool = False) -> str:
    """What of a profile the kernel's queueing disciplines cannot do, and the line can; '' when there is nothing.

    group_frames: see linkplan.plan.  between: whether stations send to each other.
    """
    if group_frames:
        return GROUP_FRAMES
    if between and profile.medium == "shared" and profile.stations:
        return (
            "stations with settings of their own that send to each other over a shared medium (a class of htb is told "
            "by addresses, whichever way a frame is going)"
        )
    if profile.turns != "arrival":
        return f"turns: {profile.turns} (htb takes turns between stations with settings of their own, by packets only)"
    if profile.station_rate == "phy" and any(
        len({(both.uplink.rate, both.uplink.frame_overhead) for both in state.sides}) > 1
        for state in timeline.all_states(profile)
    ):
        return "station_rate: phy (a class of htb takes what its frames cost at the medium's rate of it)"
    if (longest := max(map(_netem_jitter, _sides(profile)))) > _NETEM_JITTER:
        return f"a jitter of {longest:.3g} s (netem's ends at {_NETEM_JITTER:.3g} s; a heavy tail is part of it)"
    return ""


def _sides(profile: LinkProfile) -> Iterator[DirectionProfile]:
    for both in (both for state in timeline.all_states(profile) for both in state.sides):
        yield from (getattr(both, way) for way in DIRECTIONS)


def _netem_jitter(side: DirectionProfile) -> float:
    """What netem would be asked for, in seconds, where that can be too much."""
    return distribution.table(side)[0] if side.jitter > _NETEM_JITTER / _MOST_UNITS else 0.0
