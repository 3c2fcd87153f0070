"""How a node finds others of its network without being told of any: by datagrams to the hosts of its subnet.  Pure.

Two sources take turns: hosts at random and, until the node has its place, a scan, which begins beside the own address
and goes outwards.  Hosts where a node was once are asked in between, and later in the place of the scan, so that nodes
which have lost each other meet again.  Every datagram has a MAC of the network's key and name, which does not travel.
"""

from __future__ import annotations

import hmac
import struct
from collections import OrderedDict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from random import Random
from typing import NamedTuple

from stacks.iris.frames import Peer
from stacks.iris.ids import SPACE

SEEKING_S, SETTLED_S = 0.1, 5.0  # between two datagrams: before the node has found its place, and then
_VERSION, _REQUEST, _RESPONSE = 1, 0, 1
_BODY, _TAG = struct.Struct("!BBQQH"), 16  # version, what it is, a number, the sender's identifier and port; MAC
BYTES = _BODY.size + _TAG
_REMEMBERED = 256  # requests whose responses are still taken; hosts where a node was


class Heard(NamedTuple):
    """What a datagram is good for.  answer: what is sent back.  peer: a node that was found."""

    answer: bytes | None = None
    peer: Peer | None = None


class Bootstrap:
    """One node's part.  key: of the network.  subnet: whose hosts are asked; None = none.  port: UDP, the same at every
    host.
    """

    def __init__(
        self, own: Peer, *, key: bytes, network: str, subnet: IPv4Network | None, port: int, random: Random, now: float
    ) -> None:
        if subnet is not None:
            self._check(own, subnet)
        self.port = port
        self._own, self._subnet, self._random = own, subnet, random
        self._key = hmac.digest(key, b"airwire iris bootstrap 1\0" + network.encode(), "sha256")
        self._asked = OrderedDict[int, str]()
        self._known = OrderedDict[str, None]()  # hosts; the one that was asked last at the end
        self._scan = iter(()) if subnet is None else self._outwards(subnet)
        self._turn, self._next = 0, now

    @staticmethod
    def _check(own: Peer, subnet: IPv4Network) -> None:
        if subnet.num_addresses < 4:
            raise ValueError(f"subnet {subnet} has no room for a second host: it needs a prefix of 30 bits or fewer")
        if IPv4Address(own.address) not in subnet:
            raise ValueError(f"subnet {subnet} does not have this node's own address {own.address}")

    def due(self, now: float, *, settled: bool) -> Iterator[tuple[str, bytes]]:
        """The datagrams that have to be sent now, each with its address.  settled: whether the node has its place."""
        if self._subnet is None:
            return
        while self._next <= now:
            self._next = max(self._next, now - SEEKING_S) + (SETTLED_S if settled else SEEKING_S)
            self._turn += 1
            address = self._somebody(self._subnet, settled=settled) if self._turn % 2 else self._anybody(self._subnet)
            yield address, self.request(address)

    def request(self, address: str) -> bytes:
        """A datagram that asks a host whether a node of this network is there."""
        number = self._random.getrandbits(64)
        self._asked[number] = address
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return self._datagram(_REQUEST, number)

    def heard(self, datagram: bytes, source: str) -> Heard:
        """A datagram has come.  Only a response to what this node has asked of that very host tells of a node."""
        body, tag = datagram[: _BODY.size], datagram[_BODY.size :]
        if len(datagram) != BYTES or not hmac.compare_digest(tag, self._tag(body)):
            return Heard()
        version, what, number, identifier, port = _BODY.unpack(body)
        if version != _VERSION or identifier == self._own.id or identifier >= SPACE:
            return Heard()
        if what == _REQUEST:
            if self._subnet is not None and IPv4Address(source) in self._subnet:  # the source can be forged
                self._remember(source)
            return Heard(answer=self._datagram(_RESPONSE, number))
        if self._asked.get(number) != source:
            return Heard()
        del self._asked[number]
        self._remember(source)
        return Heard(peer=Peer(identifier, source, port))

    def _remember(self, host: str) -> None:
        self._known.setdefault(host)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _datagram(self, what: int, number: int) -> bytes:
        body = _BODY.pack(_VERSION, what, number, self._own.id, self._own.port)
        return body + self._tag(body)

    def _tag(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")[:_TAG]

    def _outwards(self, subnet: IPv4Network) -> Iterator[str]:
        """The hosts of the subnet: one above, one below, two above and so on to the ends, over and over."""
        own, first, last = map(int, (IPv4Address(self._own.address), subnet.network_address, subnet.broadcast_address))
        while True:
            for step in range(1, subnet.num_addresses):
                yield from (str(IPv4Address(one)) for one in (own + step, own - step) if first < one < last)

    def _somebody(self, subnet: IPv4Network, *, settled: bool) -> str:
        if self._known and (settled or self._turn % 4 == 1):
            host = next(iter(self._known))
            self._known.move_to_end(host)
            return host
        return self._anybody(subnet) if settled else next(self._scan)

    def _anybody(self, subnet: IPv4Network) -> str:
        first, own = int(subnet.network_address), int(IPv4Address(self._own.address))
        while (host := first + self._random.randrange(1, subnet.num_addresses - 1)) == own:
            pass
        return str(IPv4Address(host))
