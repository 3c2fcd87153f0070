"""How many, in words."""

from __future__ import annotations


def several(count: int, what: str = "trial") -> str:
    """As in `1 trial` and `2,000 trials`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def out_of(some: int, every: int, what: str = "trial") -> str:
    """As in `2 of 3 trials`; where there is only one, `the one trial`."""
    return f"the one {what}" if some == every == 1 else f"{some} of {several(every, what)}"
