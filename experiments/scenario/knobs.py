"""What a scenario sets of its stacks, held against what these declare."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.scenario.settings import Settings
from records.yaml_lines import Key
from stacks import registry
from stacks.knobs import KnobsError, unsaid


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """What is wrong with the knobs: the key that says so, and what is allowed.

    Of the cell's own stack, those have to be there that every scenario says itself.  A stack that is not known, or
    cannot be used, is told of elsewhere when it is the cell's own.
    """
    for name, given in settings.knobs.items():
        try:
            registry.get(name, given)
        except KnobsError as error:
            yield from ((("knobs", name, knob) if knob else ("knobs", name), why) for knob, why in error.problems)
        except registry.UnknownStackError as error:
            if name != settings.stack:
                yield ("knobs", name), str(error)
    yield from _unsaid(settings)


def _unsaid(settings: Settings) -> Iterator[tuple[Key, str]]:
    try:
        kind = registry.knobs_of(settings.stack)
    except registry.UnknownStackError:
        return
    if missing := unsaid(kind, settings.knobs.get(settings.stack, {})):
        usual = ", ".join(f"{one}: {kind.model_fields[one].default}" for one in missing) if kind else ""
        yield ("stack",), f"{settings.stack!r} needs knobs that every scenario says itself, such as {{{usual}}}"
