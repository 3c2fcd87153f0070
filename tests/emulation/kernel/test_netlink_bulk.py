"""Requests in bulk, more than the kernel has room to answer before one is read."""

from __future__ import annotations

import socket

import pytest
from pyroute2 import IPRoute

from emulation.kernel.namespace import in_namespace, throwaway_namespace
from emulation.kernel.netlink import Netlink, neighbour
from emulation.tc.shaper import index_of

MANY = 2000

pytestmark = pytest.mark.root


def test_thousands_of_requests_are_all_answered() -> None:
    def work() -> int:
        with IPRoute() as ip, Netlink() as netlink:
            ip.link("add", ifname="a", kind="veth", peer={"ifname": "b"})
            ip.link("set", index=index_of(ip, "a"), state="up")
            index = index_of(ip, "a")
            netlink.request(
                [
                    neighbour(index, f"10.9.{one >> 8}.{one & 255}", f"02:00:00:00:{one >> 8:02x}:{one & 255:02x}")
                    for one in range(MANY)
                ]
            )
            return len(list(ip.get_neighbours(socket.AF_INET, ifindex=index)))

    with throwaway_namespace() as pid:
        assert in_namespace(pid, work) == MANY
