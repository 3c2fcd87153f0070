"""Keeping Python's garbage collector from pausing a process that times, plays, samples or loads.

A full collection goes through every object of the process and stops all of its threads meanwhile: some 60 ms in a
trial's process on the host, half a second in the lab kernel.  Without it objects still go when the last reference to
them does; those that refer to each other in a circle stay.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNGEST = 0


@contextmanager
def paused() -> Iterator[None]:
    """No collection while the context lasts, in any thread of this process; one before it, so that it begins clean.

    Inside another such context it changes nothing: the outer one ends it.
    """
    if not gc.isenabled():
        yield
        return
    off()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def off() -> None:
    """No collection for the rest of this process's life, but for one now."""
    gc.collect()
    gc.freeze()
    gc.disable()


def sweep() -> None:
    """Free circles among the objects made since the last sweep: for a thread that makes many at a steady pace.

    Each of pyroute2's answers is one.  What is older, and so almost all of the heap, is not looked at.
    """
    gc.collect(_YOUNGEST)
