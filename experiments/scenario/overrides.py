"""What holds for some cells only: `overrides`, each laid over the cells that its `when` names.

    overrides:
      - when: {network: wireline-100m, case: [few, many]}
        window: {warmup_s: 5, window_s: 20}

Mapping into mapping, and a later one over an earlier one.  Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from experiments.scenario.overlay import laid_into, misplaced, says
from experiments.scenario.when import holds, with_lists
from records.yaml_lines import Key

NAME = "overrides"
WHEN = "when"


def problems(
    said: Any, factors: Iterable[Key], *, whole: Container[str], lists: Container[str]
) -> Iterator[tuple[Key, str]]:
    """What is wrong with them, but for the levels that they name: where, and what.

    factors: their keys.  whole: keys that hold for the whole campaign.  lists: keys whose lists are no levels.
    """
    if not isinstance(said, list):
        yield (NAME,), f"{said!r}: a list is meant, as in [{{when: {{network: lte}}, window: {{window_s: 60}}}}]"
        return
    for number, one in enumerate(said):
        at = (NAME, number)
        if not isinstance(one, dict) or not isinstance(one.get(WHEN), dict) or not one[WHEN] or len(one) < 2:
            yield at, f"{one!r}: a mapping is meant of `when` (factor to its level, or levels) and what holds there"
            continue
        held = {key: inner for key, inner in one.items() if key != WHEN}
        for path, problem in misplaced(held, factors, whole=whole, lists=lists, what="an override"):
            yield (*at, *path), problem


def conditions(said: Any) -> Iterator[tuple[Key, dict[str, tuple[str, ...]]]]:
    """Where each `when` stands, and what it says."""
    for number, one in enumerate(said):
        yield (NAME, number, WHEN), with_lists(one[WHEN])


def laid_over(data: Mapping[str, Any], levels: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a cell with those overrides laid over them that are meant for its levels."""
    found = {key: value for key, value in data.items() if key != NAME}
    for one in data.get(NAME, ()):
        if holds(with_lists(one[WHEN]), levels):
            found = laid_into(found, {key: value for key, value in one.items() if key != WHEN})
    return found


def place(said: Any, levels: Mapping[str, str], location: Key) -> Key | None:
    """Where the value at `location` of a cell stands, when it is an override that gives it."""
    for number, one in reversed(list(enumerate(said))):
        if holds(with_lists(one[WHEN]), levels) and says(one, location):
            return (NAME, number, *location)
    return None
