"""Long lists and counters of nftables by netlink are those that its library knows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from emulation.kernel.namespace import KernelError, in_namespace, throwaway_namespace
from emulation.kernel.nft import Nft
from emulation.kernel.nftables import counters, fill, open_netfilter

pytestmark = pytest.mark.root

TABLE = """create table bridge t
table bridge t {
counter one { packets 7 bytes 900 }
counter other { }
quota q { 5 bytes }
"""
MANY = np.flatnonzero(np.random.default_rng(1).random(100_000) < 0.1)


def test_a_set_holds_every_number_that_it_was_filled_with() -> None:
    with throwaway_namespace() as pid, Nft(pid) as nft:
        nft.run(f"{TABLE} set numbers {{ typeof numgen inc mod 100000; }}\n}}")
        with in_namespace(pid, open_netfilter) as netlink:
            fill(netlink, "t", "numbers", MANY)
            fill(netlink, "t", "numbers", MANY[:0])
            with pytest.raises(KernelError, match="filling set none of table t: No such file"):
                fill(netlink, "t", "none", MANY)
        listed = json.loads(nft.run("list set bridge t numbers", json=True))["nftables"]
    (elements,) = (one["set"]["elem"] for one in listed if "set" in one)
    assert sorted(elements) == MANY.tolist()


def test_counters_are_those_of_one_table() -> None:
    with throwaway_namespace() as pid, Nft(pid) as nft:
        nft.run(
            f"{TABLE} }}\ntable bridge another {{ counter third {{ }}\n}}\ntable inet t {{ counter fourth {{ }}\n}}"
        )
        with in_namespace(pid, open_netfilter) as netlink:
            assert counters(netlink, "t") == {"one": 7, "other": 0}
            assert counters(netlink, "another") == {"third": 0}
            assert counters(netlink, "none") == {}
