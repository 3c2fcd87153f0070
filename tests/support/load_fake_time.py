"""A clock that stands still unless it is slept on or pushed, and a stack whose answers the test gives."""

import asyncio
from collections.abc import Mapping
from itertools import repeat

from experiments.load.publishing import Lateness, Producer
from experiments.load.recording import PublishedLog
from records.messaging import Ack, Delivery
from stacks.driver import FullError, Handler, Publisher, StackError, Subscription

MS = 1_000_000


class FakeClock:
    """oversleeps: how late a sleep until a given time wakes, in nanoseconds."""

    def __init__(self, oversleeps: dict[int, int] | None = None) -> None:
        self.t_ns = 0
        self._oversleeps = oversleeps or {}

    def now_ns(self) -> int:
        return self.t_ns

    async def sleep_until(self, t_ns: int) -> None:
        self.t_ns = max(self.t_ns, t_ns + self._oversleeps.get(t_ns, 0))
        await asyncio.sleep(0)


class HandStack:
    """A connection and publisher in one.  answer_ns: how long each answer takes, None = it never comes.

    refuses, full, errors: which sends, counted from 0, are answered by an error.
    """

    def __init__(
        self,
        clock: FakeClock,
        *,
        answer_ns: int | None = 0,
        refuses: frozenset[int] = frozenset(),
        full: frozenset[int] = frozenset(),
        errors: Mapping[int, StackError] | None = None,
    ) -> None:
        self.lost: str | None = None
        self.waiting: list[asyncio.Future[None]] = []
        self.sent_at_ns: list[int] = []
        self._clock = clock
        self._answer_ns = answer_ns
        self._errors = {
            **dict.fromkeys(refuses, StackError("refused")),
            **dict.fromkeys(full, FullError("full")),
            **(errors or {}),
        }
        self.bodies: list[bytes] = []

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        del prop
        self.bodies.append(bytes(body))
        answer = asyncio.get_running_loop().create_future()
        self.sent_at_ns.append(self._clock.t_ns)
        if (error := self._errors.get(len(self.sent_at_ns) - 1)) is not None:
            answer.set_exception(error)
        elif self._answer_ns is None:
            self.waiting.append(answer)
        else:
            self._clock.t_ns += self._answer_ns
            answer.set_result(None)
        return answer

    def lose(self) -> None:
        """The connection breaks."""
        self.lost = "cut off"
        for answer in self.waiting:
            answer.set_exception(StackError(self.lost))

    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        del topic, delivery
        return self

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None: ...

    async def close(self) -> None: ...


def hand_producer(clock: FakeClock, stack: HandStack) -> Producer:
    return Producer(
        id=0,
        connection=stack,
        publisher=stack,
        log=PublishedLog(producer=0, topic=0),
        bodies=repeat(bytearray(24)),
        properties=repeat(None),
        clock=clock,
        lateness=Lateness(),
    )
