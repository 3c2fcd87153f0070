"""The line's own devices at an access point: what a port receives is read by the line, what it writes goes out there.

A TAP device for each port.  What enters the port is redirected to it, and what is written to it is redirected out of
the port, so that neither the ports nor who captures on them notice; the bridge has nothing to forward.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.kernel import filters, qdisc
from emulation.kernel.namespace import KernelError
from emulation.kernel.netlink import Netlink
from emulation.kernel.system import tap_name
from emulation.tc.shaper import index_of

_QUEUE = 4000  # frames that wait to be read; with the usual 1000 bursts were dropped


def names(ports: int) -> list[str]:
    """Of the devices of so many ports."""
    return [tap_name(port) for port in range(ports)]


def lead(ip: IPRoute, ports: Sequence[str]) -> None:
    """Lead the frames of each port to its TAP device, which is there, and back.

    `ip` and the calling thread are in the access point's namespace.  KernelError names what was refused.
    """
    there = [index_of(ip, name) for name in ports]
    try:
        mine = [index_of(ip, name) for name in names(len(ports))]
        for index in mine:
            ip.link("set", index=index, state="up", txqlen=_QUEUE)
    except NetlinkError as error:
        raise KernelError(f"leading frames through the line: {error}") from error
    with Netlink() as netlink:
        qdisc.add(netlink, *((index, filters.hooks(str(index))) for index in (*mine, *there)))
        pairs = [*zip(mine, there, strict=True), *zip(there, mine, strict=True)]
        netlink.request([filters.move(at, to) for at, to in pairs])


def release(ip: IPRoute, ports: Sequence[str]) -> None:
    """Lead the frames of ports nowhere any more; ports may have gone, and the line's devices go with its process."""
    there = {index for name in ports for index in ip.link_lookup(ifname=name)}
    for one in list(ip.get_qdiscs()):
        if one["index"] in there and one.get_attr("TCA_KIND") == "clsact":
            ip.tc("del", "clsact", one["index"], parent=one["parent"])
