"""Nodes that are told of nobody find each other, and only each other."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Address, IPv4Network, ip_network
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.iris.bootstrap import BYTES, SEEKING_S, SETTLED_S, Bootstrap, Heard
from stacks.iris.frames import Peer

KEY = bytes(range(32))
NET = IPv4Network("10.77.0.0/24")


def node(number: int, *, key: bytes = KEY, network: str = "lab", subnet: IPv4Network = NET) -> Bootstrap:
    own = Peer(number, f"10.77.0.{number}", 14_142)
    return Bootstrap(own, key=key, network=network, subnet=subnet, port=14_142, random=Random(number), now=0.0)


def sent(one: Bootstrap, until_s: float, *, settled: bool = False, step_s: float = 0.05) -> list[tuple[str, bytes]]:
    return [found for step in range(round(until_s / step_s) + 1) for found in one.due(step * step_s, settled=settled)]


def test_a_node_that_answers_is_found_where_it_was_asked() -> None:
    one, other = node(1), node(2)
    address, request = next(islice(one.due(0.0, settled=False), 1))
    assert address == "10.77.0.2"
    heard = other.heard(request, "10.77.0.1")
    assert heard.peer is None, "who asks is not dialled, or both would dial"
    assert heard.answer is not None
    assert one.heard(heard.answer, "10.77.0.9") == Heard(), "not from there"
    assert one.heard(heard.answer, "10.77.0.2") == Heard(peer=Peer(2, "10.77.0.2", 14_142))
    assert one.heard(heard.answer, "10.77.0.2") == Heard(), "an old one again"


def test_who_asks_from_elsewhere_is_not_asked_back() -> None:
    one, other = node(1), node(2)
    _, request = next(islice(one.due(0.0, settled=False), 1))
    assert other.heard(request, "192.0.2.1").answer is not None
    assert "192.0.2.1" not in {address for address, _ in sent(other, 20)}
    other.heard(request, "10.77.0.200")
    assert "10.77.0.200" in {address for address, _ in sent(other, 80, settled=True)}


def test_ten_datagrams_a_second_until_settled_then_one_in_five_seconds() -> None:
    assert len(sent(node(1), 10)) == pytest.approx(10 / SEEKING_S, abs=2)
    assert len(sent(node(1), 60, settled=True)) == pytest.approx(60 / SETTLED_S, abs=1)


def test_time_that_was_missed_is_not_made_up_for() -> None:
    one = node(1)
    sent(one, 1)
    assert len(list(one.due(100.0, settled=False))) <= 2


def test_the_scan_goes_outwards_to_the_ends_of_the_subnet_and_the_other_half_goes_anywhere() -> None:
    addresses = [address for address, _ in sent(node(9), 60)]
    assert addresses[:12:2] == [f"10.77.0.{host}" for host in (10, 8, 11, 7, 12, 6)]
    scanned = Counter(islice(addresses[::2], 253))
    assert scanned == Counter(str(one) for one in NET.hosts() if str(one) != "10.77.0.9")
    assert len(set(addresses[1::2])) > 100
    assert "10.77.0.9" not in addresses


@given(st.integers(2, 30), st.data())
def test_every_address_is_a_host_of_the_subnet_and_not_the_own_one(prefix: int, data: st.DataObject) -> None:
    inside = data.draw(st.integers(1, 2 ** (32 - prefix) - 2))
    subnet = ip_network((0x0A000000 & (2**32 - 2 ** (32 - prefix)), prefix))
    own = str(IPv4Address(int(subnet.network_address) + inside))
    one = Bootstrap(Peer(1, own, 1), key=KEY, network="", subnet=IPv4Network(subnet), port=1, random=Random(1), now=0.0)
    for address, datagram in sent(one, 2):
        assert IPv4Address(address) in subnet
        assert address not in (own, str(subnet.network_address), str(subnet.broadcast_address))
        assert len(datagram) == BYTES


@pytest.mark.parametrize("other", [{"key": bytes(32)}, {"network": "another"}], ids=["key", "network"])
def test_who_lacks_the_key_or_is_of_another_network_is_not_answered(other: dict[str, object]) -> None:
    _, request = next(islice(node(1).due(0.0, settled=False), 1))
    assert node(2, **other).heard(request, "10.77.0.1") == Heard()  # type: ignore[arg-type]
    assert b"lab" not in request


@given(st.binary(max_size=60), st.integers(0, BYTES - 1), st.integers(0, 7))
def test_what_was_changed_or_is_no_datagram_is_passed_over(noise: bytes, at: int, bit: int) -> None:
    _, request = next(islice(node(1).due(0.0, settled=False), 1))
    changed = bytearray(request)
    changed[at] ^= 1 << bit
    for datagram in (noise, bytes(changed), request[:-1], request + b"x"):
        assert node(2).heard(datagram, "10.77.0.1") == Heard()


def test_a_node_does_not_find_itself() -> None:
    one = node(1)
    _, request = next(islice(one.due(0.0, settled=False), 1))
    assert one.heard(request, "10.77.0.1") == Heard()


@pytest.mark.parametrize(
    ("subnet", "why"),
    [("10.77.0.0/31", "needs a prefix of 30 bits or fewer"), ("10.78.0.0/16", "does not have this node's own address")],
)
def test_a_subnet_without_room_or_elsewhere_is_refused(subnet: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        node(1, subnet=IPv4Network(subnet))


def test_hosts_where_a_node_was_are_asked_again_and_for_ever() -> None:
    asked = dict[bool, list[str]]()
    for settled, until_s in ((True, 60), (False, 4)):
        one, other = node(9), node(100)
        _, request = next(islice(other.due(0.0, settled=False), 1))
        one.heard(request, "10.77.0.100")
        asked[settled] = [address for address, _ in sent(one, until_s, settled=settled)]
    assert set(asked[True][::2]) == {"10.77.0.100"}
    assert asked[False].count("10.77.0.100") == pytest.approx(10, abs=1)
    assert {"10.77.0.8", "10.77.0.10"} <= set(asked[False])
