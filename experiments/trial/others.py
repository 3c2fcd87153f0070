"""Trials that run beside this one: none loads its link before all of them stand."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Literal

from records.record import Record

READY = "ready"  # the phase of a trial that waits
_LOOK_S = 0.02


class Begin(Record):
    """What a trial that waits is told, more than once, as a line may be lost on the way: nobody is to come any more."""

    event: Literal["begin"] = "begin"


class Others:
    """What a trial's owner says of them."""

    def __init__(self) -> None:
        self._begun = threading.Event()

    def hear(self, line: bytes) -> None:
        """A Begin as JSON, in whichever thread; anything else is passed over."""
        with suppress(ValueError):
            Begin.model_validate_json(line)
            self._begun.set()

    async def stand(self) -> None:
        """Wait for them."""
        while not self._begun.is_set():
            await asyncio.sleep(_LOOK_S)
