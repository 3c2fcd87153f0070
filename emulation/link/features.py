"""What this kernel can do, found out by trying it in a throwaway network namespace."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.kernel import filters, kernel, qdisc, system
from emulation.kernel.kernel import KernelName
from emulation.kernel.namespace import KernelError, in_namespace, throwaway_namespace
from emulation.kernel.netlink import Netlink
from emulation.kernel.nft import Nft
from emulation.plan.stages import CURE, Feature, needed, needs_line, needs_tc, top_rate
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.tc.shaper import index_of


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
            answers[Feature.REALTIME] = _try_realtime()
            return answers
    except KernelError as error:
        return dict.fromkeys(Feature, str(error))


@cache
def times_frames() -> bool:
    """Whether tc can give a frame its transmission time on this kernel, for which it needs netem; asked once."""
    if os.geteuid():
        return False
    with throwaway_namespace() as pid:
        return not any(_try(pid, _ATTEMPTS[feature]) for feature in (Feature.VETH, Feature.NETEM))


def missing(
    profile: LinkProfile,
    available: dict[Feature, str],
    on: KernelName,
    medium: MediumName = "tc",
    *,
    group_frames: bool = False,
    between: bool = False,
) -> str:
    """Why kernel `on` with these features (from `probe`) cannot do a profile, and the cure; '' when it can.

    medium: what is to make the link; how much the line carries is not asked here (emulation.line.ceiling).
    group_frames: see linkplan.plan.  between: whether stations send to each other.
    """
    for feature, needed_by in needed(profile, medium).items():
        if answer := available[feature]:
            return f"has no {feature}, which profile {profile.name!r} needs for {needed_by} ({answer}): {CURE[feature]}"
    if medium == "tc" and (why := needs_line(profile, group_frames=group_frames, between=between)):
        return (
            f"cannot do with tc what profile {profile.name!r} asks: {why}; the line can: use --medium line, or leave "
            "that out of the profile"
        )
    if medium == "line" and (why := needs_tc(profile)):
        return (
            f"cannot do by the line what profile {profile.name!r} asks: {why}; tc can: use --medium tc, or leave that "
            "out of the profile"
        )
    if medium == "tc" and (rate := top_rate(profile)) > kernel.CEILING[on]:
        return (
            f"can shape {kernel.CEILING[on] / 1e6:g} Mbit/s at most, and profile {profile.name!r} has "
            f"{rate / 1e6:g} Mbit/s: use a slower profile, or a kernel that can"
        )
    return ""


def _try(pid: int, attempt: Callable[[IPRoute], None]) -> str:
    def work() -> str:
        with IPRoute() as ip:
            try:
                attempt(ip)
            except NetlinkError as error:
                return str(error.args[-1])
            except KernelError as error:
                return str(error).rpartition(": ")[2]
        return ""

    return in_namespace(pid, work)


def _try_nft(pid: int) -> str:
    program = (
        "table bridge probe { set drops { typeof numgen inc mod 65536; elements = { 1, 9 } } ; "
        "chain c { numgen inc mod 65536 @drops counter drop; } ; "
        'map way { typeof iifname : verdict; elements = { "probe-a" : goto c } } ; '
        "chain f { type filter hook forward priority -200; iifname vmap @way; } ; }"
    )
    try:
        with Nft(pid) as nft:
            nft.run(program.replace(" ; ", "\n"))
    except KernelError as error:
        return str(error).splitlines()[0]
    return ""


def _try_realtime() -> str:
    """In a thread of its own, which a class belongs to; it ends with the class."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_realtime).result()


def _realtime() -> str:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        return str(error.strerror)
    return ""


def _hooks(ip: IPRoute) -> None:
    one, other = (index_of(ip, name) for name in ("probe-a", "probe-b"))
    with Netlink() as netlink:
        qdisc.add(netlink, (other, filters.hooks("probe-b")))
        netlink.request([filters.move(other, one)])


def _tun(_: IPRoute) -> None:
    try:
        os.close(system.tap("probe-tap"))
    except KernelError as error:
        cause = error.__cause__
        raise KernelError(f"making a TAP: {cause.strerror if isinstance(cause, OSError) else error}") from error


def _veth(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-a", kind="veth", peer="probe-b")


def _bridge(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-ap", kind="bridge")


def _ifb(ip: IPRoute) -> None:
    ip.link("add", ifname="probe-air", kind="ifb")


def _htb(ip: IPRoute) -> None:
    _add(ip, "probe-air", "htb", qdisc.htb(default=1))


def _netem(ip: IPRoute) -> None:
    flat = np.zeros(2, np.int16)
    options = qdisc.netem(
        delay=0.001, jitter=0, distribution=flat, keep_order=True, reorder=0, duplicate=0, corrupt=0, limit=10
    )
    _add(ip, "probe-b", "netem", options)


def _add(ip: IPRoute, device: str, kind: str, options: bytes) -> None:
    one = qdisc.Discipline(device=device, handle=0x10000, parent=qdisc.ROOT, kind=kind, options=options)
    with Netlink() as netlink:
        qdisc.add(netlink, (index_of(ip, device), one))


def _redirect(ip: IPRoute) -> None:
    ip.link("add", ifname=filters.SINK, kind="ifb")
    port, air, sink = (index_of(ip, name) for name in ("probe-a", "probe-air", filters.SINK))
    with Netlink() as netlink:
        qdisc.add(netlink, (port, filters.hooks("probe-a")), (sink, filters.sink()))
        netlink.request([filters.lead(port, air, sink=sink)])


_ATTEMPTS: dict[Feature, Callable[[IPRoute], None]] = {
    Feature.VETH: _veth,
    Feature.BRIDGE: _bridge,
    Feature.IFB: _ifb,
    Feature.HTB: _htb,
    Feature.NETEM: _netem,
    Feature.REDIRECT: _redirect,
    Feature.HOOKS: _hooks,
    Feature.TUN: _tun,
}
