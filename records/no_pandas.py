"""Keeping pandas out of processes that never meet a data frame.

pyarrow imports it, where it is installed, with the first array that it makes: 0.3 s of processor, of which a trial has
several processes; in the lab kernel it takes seconds.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

import pyarrow as pa


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


def leave_it_out() -> None:
    """pyarrow goes without pandas in this process, and who imports it by name, as Spark does, has it."""
    if "pandas" in sys.modules:
        return
    without = _Without()
    sys.meta_path.insert(0, without)
    try:
        pa.array(
            [None]
        )  # pyarrow looks for it with the first array, and never again unless somebody wants a data frame
    finally:
        sys.meta_path.remove(without)
