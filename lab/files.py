"""Files that users name for what commands write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.location import Place
from records.scratch import scratch


@contextmanager
def filling(target: Place) -> Iterator[Path]:
    """A path to write to, alone in a folder; what is there in the end becomes `target`, whole or not at all.

    A link stays one: what it leads to is written.  Into what is no file, such as a pipe, the bytes are copied.
    """
    if not isinstance(target, Path):
        with scratch("out") as place:
            yield (made := place / "made")
            target.write(made)
        return
    # Asked first: what /dev/stdout leads to may have no name of its own.
    into = target.exists() and not target.is_file()
    file = target if into else target.resolve()
    with scratch("out", None if into else file.parent) as place:
        yield (made := place / "made")
        if into:
            with made.open("rb") as source, file.open("wb") as out:
                shutil.copyfileobj(source, out)
        else:
            made.replace(file)
