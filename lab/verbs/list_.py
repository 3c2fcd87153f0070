"""`lab list`: campaigns, how far they got, where their reports are."""

from __future__ import annotations

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.list_")
def list_campaigns(results: Results = DEFAULT_RESULTS) -> None:
    """List the campaigns, oldest first."""
