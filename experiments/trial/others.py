"""Trials that run beside this one: none loads its link before all stand, none puts away before all are measured."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Literal

from records.record import Record

Wait = Literal["ready", "measured"]  # the phase of a trial that waits
READY: Wait = "ready"
MEASURED: Wait = "measured"
WAITS = (READY, MEASURED)
_LOOK_S = 0.02


class Begin(Record):
    """What a trial that waits is told, more than once, as a line may be lost on the way: nobody is to come any more.

    after: the phase in which it waits.
    """

    event: Literal["begin"] = "begin"
    after: Wait


class Others:
    """What a trial's owner says of them."""

    def __init__(self) -> None:
        self._come: dict[Wait, threading.Event] = {phase: threading.Event() for phase in WAITS}

    def hear(self, line: bytes) -> None:
        """A Begin as JSON, in whichever thread; anything else is passed over."""
        with suppress(ValueError):
            self._come[Begin.model_validate_json(line).after].set()

    async def come(self, phase: Wait) -> None:
        """Wait for all of them to be as far as this phase."""
        while not self._come[phase].is_set():
            await asyncio.sleep(_LOOK_S)
