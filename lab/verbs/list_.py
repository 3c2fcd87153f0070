"""`lab list`: campaigns, how far they got, where their reports are."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.list_")
def list_campaigns(
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLACE", help="Folders or URIs to look into instead of the results' folder."),
    ] = None,
    results: Results = DEFAULT_RESULTS,
) -> None:
    """List the campaigns, oldest first.

    At a URI those that `lab publish` has copied to it, or into folders of it.
    """
