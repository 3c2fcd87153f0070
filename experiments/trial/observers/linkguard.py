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
    """Ask a link once a second, and when the body fails, whether it works; what it says when it does not is raised."""
    if link is None:
        yield
        return
    body = asyncio.current_task()
    assert body
    found: list[Exception] = []
    failed: Exception | None = None

    async def look() -> None:
        try:
            await asyncio.to_thread(link.check)
        except (KernelError, OSError) as error:
            found.append(error)

    async def watch() -> None:
        while not found:
            await asyncio.sleep(PERIOD_S)
            await look()
        body.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not found:
            raise
    except Exception as error:
        watcher.cancel()
        if not found:
            await look()  # a client may notice first
        if not found:
            raise
        failed = error
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher
    if found:
        if body.uncancel():  # somebody else, too, wants the body to end
            raise asyncio.CancelledError
        raise found[0] from failed
