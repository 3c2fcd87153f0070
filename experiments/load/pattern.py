"""What the module of a pattern has, and what it is given."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from experiments.load import patterns
from experiments.load.clock import Clock
from experiments.load.recording import DeliveredLog
from records.manifest import Consumer, Producer
from records.raised import located
from records.workload import Pattern
from stacks.driver import Connection, Handler, Publisher

_HAVING = ("NEEDS", "produce", "consume")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the clients of one node share.

    seed: of what clients draw.  replies: by producer, the consumer whose deliveries are the replies to it.  tasks: what
    receives without end.
    """

    log: DeliveredLog
    clock: Clock
    seed: int
    replies: dict[int, int]
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def handler(self, consumer: int) -> Handler:
        """What a consumer's driver calls with each message."""
        now = time.monotonic_ns
        arrived = self.log.arrived
        self.log.by_consumer.setdefault(consumer, 0)

        def receive(body: bytes, redelivered: bool) -> None:
            arrived(consumer, now(), body, redelivered)

        return receive


class PatternModule(Protocol):
    """NEEDS: what the connections of a stack that offers the pattern have, of stacks.driver.

    work: the branch of records.workload.Workload that is this pattern's.
    """

    NEEDS: tuple[type, ...]

    async def produce(self, connection: Connection, producer: Producer, work: Any, site: Site) -> Publisher:
        """What sends a producer's messages; StackError when refused."""

    async def consume(self, connection: Connection, consumer: Consumer, work: Any, site: Site) -> None:
        """Returns when the consumer will have its messages; StackError when refused."""


def module(pattern: Pattern) -> PatternModule:
    """The module of a pattern; NotImplementedError where there is none."""
    name = f"experiments.load.patterns.{pattern.value}"
    try:
        return cast(PatternModule, import_module(name))
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise NotImplementedError(
            f"pattern {pattern.value!r} sends and receives nothing: there is no {name.replace('.', '/')}.py"
        ) from None


def why_not(pattern: Pattern) -> str:
    """Why no load can follow a pattern, '' when one can."""
    try:
        found = module(pattern)
    except NotImplementedError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - somebody else's module may raise anything
        return f"the module of pattern {pattern.value!r} fails: {located(error, within=Path(patterns.__file__).parent)}"
    if lacks := [name for name in _HAVING if not hasattr(found, name)]:
        having = f"{', '.join(_HAVING[:-1])} and {_HAVING[-1]}"
        return f"the module of pattern {pattern.value!r} has no {lacks[0]}; a module there has {having}"
    return ""
