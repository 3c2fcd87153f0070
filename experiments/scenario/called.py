"""What the factors of a scenario and their levels are called, in tables, names of folders and sentences.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.scenario import cases, overlay
from records.yaml_lines import Key


def factor(key: Key) -> str:
    """A factor by its last key."""
    return cases.NAME if key == cases.KEY else str(key[-1])


def level(factor: Key, said: Any) -> str:
    """A level as one word, safe in a folder name.

    Of a mapping with several keys, or with `kind` alone, the values in their order; what is in these with its keys.
    """
    if factor == cases.KEY:
        words = [cases.name_of(said)]
    elif isinstance(said, dict):
        # Sizes say as much as their shares.
        pairs = (len(said) == 1 and "kind" not in said) or overlay.is_of_numbers(said)
        words = [*_parts(said if pairs else list(said.values()))]
    else:
        name = "none" if said is None else str(said)
        words = [Path(name).stem if name.endswith((".yaml", ".yml")) else name]
    text = "-".join(map(str, words))
    return "".join(char if char.isalnum() or char in ".-_" else "-" for char in text) or "none"


def _parts(said: Any) -> Iterator[str]:
    """The scalars of nested mappings and lists, and the mappings' keys, in their order."""
    if isinstance(said, dict):
        for key, value in said.items():
            yield str(key)
            yield from _parts(value)
    elif isinstance(said, list):
        for one in said:
            yield from _parts(one)
    else:
        yield str(said)
