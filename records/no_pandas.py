"""Keeping pandas out of processes that never meet a data frame.

pyarrow imports it, where it is installed, with the first array that it makes: 0.3 s of processor, of which a trial has
several processes; in the lab kernel it takes seconds.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec


class _Without:
    """A finder of modules that finds no pandas, whoever asks."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)
        return None


def keep_out() -> None:
    """From now on nothing in this process imports pandas; pyarrow goes without."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Without())
