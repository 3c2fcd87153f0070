"""`lab profiles`: the link profiles there are, what each needs, and where it can be run."""

from __future__ import annotations

from lab.verbs.dispatch import done_by


@done_by("lab.profiles")
def profiles() -> None:
    """List the link profiles with what they do, what they need of a kernel, and where this machine can run them."""
