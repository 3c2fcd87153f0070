"""From a verb to what does it, imported when the verb is called: that takes a second, and help can do without."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from importlib import import_module
from typing import ParamSpec

from rich.live import Live

from lab.common import err

Words = ParamSpec("Words")


def done_by(module: str) -> Callable[[Callable[Words, None]], Callable[Words, None]]:
    """A verb that is done by the function of its name in `module`, which takes the same parameters, all by keyword.

    A terminal shows at once that the verb has been understood; the line is gone when the module has been imported.
    """

    def decorate(verb: Callable[Words, None]) -> Callable[Words, None]:
        @wraps(verb)
        def call(*args: Words.args, **options: Words.kwargs) -> None:
            name = module.rpartition(".")[2].rstrip("_")
            said = Live(f"starting lab {name}", console=err, auto_refresh=False, transient=True)
            with said if err.is_terminal and not err.is_dumb_terminal else nullcontext():
                work = getattr(import_module(module), verb.__name__)
            work(*args, **options)

        return call

    return decorate
