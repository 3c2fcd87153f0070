"""A link profile as stages, and the kernel feature that each stage needs.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from emulation.loss import DIRECTIONS, Direction
from emulation.profile import LinkProfile


class Feature(StrEnum):
    """Kernel features that stages need."""

    NAMESPACES = "namespaces"
    VETH = "veth"
    BRIDGE = "bridge"
    IFB = "ifb"
    REDIRECT = "redirect"
    TBF = "tbf"
    NFT_BRIDGE = "nft_bridge"
    NETEM = "netem"


CURE: dict[Feature, str] = {
    Feature.NAMESPACES: "run as root on a kernel with CONFIG_NET_NS",
    Feature.VETH: "load module veth (package linux-modules-extra or linux-image-amd64)",
    Feature.BRIDGE: "load module bridge (package linux-modules-extra or linux-image-amd64)",
    Feature.IFB: "load module ifb (package linux-modules-extra or linux-image-amd64)",
    Feature.REDIRECT: "load modules cls_u32, act_mirred and sch_ingress (package linux-modules-extra)",
    Feature.TBF: "load module sch_tbf (package linux-modules-extra or linux-image-amd64)",
    Feature.NFT_BRIDGE: "install package nftables, and load modules nf_tables and nft_numgen",
    Feature.NETEM: "load module sch_netem (package linux-modules-extra, or a kernel with CONFIG_NET_SCH_NETEM)",
}
ACCESS_POINT = frozenset({Feature.NAMESPACES, Feature.VETH, Feature.BRIDGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """kind: rate, loss or delay.  needs: features without which the kernel cannot do it."""

    kind: str
    direction: Direction
    needs: frozenset[Feature]


def stages(profile: LinkProfile) -> tuple[Stage, ...]:
    """What has to be done to packets, per direction, in the order in which an uplink packet meets it."""
    found = []
    for direction in DIRECTIONS:
        side = getattr(profile, direction)
        if side.rate is not None:
            needs = frozenset({Feature.TBF, Feature.IFB, Feature.REDIRECT})
            found.append(Stage(kind="rate", direction=direction, needs=needs))
        if side.loss:
            found.append(Stage(kind="loss", direction=direction, needs=frozenset({Feature.NFT_BRIDGE})))
        if side.delay:
            found.append(Stage(kind="delay", direction=direction, needs=frozenset({Feature.NETEM})))
    return tuple(found)


def needed(profile: LinkProfile) -> dict[Feature, str]:
    """Every feature the profile needs, with what needs it.  Loss is counted by nftables even where it is zero."""
    wanted = dict.fromkeys(ACCESS_POINT | {Feature.NFT_BRIDGE}, "the access point")
    for stage in stages(profile):
        wanted |= {feature: f"{stage.direction} {stage.kind}" for feature in stage.needs if feature not in wanted}
    return wanted
