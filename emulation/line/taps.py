"""The line's own devices at an access point: what a port receives is read by the line, what it writes goes out there.

A TAP device for each port.  What enters the port is redirected to it, and what is written to it is redirected out of
the port, so that neither the ports nor who captures on them notice; the bridge has nothing to forward.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.line import system
from emulation.namespace import KernelError
from emulation.shaper import index_of, lead

_QUEUE = 4000  # frames that wait to be read; with the usual 1000 bursts were dropped
_INGRESS = "ffff:fff2"
MTU_FRAME = 1514


@contextmanager
def taps(ip: IPRoute, ports: Sequence[str]) -> Iterator[list[int]]:
    """Descriptors of a TAP for each of `ports`, in order; `ip` and the calling thread are in their namespace.

    KernelError names what was refused.
    """
    with ExitStack() as undo:
        handles = []
        try:
            for number, port in enumerate(ports):
                name = f"line-{number}"
                handles.append(system.tap(name))
                undo.callback(os.close, handles[-1])
                mine, theirs = index_of(ip, name), index_of(ip, port)
                ip.link("set", index=mine, state="up", txqlen=_QUEUE)
                for at, to in ((mine, theirs), (theirs, mine)):
                    ip.tc("add", "clsact", at)
                    lead(ip, at, to, _INGRESS)
                undo.callback(ip.tc, "del", "clsact", theirs)
        except NetlinkError as error:
            raise KernelError(f"leading {port} through the line: {error}") from error
        yield handles
