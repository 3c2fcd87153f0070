"""`lab stacks`: the stacks there are, what each offers, and what is installed of it."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.verbs.dispatch import done_by


@done_by("lab.stacks")
def stacks(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="STACK", help="Those to list; default: all.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the stacks as JSON, and nothing else.")] = False,
) -> None:
    """List the stacks: what they offer and guarantee, their knobs, what is installed, and what brings the rest."""
