"""`lab publish`: a campaign copied to a URI."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.publish")
def publish(
    campaign: Annotated[str, typer.Argument(help="Folder or name of a campaign.")],
    uri: Annotated[str, typer.Argument(metavar="URI", help="Where to: s3://BUCKET/NAME, or a folder.")],
    results: Results = DEFAULT_RESULTS,
) -> None:
    """Copy CAMPAIGN, whose trials have all been run, to URI, and read back every file.

    A list of all files comes last: what was interrupted is not taken for whole, and the same command goes on with it.
    """
