"""A trial whose link no longer works ends at once, with the link's own words, and not when its window is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from emulation.kernel.namespace import KernelError

PERIOD_S = 1.0


class Checked(Protocol):
    """What can be asked whether it works."""

    def check(self) -> None:
        """Raise KernelError when it does not, with why."""


@asynccontextmanager
async def guarded(link: Checked | None) -> AsyncIterator[None]:
    """Ask a link once a second whether it works; what it says when it does not is raised by the context."""
    if link is None:
        yield
        return
    body = asyncio.current_task()
    assert body
    found: list[Exception] = []

    async def watch() -> None:
        while not found:
            await asyncio.sleep(PERIOD_S)
            try:
                await asyncio.to_thread(link.check)
            except (KernelError, OSError) as error:
                found.append(error)
                body.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not found:
            raise
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher
    if found:
        if body.uncancel():  # somebody else, too, wants the body to end
            raise asyncio.CancelledError
        raise found[0]
