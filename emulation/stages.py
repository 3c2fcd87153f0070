"""A link profile as stages, and the kernel feature that each stage needs.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from emulation import timeline
from emulation.loss import DIRECTIONS, Direction
from emulation.profile import LinkProfile


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


CURE: dict[Feature, str] = {
    Feature.NAMESPACES: "run as root on a kernel with CONFIG_NET_NS",
    Feature.VETH: "load module veth (package linux-modules-extra or linux-image-amd64)",
    Feature.BRIDGE: "load module bridge (package linux-modules-extra or linux-image-amd64)",
    Feature.IFB: "load module ifb (package linux-modules-extra or linux-image-amd64)",
    Feature.REDIRECT: "load modules cls_u32, act_mirred and sch_ingress (package linux-modules-extra)",
    Feature.HTB: "load module sch_htb (package linux-modules-extra or linux-image-amd64)",
    Feature.NFT_BRIDGE: "install package nftables, and load modules nf_tables and nft_numgen",
    Feature.NETEM: "load module sch_netem (package linux-modules-extra, or a kernel with CONFIG_NET_SCH_NETEM)",
}
ACCESS_POINT = frozenset({Feature.NAMESPACES, Feature.VETH, Feature.BRIDGE})


_RATE = frozenset({Feature.HTB, Feature.IFB, Feature.REDIRECT})
_LATE = ("delay", "jitter", "reorder", "duplicate", "corrupt")


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


def needed(profile: LinkProfile) -> dict[Feature, str]:
    """Every feature the profile needs, with what needs it.  Loss is counted by nftables even where it is zero."""
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
