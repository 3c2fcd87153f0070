"""What made a trial, as tests give it to one: asked once for a process, as a campaign asks once for all its trials."""

from __future__ import annotations

from functools import cache

from experiments.trial import provenance
from experiments.trial.provenance import Provenance


@cache
def origin() -> Provenance:
    """That of this project as it stands."""
    return provenance.gather()
