"""A host that can neither send nor hear: nothing of it says that it is gone, no FIN, no RST, no ICMP.

Its interfaces stay up, so routes, addresses and connections are what they were when it is heard again.  What it sends
ends in a queueing discipline that takes every packet and says that it was sent (blackhole, in every kernel that has
disciplines).  What it receives is led back to the same end before its own kernel sees it.
"""

from __future__ import annotations

import socket
from collections.abc import Collection

from emulation.kernel import filters, qdisc
from emulation.kernel.namespace import in_namespace
from emulation.kernel.netlink import Netlink
from emulation.kernel.qdisc import ROOT, Discipline

_HANDLE = 0x5170000


def silence(pid: int, interfaces: Collection[str]) -> None:
    """Cut a host off; `pid` is a process in its namespace.  KernelError when refused, also where it is cut off."""

    def cut() -> None:
        with Netlink() as netlink:
            for name in interfaces:
                index = socket.if_nametoindex(name)
                qdisc.add(netlink, *((index, one) for one in _disciplines(name)))
                netlink.request([filters.move(index, index)])

    in_namespace(pid, cut)


def restore(pid: int, interfaces: Collection[str]) -> None:
    """Let it send and hear again; KernelError when it was not cut off."""

    def mend() -> None:
        with Netlink() as netlink:
            for name in interfaces:
                index = socket.if_nametoindex(name)
                qdisc.remove(netlink, *((index, one) for one in reversed(_disciplines(name))))

    in_namespace(pid, mend)


def _disciplines(name: str) -> tuple[Discipline, Discipline]:
    return Discipline(device=name, handle=_HANDLE, parent=ROOT, kind="blackhole"), filters.hooks(name)
