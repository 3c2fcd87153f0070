"""An error of a module that somebody has added, with the line of it: for messages, where a traceback would be told."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb


def located(error: Exception, *, within: Path | None = None) -> str:
    """What was raised and where: `name.py:12: KeyError: 'x'`.

    The line is the last one that was reached in the file of the function that was called; with `within`, in any file
    below that folder.
    """
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}: {type(error).__name__}: {error.msg}"
    called = extract_tb(error.__traceback__)[1:]
    if within is None:
        known = [one for one in called if one.filename == called[0].filename]
    else:
        known = [one for one in called if Path(one.filename).is_relative_to(within)] or called[-1:]
    return f"{Path(known[-1].filename).name}:{known[-1].lineno}: {said}" if known else said
