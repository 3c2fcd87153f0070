"""One MQTT connection over asyncio: messages sent are answered, those that come are handed over and answered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from stacks.channel import Channel, fail, opened
from stacks.driver import Endpoint, StackError
from stacks.mqtt import codes, packets, properties
from stacks.mqtt.decoder import Decoder
from stacks.mqtt.packets import (
    Answer,
    Connack,
    Connect,
    Disconnect,
    Head,
    Packet,
    Ping,
    Publish,
    QoS,
    Suback,
    Subscribe,
    Version,
)
from stacks.mqtt.properties import Kind, Properties, Property

OnMessage = Callable[[Publish], None]
_MOST_NUMBERS = 0xFFFF
# Without an answer a sender would never give way to what arrives; so it does after so many messages.
_AT_ONCE = 64
# What asyncio's transports hold before they have a writer wait.
_MOST_HELD_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a client asks for.

    window: its messages of QoS 1 and 2 without an answer, at most; the server may allow fewer (receive maximum).
    properties: of CONNECT.
    """

    version: Version
    client_id: str
    clean: bool
    keep_alive_s: int
    window: int
    properties: Properties = ()


@dataclass(slots=True)
class Kept:
    """What outlives a connection, with the server's session.  unreleased: numbers of QoS 2 messages handed over."""

    unreleased: set[int] = field(default_factory=set)


class _Waiting(NamedTuple):
    """A message that the window has no room for yet."""

    head: Head
    body: bytes
    given: Properties
    answer: asyncio.Future[None]


class Session(Channel):
    """A connection; `connect` opens one, `reach` one that has not introduced itself."""

    LANGUAGE = "MQTT"

    def __init__(self, terms: Terms, kept: Kept) -> None:
        super().__init__()
        loop = self._loop = asyncio.get_running_loop()
        self._kept = kept
        self._version, self._window = terms.version, terms.window
        self._decoder = Decoder(terms.version)
        self._welcome: asyncio.Future[Connack] = loop.create_future()
        self._subscribing: dict[int, asyncio.Future[int]] = {}
        self._handlers: dict[str, OnMessage] = {}
        self._held_back: list[Publish] | None = None
        # By packet identifier: what has to come next, and what ends with the last answer.
        self._under_way: dict[int, tuple[Kind, asyncio.Future[None]]] = {}
        self._waiting: deque[_Waiting] = deque()
        self._number = 0
        self._unanswered = 0
        self._taken: asyncio.Future[None] = loop.create_future()  # the answer while the transport takes more
        self._taken.set_result(None)
        self._paused = False
        self._held_bytes = 0
        self._to_drain: list[asyncio.Future[None]] = []
        self._beat: asyncio.TimerHandle | None = None
        self._wrote_s = self._asked_s = 0.0
        self._seen_reads = self._seen_unsent = 0

    def write(self, frames: bytes) -> None:
        """Send whole packets.  Those of one turn of the event loop leave in one write, unless they are many bytes."""
        self.writes += 1
        if not self._held:
            self._wrote_s = self._loop.time()
            if not self._reading:
                self._loop.call_soon(self._flush)
        self._held.append(frames)
        self._held_bytes += len(frames)
        if self._held_bytes > _MOST_HELD_BYTES:
            self._flush()

    async def hello(self, terms: Terms) -> Connack:
        """Introduce ourselves; returns when the server has taken us, StackError when it does not.

        The connection is closed then.  terms: of the version and window that it began with.
        """
        # A server that has kept our session begins with its messages, before we can say who takes them.  ActiveMQ 5.17
        # does so after a CONNACK that says there is none.
        self._held_back = None if terms.clean else []
        hello = Connect(terms.client_id, terms.clean, terms.keep_alive_s, terms.properties)
        try:
            self.write(packets.encode(hello, self._version))
            welcome = await self._welcome
            if welcome.code:
                raise StackError(codes.refused(welcome.code, welcome.properties, self._version))
        except BaseException:
            self.abort()
            raise
        asked = properties.find(welcome.properties, Property.SERVER_KEEP_ALIVE_S)
        keep_alive_s = asked if isinstance(asked, int) else terms.keep_alive_s
        if keep_alive_s:
            self._keep_alive(keep_alive_s)
        return welcome

    def head(self, topic: str, qos: QoS) -> Head:
        """What `publish` takes for messages to a topic; StackError for a topic that none can go to."""
        try:
            return Head(topic, qos, self._version)
        except ValueError as error:
            raise StackError(str(error)) from error

    def publish(self, head: Head, body: bytes | bytearray, given: Properties = ()) -> asyncio.Future[None]:
        """Send a message, as soon as the window has room for it.

        The future ends with the server's last answer, or with StackError; with QoS 0 at once, or when the kernel has
        room again, and many messages have one future.  head: what `head` gives.
        """
        if self.lost is None and not self._ended.done():
            if not head.qos:
                self.write(packets.publish(head, body, 0, given))
                return self._gone()
            answer: asyncio.Future[None] = self._loop.create_future()
            if len(self._under_way) < self._window:
                self._send(head, body, given, answer)
            else:
                self._waiting.append(_Waiting(head, bytes(body), given, answer))
        else:
            answer = self._loop.create_future()
            fail(answer, self.why_over)
        return answer

    async def subscribe(self, wanted: str, topic: str, qos: int, on_message: OnMessage) -> None:
        """Returns when the subscription is in force; StackError when it is refused, or granted with less.

        wanted: the filter, for messages to `topic`.
        """
        if (over := self.over) is not None:
            raise StackError(over)
        self._handlers[topic] = on_message
        if self._held_back:
            earlier, self._held_back = self._held_back, []
            for message in earlier:
                self._message(message)
        number = self._free()
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._subscribing[number] = answer
        self.write(packets.encode(Subscribe(number, ((wanted, qos),)), self._version))
        if (granted := await answer) < qos:
            raise StackError(f"subscription to {wanted!r}: the server grants QoS {granted}, not {qos}")

    async def close(self, *, limit_s: float) -> None:
        """Leave: what was sent is answered first, for at most `limit_s` seconds.  What still arrives is left."""
        try:
            with suppress(StackError, TimeoutError):
                async with asyncio.timeout(limit_s):
                    for answer in self._unanswered_yet():
                        await asyncio.wait([answer])
            self._closing = True
            if self.lost is None:
                self.write(packets.encode(Disconnect(), self._version))
                self._flush()
            self._transport.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await asyncio.shield(self._ended)
        finally:
            self._closing = True
            self.abort()
        await self._ended

    def pause_writing(self) -> None:
        """Called by asyncio."""
        self._paused = True

    def resume_writing(self) -> None:
        """Called by asyncio."""
        self._paused = False
        for answer in self._to_drain:
            _done(answer)
        self._to_drain.clear()

    def _flush(self) -> None:
        self._held_bytes = 0
        super()._flush()

    def _gone(self) -> asyncio.Future[None]:
        """What ends at once, when other work has had its turn, or when the kernel has room again."""
        self._unanswered += 1
        if not self._paused and self._unanswered % _AT_ONCE:
            return self._taken
        answer: asyncio.Future[None] = self._loop.create_future()
        if self._paused:
            self._to_drain.append(answer)
        else:
            self._loop.call_soon(_done, answer)
        return answer

    def _send(self, head: Head, body: bytes | bytearray, given: Properties, answer: asyncio.Future[None]) -> None:
        number = self._free()
        self._under_way[number] = (Kind.PUBACK if head.qos == 1 else Kind.PUBREC, answer)
        self.write(packets.publish(head, body, number, given))

    def _unanswered_yet(self) -> list[asyncio.Future[None]]:
        return [answer for _, answer in self._under_way.values()] + [one.answer for one in self._waiting]

    def _free(self) -> int:
        """A packet identifier that nothing under way has."""
        while True:
            self._number = self._number % _MOST_NUMBERS + 1
            if self._number not in self._under_way and self._number not in self._subscribing:
                return self._number

    def _read(self, data: bytes) -> None:
        for packet in self._decoder.feed(data):
            if self.lost is not None:
                break
            self._dispatch(packet)

    def _dispatch(self, packet: Packet) -> None:
        match packet:
            case Publish():
                if not self._closing:
                    self._message(packet)
            case Answer():
                self._answered(packet)
            case Connack() if not self._welcome.done():
                self._welcomed(packet)
                self._welcome.set_result(packet)
            case Suback(number, (code,), given) if number in self._subscribing:
                self._subscribed(self._subscribing.pop(number), code, given)
            case Ping(Kind.PINGRESP):
                self._asked_s = 0.0
            case Disconnect(code, given):
                self.lose(f"the server ends the connection: {codes.meaning(code, given)}")
            case _:
                self.lose(f"the server does not speak MQTT: it sent {packet}")

    def _welcomed(self, welcome: Connack) -> None:
        if not welcome.present:
            self._kept.unreleased.clear()
        allowed = properties.find(welcome.properties, Property.RECEIVE_MAXIMUM)
        self._window = min(self._window, allowed if isinstance(allowed, int) else _MOST_NUMBERS)

    def _message(self, message: Publish) -> None:
        on_message = self._handlers.get(message.topic)
        if on_message is None and self._held_back is not None:
            self._held_back.append(message)
        elif on_message is None:
            self.lose(f"a message to {message.topic!r}, of which there is no subscription")
        elif message.qos == 0:
            on_message(message)
        elif message.qos == 1:
            on_message(message)
            self._answer(Kind.PUBACK, message.number)
        else:
            if message.number not in self._kept.unreleased:
                self._kept.unreleased.add(message.number)
                on_message(message)
            self._answer(Kind.PUBREC, message.number)

    def _answered(self, answer: Answer) -> None:
        kind, number, code, given = answer
        if kind is Kind.PUBREL:
            self._kept.unreleased.discard(number)
            self._answer(Kind.PUBCOMP, number)
            return
        expected, sent = self._under_way.get(number, (None, None))
        if sent is None or kind is not expected:
            self.lose(f"the server does not speak MQTT: {kind.name} for packet identifier {number}")
            return
        if code >= codes.FAILURE:
            if not sent.done():
                sent.set_exception(codes.failure(code, given))
                sent.exception()
        elif kind is Kind.PUBREC:
            self._under_way[number] = (Kind.PUBCOMP, sent)
            self._answer(Kind.PUBREL, number)
            return
        else:
            _done(sent)
        del self._under_way[number]
        if self._waiting:
            self._send(*self._waiting.popleft())

    def _answer(self, kind: Kind, number: int) -> None:
        self.write(bytes((kind << 4 | packets.FLAGS[kind], 2, number >> 8, number & 0xFF)))

    @staticmethod
    def _subscribed(answer: asyncio.Future[int], code: int, given: Properties) -> None:
        if answer.done():
            return
        if code >= codes.FAILURE:
            fail(answer, f"the server refuses the subscription: {codes.meaning(code, given)}")
        else:
            answer.set_result(code)

    def _keep_alive(self, keep_alive_s: float) -> None:
        """Ask for a sign of life when nothing was sent for so long; by the next time something must come or go."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self.leaving:
            return
        unsent = self._transport.get_write_buffer_size()
        moves = bool(self._asked_s) and (self.reads != self._seen_reads or 0 < unsent < self._seen_unsent)
        if moves:
            self._asked_s = now  # the ping, or its answer, is behind what is under way
        self._seen_reads, self._seen_unsent = self.reads, unsent
        if self._asked_s and now - self._asked_s >= keep_alive_s:
            self.lose(f"the server has not answered a ping for {keep_alive_s:g} s")
            return
        # While an answer is on its way the server has to hear of us, too (MQTT 5, 3.1.2.10): reading tells it nothing.
        if (not self._asked_s or (moves and not unsent)) and now - self._wrote_s >= keep_alive_s:
            self._asked_s = now
            self.write(packets.encode(Ping(Kind.PINGREQ), self._version))
        due = (self._asked_s or self._wrote_s) + keep_alive_s
        self._beat = loop.call_at(due, self._keep_alive, keep_alive_s)

    def _fail_all(self, reason: str) -> None:
        if self._beat is not None:
            self._beat.cancel()
        fail(self._welcome, reason)
        for subscribing in self._subscribing.values():
            fail(subscribing, reason)
        for answer in (*self._unanswered_yet(), *self._to_drain):
            fail(answer, reason)
        for held in (self._subscribing, self._under_way, self._waiting, self._to_drain):
            held.clear()


async def reach(at: Endpoint, terms: Terms, kept: Kept | None = None) -> Session:
    """A connection that has not introduced itself; StackError when there is none to be had.

    kept: of this client's earlier connections.
    """
    return await opened(lambda: Session(terms, kept or Kept()), at)


async def connect(at: Endpoint, terms: Terms, kept: Kept | None = None) -> Session:
    """Open a connection; StackError when it is refused.  kept: of this client's earlier connections."""
    session = await reach(at, terms, kept)
    await session.hello(terms)
    return session


def _done(answer: asyncio.Future[None]) -> None:
    if not answer.done():
        answer.set_result(None)
