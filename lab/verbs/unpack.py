"""`lab unpack`: a packed campaign back into a results folder."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.unpack")
def unpack(
    file: Annotated[str, typer.Argument(help="What `lab pack` wrote: a file, or a URI.")],
    results: Results = DEFAULT_RESULTS,
) -> None:
    """Put the campaign in FILE below --results; if it is there, add the trials that it lacks.

    A trial that is there stays.  When it and the pack's are two different runs, nothing is changed.
    """
