"""What this kernel can do, found out by trying it in a throwaway network namespace."""

from __future__ import annotations

import os
from collections.abc import Callable

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.namespace import KernelError, in_namespace, run_tool, throwaway_namespace
from emulation.profile import LinkProfile
from emulation.shaper import redirect
from emulation.stages import CURE, Feature, needed


class MissingFeature(Exception):
    """This kernel cannot do what a profile needs."""


def probe() -> dict[Feature, str]:
    """Try every feature.  Value: '' when it works, else the kernel's answer."""
    if os.geteuid():
        return dict.fromkeys(Feature, "not root")
    try:
        with throwaway_namespace() as pid:
            answers = {Feature.NAMESPACES: ""}
            for feature, attempt in _ATTEMPTS.items():
                answers[feature] = _try(pid, attempt)
            answers[Feature.NFT_BRIDGE] = _try_nft(pid)
            return answers
    except KernelError as error:
        return dict.fromkeys(Feature, str(error))


def require(profile: LinkProfile, available: dict[Feature, str]) -> None:
    """MissingFeature when the profile needs what `available` (from `probe`) says does not work."""
    for feature, needed_by in needed(profile).items():
        if answer := available[feature]:
            raise MissingFeature(
                f"this kernel ({os.uname().release}) has no {feature}, which profile {profile.name!r} needs for "
                f"{needed_by} ({answer}): {CURE[feature]}"
            )


def _try(pid: int, attempt: Callable[[IPRoute], None]) -> str:
    def work() -> str:
        with IPRoute() as ip:
            try:
                attempt(ip)
            except NetlinkError as error:
                return str(error.args[-1])
        return ""

    return in_namespace(pid, work)


def _try_nft(pid: int) -> str:
    program = (
        "table bridge probe { set drops { typeof numgen inc mod 65536; elements = { 1, 9 } } ; "
        "chain c { type filter hook forward priority 0; numgen inc mod 65536 @drops counter drop; } ; }"
    )
    try:
        run_tool(["nft", "-f", "-"], pid=pid, text=program.replace(" ; ", "\n"))
    except KernelError as error:
        return str(error).splitlines()[0]
    return ""


def _index(ip: IPRoute, name: str) -> int:
    return int(ip.link_lookup(ifname=name)[0])


def _veth(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-a", kind="veth", peer="probe-b")


def _bridge(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-ap", kind="bridge")


def _ifb(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-air", kind="ifb")


def _tbf(ip: IPRoute) -> None:
    ip.tc("add", "tbf", _index(ip, "probe-air"), handle="1:", rate="1mbit", burst=1600, limit=10000)


def _netem(ip: IPRoute) -> None:
    ip.tc("add", "netem", _index(ip, "probe-b"), handle="1:", delay=1000)


def _redirect(ip: IPRoute) -> None:
    redirect(ip, port=_index(ip, "probe-a"), to={"uplink": _index(ip, "probe-air")})


_ATTEMPTS: dict[Feature, Callable[[IPRoute], None]] = {
    Feature.VETH: _veth,
    Feature.BRIDGE: _bridge,
    Feature.IFB: _ifb,
    Feature.TBF: _tbf,
    Feature.NETEM: _netem,
    Feature.REDIRECT: _redirect,
}
