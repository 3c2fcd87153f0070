"""The driver of Iris: every client speaks to the node on its own host, the nodes speak to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from records.messaging import Ack, Delivery, Guarantee
from records.workload import Pattern
from stacks.channel import Client, opened
from stacks.driver import Endpoint, Handler, Here, RequestHandler, Service, Socket, StackError, Subscription
from stacks.iris.client import Application, TimedOutError
from stacks.iris.overlay import BEAT_S, SILENT_S
from stacks.iris.patterns import SPLITS
from stacks.iris.relay import PORT as RELAY_PORT
from stacks.iris.tunnel import Tunnel
from stacks.knobs import Knobs

PORT = 14_142
_OPEN_S, _RETRY_S = 5.0, 0.1
_LATE_S = 2.0  # of a beat, and of what is asked where none has come


class IrisKnobs(Knobs):
    """How nodes find each other and keep in touch, and how clusters are split."""

    splits: Annotated[int, Field(ge=1, le=64)] = SPLITS
    """into how many groups, which take turns, a cluster is split"""
    beat_s: Annotated[float, Field(ge=0.25, le=3600)] = BEAT_S
    """how often nodes tell each other that they are there"""
    silent_s: Annotated[float, Field(ge=0.5, le=3600)] = SILENT_S
    """after how long a node that says nothing is given up"""
    found_by: Literal["told", "scan"] = "told"
    """how nodes find each other: told by Ansible where they are, or by a scan of their subnet"""
    subnet_bits: Annotated[int, Field(ge=8, le=30)] = 16
    """the prefix of the subnet that is scanned"""
    ids: Literal["drawn", "address"] = "drawn"
    """where a node's identifier comes from: drawn anew when it starts, or made of its address, so that roots stay"""
    tunnel: Literal["acked", "direct"] = "acked"
    """how tunnels go: over the overlay with acknowledgements, or each by a TCP connection of its own"""
    ack_every: Annotated[int, Field(ge=1, le=128)] = 1
    """after how many packets of an acked tunnel there is an acknowledgement"""
    request_timeout_s: Annotated[float, Field(ge=0.001, le=86_400)] = 60.0
    """for how long a reply is waited for"""

    @model_validator(mode="after")
    def _silence_is_longer_than_a_beat(self) -> IrisKnobs:
        if self.silent_s < self.beat_s + _LATE_S:
            raise ValueError(
                f"silent_s {self.silent_s:g} has to be longer than beat_s, {self.beat_s:g}, by {_LATE_S:g} at least: a "
                "node is asked a second after a beat that has not come whether it is there"
            )
        return self


@dataclass(frozen=True, slots=True)
class IrisCaller:
    """Calls one cluster."""

    application: Application
    cluster: str
    timeout_ms: int

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Ends with the reply, or with StackError when there was none in time, or no member."""
        return self.application.request(self.cluster, bytes(body), self.timeout_ms)


@dataclass(frozen=True, slots=True)
class IrisPublisher:
    """Sends to one cluster or to one topic.  say: `Application.broadcast` or `publish`."""

    say: Callable[[str, bytes], asyncio.Future[None]]
    name: str

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Ends when the node has taken it."""
        del prop
        return self.say(self.name, bytes(body))


@dataclass(frozen=True, slots=True)
class IrisTunnel:
    """Sends over one tunnel."""

    tunnel: Tunnel

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Ends when the node has taken all of it, for which there has to be room."""
        del prop
        return self.tunnel.send(bytes(body))


class IrisConnection(Client[Application]):
    """One client: an application of the node on its host."""

    def __init__(self, application: Application, knobs: IrisKnobs) -> None:
        super().__init__(application)
        self._timeout_ms = round(knobs.request_timeout_s * 1000)

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """None: its connection does not leave the host, and those of the nodes are everybody's."""
        return ()

    async def caller(self, service: str) -> IrisCaller:
        """What calls a cluster.  Returns when the node has found the others."""
        await self._channel.enter()
        return IrisCaller(self._channel, service, self._timeout_ms)

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """A member of a cluster.  Returns when the node has found the others."""
        self._channel.on_request = handler
        await self._channel.enter(service)

    async def broadcaster(self, group: str) -> IrisPublisher:
        """What every member of a cluster hears."""
        await self._channel.enter()
        return IrisPublisher(self._channel.broadcast, group)

    async def join(self, group: str, handler: Handler) -> None:
        """A member of a cluster.  Returns when the node has found the others."""
        self._channel.on_broadcast = lambda body: handler(body, False)
        await self._channel.enter(group)

    async def publisher(self, topic: str, *, delivery: Delivery) -> IrisPublisher:
        """A publisher on one topic; StackError for persistent delivery, which needs a disk."""
        if delivery is not Delivery.NONPERSISTENT:
            raise StackError(f"delivery {delivery}: Iris keeps messages in memory only")
        await self._channel.enter()
        return IrisPublisher(self._channel.publish, topic)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the node has found the others and knows of the subscription, which then makes its way."""
        del subscription, ack
        await self._channel.enter()
        self._channel.subscribe(topic, lambda body: handler(body, False))

    async def stream(self, flow: str) -> IrisTunnel:
        """The sending end of a flow: a tunnel to a member of its cluster.  Returns when that has taken it."""
        await self._channel.enter()
        while True:
            try:
                return IrisTunnel(await self._channel.open_tunnel(flow, round(_OPEN_S * 1000)))
            except TimedOutError:  # its receiver may come yet
                await asyncio.sleep(_RETRY_S)

    async def accept(self, flow: str, handler: Handler) -> None:
        """A member of a flow's cluster, which may have several.  Returns when the node has found the others."""

        def take(tunnel: Tunnel) -> None:
            tunnel.on_message = lambda body: handler(body, False)

        self._channel.on_tunnel = take
        await self._channel.enter(flow)

    async def close(self) -> None:
        """Leave the cluster."""
        await self._channel.close()


class Iris:
    """Iris, a decentralised overlay: a node on every host, clusters of clients, no broker; nothing is sent again."""

    name = "iris"
    KNOBS = IrisKnobs
    in_client = False

    def __init__(self, knobs: IrisKnobs | None = None) -> None:
        self._knobs = knobs or IrisKnobs()

    @property
    def patterns(self) -> frozenset[Pattern]:
        """Streams only where all that a client sends is in order, which is the guarantee that they ask for."""
        always = {Pattern.PUBSUB, Pattern.REQUEST_REPLY, Pattern.BROADCAST}
        return frozenset(always | {Pattern.STREAM} if self._in_order else always)

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Over several groups, which take turns, a broadcast or an event may overtake another."""
        in_order = frozenset({Guarantee.ORDERED, Guarantee.SHARED_STREAMS})
        return frozenset({Guarantee.ACK_NONE} | (in_order if self._in_order else frozenset()))

    @property
    def _in_order(self) -> bool:
        return self._knobs.splits == 1

    def services(self) -> tuple[Service, ...]:
        """A node on every host."""
        knobs = self._knobs
        names = ("splits", "beat_s", "silent_s", "tunnel", "ack_every", "found_by", "subnet_bits", "ids")
        settings = {f"iris_{name}": getattr(knobs, name) for name in names}
        service = Service(
            name="iris", role="iris", port=PORT, placement="nodes", overlay=True, stamps=True, variables=settings
        )
        return (service,)

    def why_not(self, wanted: Subscription) -> str:
        """A prefetch, which the relay protocol has no word for."""
        return "" if wanted.prefetch is None else "Iris has no prefetch"

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> IrisConnection:
        """A connection to the node on this host; StackError when there is none."""
        del here, services, client_id
        at = Endpoint(host="127.0.0.1", port=RELAY_PORT)
        return IrisConnection(await opened(Application, at), self._knobs)
