"""What a scenario sets of its stacks, held against what these declare."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.scenario.settings import Settings
from records.yaml_lines import Key
from stacks import registry
from stacks.knobs import KnobsError, unsaid


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """What is wrong with the knobs: the key that says so, and what is allowed.

    Of the cell's own stack, those have to be there that every scenario says itself.  A stack that is not known, cannot
    be used or does not offer the pattern is told of elsewhere when it is the cell's own.
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
        if settings.workload.pattern not in settings.driver().patterns:
            return  # those knobs would not help
    except registry.UnknownStackError:
        return
    except KnobsError:
        pass
    if missing := unsaid(kind, settings.knobs.get(settings.stack, {})):
        usual = ", ".join(f"{one}: {kind.model_fields[one].default}" for one in missing) if kind else ""
        such = f"knobs: {{{settings.stack}: {{{usual}}}}}"
        yield ("stack",), f"{settings.stack!r} needs knobs that every scenario says itself, such as {such}"
