"""One producer's loop: closed (the next send waits for an answer) or open (the schedule alone decides)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from functools import partial

from experiments.load.clock import Clock
from experiments.load.recording import PublishedLog
from records.marker import Marker, pack_into
from records.sending import Bursts
from stacks.driver import Connection, EndedError, FullError, Publisher, StackError, UnansweredError

# After a refused send, also before it is repeated: long enough not to spin, short against any window.
PAUSE_NS = 10_000_000
# An open loop that is behind its schedule at the end may catch up for so long; what is then unsent never is.
CATCH_UP_NS = 1_000_000_000
# A stack that answers at once would never let the event loop have a turn.
TURN_EVERY = 64


@dataclass(slots=True)
class Lateness:
    """The worst delay that was the generator's own, from `since_ns` on."""

    since_ns: int = 0
    worst_ns: int = 0

    def observe(self, due_ns: int, now_ns: int) -> None:
        if now_ns - due_ns > self.worst_ns and due_ns >= self.since_ns:
            self.worst_ns = now_ns - due_ns


@dataclass(slots=True, kw_only=True)
class Producer:
    """A producer that is connected.  bodies: of each message in turn, reused; the first bytes become the marker."""

    id: int
    connection: Connection
    publisher: Publisher
    log: PublishedLog
    bodies: Iterator[bytearray]
    properties: Iterator[int | None]
    clock: Clock
    lateness: Lateness
    _pending: dict[int, asyncio.Future[object]] = field(default_factory=dict)
    _broken: BaseException | None = None
    _ended: bool = False

    async def closed_loop(self, *, end_ns: int, in_flight: int = 1, bursts: Bursts | None = None) -> None:
        """Send until end_ns, each message when one of in_flight is answered; ends early with what carries them.

        After a burst all of its messages are answered before its pause begins.
        """
        if bursts is None:
            await self._burst(end_ns, in_flight, None)
            return
        while self._goes_on(end_ns):
            await self._burst(end_ns, in_flight, bursts.messages)
            await self.clock.sleep_until(min(self.clock.now_ns() + round(bursts.pause_s * 1e9), end_ns))

    def _goes_on(self, end_ns: int) -> bool:
        return self.clock.now_ns() < end_ns and self.connection.lost is None and not self._ended

    async def _burst(self, end_ns: int, in_flight: int, messages: int | None) -> None:
        """Send so many messages, or without end, and wait for all answers."""
        last = None if messages is None else len(self.log) + messages
        if in_flight == 1:
            await self._one_by_one(end_ns, last)
            return
        async with asyncio.TaskGroup() as slots:
            for _ in range(in_flight):
                slots.create_task(self._one_by_one(end_ns, last))

    async def _one_by_one(self, end_ns: int, last: int | None) -> None:
        """Send messages up to number `last`, each when the one before it is answered; others may do so beside this."""
        now, log = self.clock.now_ns, self.log
        t_ready = now()
        while self._goes_on(end_ns) and (last is None or len(log) < last):
            t_send = now()
            self.lateness.observe(t_ready, t_send)
            seq, body, prop = len(log), next(self.bodies), next(self.properties)
            marker = Marker(self.id, seq, t_send)
            pack_into(body, marker)
            log.sent(t_send, t_send, prop, len(body))
            left = False
            try:
                answer = self.publisher.send(body, prop)
                left = True
                await self._until_taken(answer, body, marker, prop, end_ns)
            except StackError as error:
                self._failed(seq, error, left)
                await self.clock.sleep_until(now() + PAUSE_NS)
                t_ready = now()
            else:
                t_ready = now()
                log.answered(seq, t_ready)
            if (seq + 1) % TURN_EVERY == 0:
                await asyncio.sleep(0)
                t_ready = now()

    async def _until_taken(
        self, answer: Awaitable[object], body: bytearray, marker: Marker, prop: int | None, end_ns: int
    ) -> None:
        """Send the same message again for as long as the destination is full, until end_ns."""
        while True:
            try:
                await answer
                return
            except FullError:
                if self.clock.now_ns() >= end_ns:
                    raise
            self.log.retries += 1
            await self.clock.sleep_until(self.clock.now_ns() + PAUSE_NS)
            pack_into(body, marker)  # another message may have been in this buffer meanwhile
            answer = self.publisher.send(body, prop)

    async def open_loop(self, *, go_ns: int, end_ns: int, schedule: Iterator[int]) -> None:
        """Send at go_ns + each offset of the schedule until end_ns, whatever became of earlier messages.

        A message that a full destination refuses is not sent again: the schedule goes on.  So it does without a
        connection: what was due then is in doubt, as what had just been sent.  Raises what a send has ended with that
        is no StackError: a mistake of the driver.
        """
        for turn, offset in enumerate(schedule, 1):
            due = go_ns + offset
            if due >= end_ns:
                return
            if due > self.clock.now_ns() or turn % TURN_EVERY == 0:
                await self.clock.sleep_until(due)
            if self.clock.now_ns() >= end_ns + CATCH_UP_NS:
                self.lateness.observe(due, self.clock.now_ns())
                return
            self._raise_if_broken()
            if self.connection.lost is None:
                self._send(due)
            else:
                self._not_sent(due)

    def abandon(self) -> None:
        """Forget the answers that have not come: these messages stay in doubt.  Raises as `open_loop` does."""
        pending, self._pending = self._pending, {}
        for seq, answer in pending.items():
            if answer.done():  # in this turn of the loop, of which it was to be told at the end
                self._answered(seq, answer)
            else:
                answer.cancel()
        self._raise_if_broken()

    def _send(self, due_ns: int) -> None:
        seq, body, prop, t_send = len(self.log), next(self.bodies), next(self.properties), self.clock.now_ns()
        self.lateness.observe(due_ns, t_send)
        pack_into(body, Marker(self.id, seq, t_send))
        self.log.sent(due_ns, t_send, prop, len(body))
        try:
            answer = asyncio.ensure_future(self.publisher.send(body, prop))
        except StackError as error:
            self._failed(seq, error, left=False)
            return
        if answer.done():
            self._answered(seq, answer)
        else:
            self._pending[seq] = answer
            answer.add_done_callback(partial(self._came, seq))

    def _not_sent(self, due_ns: int) -> None:
        """A message that nobody took: left out, those before it would tell how long messages take."""
        now = self.clock.now_ns()
        self.log.sent(due_ns, now, next(self.properties), len(next(self.bodies)))
        self.log.cut_off(len(self.log) - 1, now)

    def _came(self, seq: int, answer: asyncio.Future[object]) -> None:
        if self._pending.pop(seq, None) is not None:
            self._answered(seq, answer)

    def _answered(self, seq: int, answer: asyncio.Future[object]) -> None:
        if answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            self.log.answered(seq, self.clock.now_ns())
        elif isinstance(error, StackError):
            self._failed(seq, error, left=True)
        elif self._broken is None:  # raised here only the loop would hear of it
            self._broken = error

    def _raise_if_broken(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _failed(self, seq: int, error: StackError, left: bool) -> None:
        """A message that left and was cut off, or that nobody answers, may have arrived: it stays in doubt.

        Else it was refused.
        """
        self._ended = self._ended or isinstance(error, EndedError)
        if isinstance(error, UnansweredError):
            self.log.given_up(seq, self.clock.now_ns())
        elif left and self.connection.lost is not None:
            self.log.cut_off(seq, self.clock.now_ns())
        else:
            self.log.refused(seq)
