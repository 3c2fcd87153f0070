"""From a verb to what does it, imported when the verb is called: that takes a second, and help can do without."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import ParamSpec

from rich.live import Live

from lab.common import err

Words = ParamSpec("Words")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Within, an interrupt stays one: amid a module's import it may come out as another error, of pydantic's core."""
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    noted = {one: handler for one, handler in before.items() if callable(handler)}  # others mean what they say
    for one in noted:
        signal.signal(one, note)
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        for one, handler in noted.items():
            signal.signal(one, handler)


def done_by(module: str) -> Callable[[Callable[Words, None]], Callable[Words, None]]:
    """A verb that is done by the function of its name in `module`, which takes the same parameters, all by keyword.

    A terminal shows at once that the verb has been understood; the line is gone when the module has been imported.
    """

    def decorate(verb: Callable[Words, None]) -> Callable[Words, None]:
        @wraps(verb)
        def call(*args: Words.args, **options: Words.kwargs) -> None:
            name = module.rpartition(".")[2].rstrip("_")
            said = Live(f"starting lab {name}", console=err, auto_refresh=False, transient=True)
            with _interruptible(), said if err.is_terminal and not err.is_dumb_terminal else nullcontext():
                work = getattr(import_module(module), verb.__name__)
            work(*args, **options)

        return call

    return decorate
