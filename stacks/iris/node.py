"""A node: its connections, its overlay and its applications, on asyncio.  Nothing here decides where messages go."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from random import Random

from stacks.iris import relay
from stacks.iris.bootstrap import Bootstrap
from stacks.iris.finding import Finder
from stacks.iris.frames import Message, Peer
from stacks.iris.ids import BITS, written
from stacks.iris.links import Flushed, OnFrames, PeerLink, RelayLink, hello
from stacks.iris.overlay import BEAT_S, SILENT_S, Overlay
from stacks.iris.patterns import SPLITS, Patterns
from stacks.iris.session import Session
from stacks.iris.ways import Ways
from stacks.iris.wheel import STEP_S

UNKNOWN, SHAKING_S = 64, 3.0  # peers that have not shown yet that they have the key: how many, and for how long
DIAL_S, RETRY_S = 3.0, 0.25
# An application is welcomed when all nodes that this one was told of are there or, where it seeks them itself, when it
# has found its place; in any case after WELCOME_S.
WELCOME_S = 10.0
_OVERLAY_EVERY = 5  # steps of the wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """address, port: where other nodes reach this one.  key: of the network, 32 bytes.  told: where others may be.
    subnet: whose hosts are asked whether they are nodes; None = none.  identifier: None = one is drawn.

    splits: into how many groups a cluster is split.  direct: whether tunnels that are opened here have connections of
    their own.  ack_every: packets to an acknowledgement of those that have none.
    """

    address: str
    port: int
    key: bytes
    network: str
    told: tuple[tuple[str, int], ...] = ()
    subnet: IPv4Network | None = None
    relay_port: int = relay.PORT
    identifier: int | None = None
    splits: int = SPLITS
    beat_s: float = BEAT_S
    silent_s: float = SILENT_S
    direct: bool = False
    ack_every: int = 1


class Node:
    """It looks for other nodes when its first application is there, or when one of them has found it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        random = Random(secrets.randbits(64))  # noqa: S311  (it balances load, and keeps no secret)
        drawn = secrets.randbits(BITS) if settings.identifier is None else settings.identifier
        self.own = Peer(drawn, settings.address, settings.port)
        clock = self._loop.time
        self._ways = Ways(self.flush_soon, self._session, clock)
        self.patterns = Patterns(
            self._tell, reach=self._ways.reach, random=random, clock=clock, splits=settings.splits,
            ack_every=settings.ack_every, direct=settings.direct,
        )  # fmt: skip
        self.overlay = self.patterns.overlay = Overlay(
            self.own, self, random=random, now=clock(), beat_s=settings.beat_s, silent_s=settings.silent_s
        )
        self._links: dict[int, PeerLink] = {}
        self._unknown: set[PeerLink] = set()
        self._where: dict[tuple[str, int], int] = {}  # from a place to the node there, while it is connected
        self._dialling: set[tuple[str, int]] = set()
        self._useless: set[tuple[str, int]] = set()  # where nodes are that this one has no use for, nor they for it
        self._tasks: set[asyncio.Task[None]] = set()
        self._relayed: set[RelayLink] = set()  # connections to applications, those included that have not said anything
        self._applications: dict[int, RelayLink] = {}
        self._unwelcomed: list[RelayLink] = []
        self._waiting: list[Flushed] = []
        self._number, self._step, self._awake_at = 0, 0, 0.0
        self._processors = Processors()
        self._servers: list[asyncio.Server] = []
        bootstrap = Bootstrap(
            self.own, key=settings.key, network=settings.network, subnet=settings.subnet, port=settings.port,
            random=random, now=clock(),
        )  # fmt: skip
        self._finder = Finder(bootstrap, self._found)
        self._timer = self._loop.call_later(STEP_S, self._tick)

    async def listen(self) -> None:
        """OSError where a port cannot be had."""
        serve, settings = self._loop.create_server, self._settings
        self._servers.append(await serve(self._link, settings.address, settings.port))
        self._servers.append(await serve(self._application, "127.0.0.1", settings.relay_port))
        at = (settings.address, settings.port)
        await self._loop.create_datagram_endpoint(lambda: self._finder, local_addr=at)
        with suppress(OSError):  # a host without IPv6
            self._servers.append(await serve(self._application, "::1", settings.relay_port))

    def close(self) -> None:
        """Cut every connection."""
        self._timer.cancel()
        for server in self._servers:
            server.close()
        self._finder.close()
        for task in self._tasks:
            task.cancel()
        for link in (*self._links.values(), *self._unknown):
            link.end("the node ends")
        for application in tuple(self._relayed):
            application.cut()
        self._ways.close()

    # What the overlay asks for.

    def send(self, node: int, *parts: bytes, beside: bytes = b"") -> bool:
        """Have a frame go to a node."""
        link = self._links.get(node)
        return link is not None and link.send(*parts, beside=beside)

    def connected(self, node: int) -> bool:
        """Whether something may get to a node."""
        link = self._links.get(node)
        return link is not None and not link.over

    def dial(self, peer: Peer) -> None:
        """Connect to a node."""
        self._dial((peer.address, peer.port))

    def hang_up(self, node: int) -> None:
        """End the connection to a node."""
        if (link := self._links.get(node)) is not None:
            link.end("it is silent, or of no use any more")

    def probe(self, peer: Peer) -> None:
        """Ask a node whether it is there, by a datagram."""
        self._finder.probe(peer)

    def arrived(self, message: Message) -> None:
        """A message for an application."""
        self.patterns.arrived(message)

    def nobody(self, message: Message) -> None:
        """A request that finds no member."""
        self.patterns.nobody(message)

    # What connections to nodes tell.

    def made_peer(self, link: PeerLink) -> None:
        """It has to show soon that it has the key."""
        if not link.dialled and sum(not one.dialled for one in self._unknown) >= UNKNOWN:
            link.end(f"there are {UNKNOWN} peers already that have not shown that they have the key")
            return
        self._unknown.add(link)
        self._loop.call_later(SHAKING_S, self._give_up, link)

    def known(self, link: PeerLink, peer: Peer) -> None:
        """Of two connections to a node that one stays which the node with the smaller identifier has dialled."""
        self._unknown.discard(link)
        link.known_at = self._loop.time()
        if peer.id == self.own.id:
            link.end("it is this node itself")
            if link.place is not None:  # another name of its own
                self._useless.add(link.place)
            return
        places = {(peer.address, peer.port), link.place or (peer.address, peer.port)}
        self._where |= dict.fromkeys(places, peer.id)
        self._useless -= places
        old = self._links.get(peer.id)
        if old is None:
            self._links[peer.id] = link
            self._wake()
            _say(f"peer {written(peer.id)} at {peer.address}:{peer.port}")
            self.overlay.peer_up(peer)
            return
        # Who dials although there has been one for long does not have that one any more.
        anew = self._loop.time() - old.known_at > SHAKING_S
        kept, given_up = (link, old) if anew or link.dialled == (self.own.id < peer.id) else (old, link)
        self._links[peer.id] = kept
        if given_up is link and link.dialled:
            link.end("there is another connection to this node")  # of which the other side has not heard yet
            return
        if anew:
            self.overlay.peer_up(peer)
        # What the other side has sent over it meanwhile is still taken.
        self._loop.call_later(SHAKING_S, given_up.leave, "there is another connection to this node")

    def tunnel(self, link: PeerLink, number: int) -> OnFrames:
        """It is none of the overlay's: a node has taken a tunnel that was opened here."""
        self._unknown.discard(link)
        return self._ways.given(link, partial(self.patterns.tunnels.reached, number))

    def alive(self, link: PeerLink) -> None:
        """A large frame may take long over a slow link."""
        if link.peer is not None and link.peer.id in self._links:
            self.overlay.heard(link.peer.id)

    def frames(self, link: PeerLink, frames: list[bytes]) -> None:
        """Frames of a node that has the key."""
        if link.peer is None or link.peer.id not in self._links:
            return
        node, received = link.peer.id, self.overlay.received
        for frame in frames:
            received(node, frame)

    def lost_peer(self, link: PeerLink, why: str) -> None:
        """A connection has ended."""
        self._unknown.discard(link)
        peer = link.peer
        if peer is None or self._links.get(peer.id) is not link:
            if peer is None:
                _say(f"a peer is refused or lost before it has shown that it has the key: {why}")
            return
        del self._links[peer.id]
        places = {one for one, node in self._where.items() if node == peer.id}
        self._where = {one: node for one, node in self._where.items() if node != peer.id}
        if peer.id in self.overlay.table.known:
            self._useless.clear()
        else:
            self._useless |= places
        _say(f"peer {written(peer.id)} is gone: {why}")
        self.overlay.peer_down(peer.id)

    # What applications tell.

    def made_application(self, link: RelayLink) -> None:
        """A connection to an application, which may have been accepted just before the end."""
        self._relayed.add(link)
        if self._timer.cancelled():
            link.cut()

    def initiated(self, link: RelayLink, cluster: str) -> None:
        """A new application; it is welcomed when this node has found its way into the overlay."""
        self._applications[link.number] = link
        self._wake()
        self.patterns.attach(link.number, cluster)
        self._unwelcomed.append(link)
        self._welcome()

    def asked(self, link: RelayLink, message: relay.Message) -> None:
        """An application asks for something."""
        self.patterns.ask(link.number, message)

    def lost_application(self, link: RelayLink) -> None:
        """An application has gone."""
        self._relayed.discard(link)
        self.left_application(link)

    def left_application(self, link: RelayLink) -> None:
        """An application wants nothing any more."""
        if self._applications.pop(link.number, None) is not None:
            self.patterns.detach(link.number)

    def now(self) -> float:
        """By the loop's clock."""
        return self._loop.time()

    def flush_soon(self, link: Flushed) -> None:
        """All frames for a receiver of one turn of the loop leave together, in one record where they fit."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(link)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for link in waiting:
            link.flush()

    def _tell(self, application: int, message: relay.Message) -> bool:
        """False where there is no room for it."""
        link = self._applications.get(application)
        if link is not None and link.say(message):
            return True
        gone = link is None or link.over
        if gone or not isinstance(message, relay.TunnelData):  # which is kept, and said again
            self.patterns.counts["the application has gone" if gone else "no room"] += 1
        return gone

    def _link(self, place: tuple[str, int] | None = None) -> PeerLink:
        return PeerLink(self, self._session(place is not None, hello(self.own)), place=place)

    def _session(self, dialled: bool, introduction: bytes) -> Session:
        settings = self._settings
        return Session(initiator=dialled, key=settings.key, network=settings.network, hello=introduction)

    def _application(self) -> RelayLink:
        self._number += 1
        return RelayLink(self, self._number)

    def _give_up(self, link: PeerLink) -> None:
        if link in self._unknown:
            link.end(f"it has not shown within {SHAKING_S:g} s that it has the key")

    def _wake(self) -> None:
        if not self._awake_at:
            self._awake_at = self._loop.time()
            self.overlay.unsettle(self._awake_at)
            self._seek()

    def _seek(self) -> None:
        for place in self._settings.told:
            if place not in self._useless:
                self._dial(place)

    def _found(self, peer: Peer) -> None:
        """A node has answered a datagram."""
        if peer.id in self._links:
            self.overlay.heard(peer.id)
        else:
            self.overlay.learn(peer)

    def _dial(self, place: tuple[str, int]) -> None:
        if place in self._where or place in self._dialling or place == (self.own.address, self.own.port):
            return
        self._dialling.add(place)
        task = self._loop.create_task(self._connect(place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, place: tuple[str, int]) -> None:
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(DIAL_S):
                    await self._loop.create_connection(lambda: self._link(place), *place)
                await asyncio.sleep(SHAKING_S if place not in self._where else 0)
            await asyncio.sleep(RETRY_S)
        finally:
            self._dialling.discard(place)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(STEP_S, self._tick)
        self.patterns.tick()
        self._step += 1
        if self._step % _OVERLAY_EVERY == 0:
            now = self._loop.time()
            self.overlay.tick(now, self._processors.load(now))
            for link in list(self._links.values()):
                link.tend(now)
            if self._awake_at:
                self._seek()
                self._finder.seek(now, settled=self.overlay.settled(now))
            self._welcome()

    def _welcome(self) -> None:
        """Tell applications that wait that they may begin."""
        if not self._unwelcomed:
            return
        now = self._loop.time()
        there = all(place in self._where or place in self._useless for place in self._settings.told)
        if (there and (self._settings.subnet is None or self.overlay.settled(now))) or now - self._awake_at > WELCOME_S:
            for link in self._unwelcomed:
                if link.number in self._applications:
                    link.welcome()
            self._unwelcomed.clear()


class Processors:
    """How much of the machine's processors is used, by /proc/stat."""

    def __init__(self) -> None:
        self._at, self._busy, self._all, self._load = 0.0, 0, 0, 1.0

    def load(self, now: float) -> float:
        """The share that was used in the last second, 0 to 1."""
        if now - self._at >= 1:
            times = [int(word) for word in Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[1:9]]
            spent, idle = sum(times), times[3] + times[4]
            if spent > self._all:
                self._load = 1 - (idle - (self._all - self._busy)) / (spent - self._all)
            self._at, self._busy, self._all = now, spent - idle, spent
        return self._load


def places(words: Collection[str], port: int) -> tuple[tuple[str, int], ...]:
    """ADDRESS or ADDRESS:PORT as places; ValueError for anything else."""
    found = []
    for word in words:
        address, colon, number = word.partition(":")
        found.append((address, int(number) if colon else port))
    return tuple(found)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
