"""Waiting until interfaces carry packets.

The kernel activates an interface some time after it was set up (its link watch runs in the background, slowly in the
lab kernel).  What is sent before that is dropped, where no counter of ours sees it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from pyroute2 import IPRoute

from emulation.kernel.namespace import KernelError

_PATIENCE_S = 10.0
_FORWARDING = 3  # BR_STATE_FORWARDING


def wait_until_up(interfaces: Sequence[str], *, bridged: bool = False) -> None:
    """Wait until interfaces of the calling thread's namespace are up, and, if bridged, forward.

    KernelError when one is not within ten seconds.
    """
    waiting, deadline = set(interfaces), time.monotonic() + _PATIENCE_S
    with IPRoute() as ip:
        while waiting:
            waiting -= {link.get_attr("IFLA_IFNAME") for link in ip.get_links() if _is_up(link, bridged)}
            if waiting and time.monotonic() > deadline:
                raise KernelError(f"waiting for interface {min(waiting)}: not up after {_PATIENCE_S:.0f} s")
            if waiting:
                time.sleep(0.002)


def _is_up(link: object, bridged: bool) -> bool:
    assert hasattr(link, "get_attr")
    if link.get_attr("IFLA_OPERSTATE") != "UP" or link.get_attr("IFLA_QDISC") == "noop":
        return False
    state = link.get_nested("IFLA_LINKINFO", "IFLA_INFO_SLAVE_DATA", "IFLA_BRPORT_STATE") if bridged else _FORWARDING  # type: ignore[attr-defined]
    return bool(state == _FORWARDING)
