"""Scenario files: any list is a factor, and every combination of levels is a cell."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulation.line import ceiling
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.scenario import called, cases, knobs, limits, misfits, nodes, overlay, overrides, programs, segments
from experiments.scenario.settings import Settings
from records.comparing import Compared, compared, problems
from records.errors import WrongInput
from records.schema import VERSION
from records.workload import Acknowledged, PubSub
from records.yaml_lines import Key
from stacks import registry
from stacks.driver import Subscription
from topologies.topology import profiles

_NOT_FACTORS = {"checks", "trials", "parallel", "nodes", overrides.NAME}  # keys whose lists are lists
# What no cell has of its own.
_OF_THE_WHOLE = {"scenario", "question", "compare", "baseline", "seed", "trials", "parallel", "repeat_spoiled"}
_NOT_LAID_OVER = _OF_THE_WHOLE | {overrides.NAME}
_Condition = tuple[Key, dict[str, tuple[str, ...]]]  # where it stands, and the levels of each factor
_MAX_CELLS = 10_000
_MAX_NAME = 180
_RESERVED = {"reference"}


class ScenarioError(WrongInput):
    """A scenario that cannot be run; one line per problem, each with file, line, path, value and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCell:
    """One combination of levels (factor name to printed level), with what it means.

    links: the profiles of the topology's own links, by the name that the scenario gives them.
    """

    name: str
    levels: dict[str, str]
    settings: Settings
    profile: LinkProfile
    links: dict[str, LinkProfile] = field(default_factory=dict)

    @property
    def meaning(self) -> dict[str, Any]:
        """What a campaign keeps of it."""
        links = {name: profile.model_dump(mode="json") for name, profile in self.links.items()}
        found = {"settings": self.settings.model_dump(mode="json"), "profile": self.profile.model_dump(mode="json")}
        return found | ({"links": links} if links else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A checked scenario.  source: its file, and those it is based on.

    digest changes with anything that can change a measurement.
    """

    path: Path
    source: bytes
    name: str
    factors: dict[str, tuple[str, ...]]
    cells: tuple[ScenarioCell, ...]

    @property
    def settings(self) -> Settings:
        """Settings of the first cell, for what all cells share."""
        return self.cells[0].settings

    @property
    def compared(self) -> Compared | None:
        """The factor that is compared, and the level that the others are held against; None when nothing is."""
        return compared(self.factors, factor=self.settings.compare, baseline=self.settings.baseline)

    @property
    def digest(self) -> str:
        """SHA-256 over schema version, cells and link profiles."""
        return digest_of((cell.name, cell.meaning) for cell in self.cells)


def digest_of(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """That of a scenario with these cells: the name of each and its meaning, as a campaign keeps both."""
    content = [[name, *meaning.values()] for name, meaning in cells]
    return hashlib.sha256(json.dumps([VERSION, content], sort_keys=True).encode()).hexdigest()


def only(scenario: Scenario, wanted: Iterable[str]) -> Scenario:
    """The cells whose levels are among those wanted, each given as `factor=level`.

    Of several levels of one factor any will do.  ScenarioError when there is no such factor or level.
    """
    levels: dict[str, set[str]] = {}
    for word in wanted:
        factor, equals, level = word.partition("=")
        if not equals or factor not in scenario.factors:
            raise ScenarioError(f"--only {word}: not FACTOR=LEVEL with one of the factors {_list(scenario.factors)}")
        if level not in scenario.factors[factor]:
            raise ScenarioError(f"--only {word}: {factor} has the levels {_list(scenario.factors[factor])}")
        levels.setdefault(factor, set()).add(level)
    return replace(
        scenario,
        factors={
            factor: tuple(level for level in known if level in levels.get(factor, known))
            for factor, known in scenario.factors.items()
        },
        cells=tuple(
            cell for cell in scenario.cells if all(cell.levels[factor] in some for factor, some in levels.items())
        ),
    )


def load(path: Path) -> Scenario:
    """Read and check a scenario file; ScenarioError names every problem found."""
    try:
        text = overlay.read(path)
    except overlay.OverlayError as error:
        raise ScenarioError(str(error)) from error
    factors = dict(_factors(text.data, ()))
    complain = _Complaints(path, text.places)
    _check_factors(factors, complain)
    exceptions = text.data.get(overrides.NAME, [])
    for at, problem in overrides.problems(exceptions, factors, whole=_NOT_LAID_OVER, lists=_NOT_FACTORS):
        complain.add(at, problem)
    complain.raise_if_any()
    sizes = [len(levels) for levels in factors.values()]
    cells = 1
    for size in sizes:
        cells *= size
    if cells > _MAX_CELLS:
        raise ScenarioError(f"{path}: {cells} cells; at most {_MAX_CELLS} can be run")
    printed = {
        called.factor(key): tuple(called.level(key, level) for level in levels) for key, levels in factors.items()
    }
    built = [_cell(text.data, factors, choice, printed, complain) for choice in itertools.product(*map(range, sizes))]
    complain.raise_if_any()
    _check_references(built[0].settings, printed, overrides.conditions(exceptions), complain)
    for at, problem in programs.unlike(cell.settings for cell in built):
        complain.add(at, problem)
    complain.raise_if_any()
    name = built[0].settings.scenario
    return Scenario(path=path, source=text.source, name=name, factors=printed, cells=tuple(built))


def _check_references(
    settings: Settings, factors: dict[str, tuple[str, ...]], exceptions: Iterable[_Condition], complain: _Complaints
) -> None:
    """What a scenario says of its own factors: what is compared, what runs side by side, and where overrides hold."""
    for key, problem in problems(factors, factor=settings.compare, baseline=settings.baseline):
        complain.add((key,), problem)
    _check_conditions([(("parallel", "when"), settings.parallel.when), *exceptions], factors, complain)
    complain.raise_if_any()


def _waivers(settings: Settings, place: Callable[[Key], Key]) -> Iterator[_Condition]:
    """Where each waiver of a cell holds."""
    for number, waiver in enumerate(settings.checks.waive):
        named: dict[str, tuple[str, ...]] = {factor: (level,) for factor, level in waiver.when.items()}
        yield place(("checks", "waive", number, "when")), named


def _check_conditions(
    conditions: Iterable[_Condition], factors: dict[str, tuple[str, ...]], complain: _Complaints
) -> None:
    for at, when in conditions:
        for factor, levels in when.items():
            if not levels:
                complain.add((*at, factor), "[]: it would never hold: name a level, or several")
            if factor not in factors:
                complain.add((*at, factor), f"is not a factor of this scenario: {_list(factors)}")
                continue
            for level in levels:
                if level not in factors[factor]:
                    complain.add((*at, factor), f"{level!r} is not one of its levels: {_list(factors[factor])}")


def _list(words: Iterable[str]) -> str:
    return ", ".join(words) or "there is none"


class _Complaints:
    """Problems, each once, in the order in which they were met."""

    def __init__(self, path: Path, places: dict[Key, overlay.Place]) -> None:
        self.path, self._places = path, places
        self._found: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def file_of(self, at: Key) -> Path:
        """The file that says what stands at `at`."""
        return self._place(at)[0]

    def _place(self, at: Key) -> overlay.Place:
        while at and at not in self._places:
            at = at[:-1]
        return self._places.get(at, (self.path, 1))

    def add(self, at: Key, problem: str) -> None:
        path, line = self._place(at)
        where = ".".join(str(part) for part in at if isinstance(part, str))
        self._found[f"{path}:{line}: {where + ': ' if where else ''}{problem}"] = None

    def raise_if_any(self) -> None:
        if self._found:
            raise ScenarioError("\n".join(self._found))


def _factors(data: Any, at: Key) -> Iterator[tuple[Key, list[Any]]]:
    """Every list below `data`, by path; lists inside a level belong to the level."""
    for key, value in data.items():
        if not at and key in _NOT_FACTORS:
            continue
        if isinstance(value, list):
            yield (*at, key), value
        elif isinstance(value, dict):
            yield from _factors(value, (*at, key))


def _check_factors(factors: dict[Key, list[Any]], complain: _Complaints) -> None:
    labels: dict[str, Key] = {}
    for at, problem in cases.problems(factors.get(cases.KEY, ()), factors, whole=_NOT_LAID_OVER, lists=_NOT_FACTORS):
        complain.add(at, problem)
    for factor in factors:
        if factor[0] in _OF_THE_WHOLE:
            complain.add(factor, "holds for the whole campaign, so it cannot be a factor: give one value")
    for factor, levels in factors.items():
        printed = [called.level(factor, level) for level in levels]
        if not levels:
            complain.add(factor, "[]: a factor needs at least one level")
        for name in sorted({name for name in printed if printed.count(name) > 1}):
            complain.add(factor, f"two levels are both called {name!r}; each needs a value of its own")
        if (other := labels.setdefault(called.factor(factor), factor)) != factor:
            complain.add(factor, f"{'.'.join(map(str, other))} is a factor of the same name; vary one of them")
    complain.raise_if_any()


def _cell(
    data: dict[str, Any],
    factors: dict[Key, list[Any]],
    choice: tuple[int, ...],
    printed: dict[str, tuple[str, ...]],
    complain: _Complaints,
) -> ScenarioCell:
    chosen = dict(zip(factors, choice, strict=True))
    level_of = {key: factors[key][index] for key, index in chosen.items()}
    plain = _replaced(data, level_of, ())
    if cases.KEY in level_of:
        plain = cases.laid_over(plain)
    levels = {called.factor(key): called.level(key, level) for key, level in level_of.items()}
    plain = overrides.laid_over(plain, levels)

    def place(location: tuple[Any, ...]) -> Key:
        if found := overrides.place(data.get(overrides.NAME, ()), levels, location):
            return found
        if overlay.says(level_of.get(cases.KEY), location):
            return (*cases.KEY, chosen[cases.KEY], *location)
        return _with_level(location, chosen)

    try:
        settings = Settings.model_validate(plain)
    except ValidationError as error:
        for location, problem in misfits.told(error, plain):
            complain.add(place(location), problem)
        # Checked further with the other cells' problems still to be found.
        return _invalid_cell(levels)
    if wrong := list(knobs.problems(settings)):
        for at, problem in wrong:
            complain.add(place(at), problem)
        return _invalid_cell(levels)
    _check_conditions(_waivers(settings, place), printed, complain)
    profile = _check_against_the_lab(settings, place, complain)
    links = _links(settings, place, complain)
    if settings.medium == "line" and not complain and (why := segments.left_to_tc(settings, profile, links)):
        complain.add(place(("medium",)), f"'line': {why}")
    return ScenarioCell(name=cell_name(levels), levels=levels, settings=settings, profile=profile, links=links)


def _invalid_cell(levels: dict[str, str]) -> ScenarioCell:
    settings, profile = Settings.model_construct(), LinkProfile.model_construct()
    return ScenarioCell(name=cell_name(levels), levels=levels, settings=settings, profile=profile)


def _check_against_the_lab(settings: Settings, place: Callable[[Key], Key], complain: _Complaints) -> LinkProfile:
    """What only the stacks and the profile library can answer."""
    if settings.scenario in _RESERVED:
        complain.add(("scenario",), f"{settings.scenario!r} is where reference results live: choose another name")
    for check, problem in limits.looser_limits(settings.checks).items():
        complain.add(("checks", "limits", check.value), problem)
    if unknown := settings.trials.unknown(settings.workload):
        complain.add(("trials", "until", "metrics"), unknown)
    for key, problem in programs.problems(settings):
        complain.add(place(key), problem)
    at: Key = ("stack",)
    try:
        stack = settings.driver()
        work = settings.workload
        if work.pattern not in stack.patterns:
            at = ("workload", "pattern")
        registry.require(stack, patterns={work.pattern}, guarantees=work.guarantees())
        if isinstance(work, Acknowledged):
            name = "any" if isinstance(work, PubSub) and work.durable else None
            if why := stack.why_not(Subscription(name=name, prefetch=work.prefetch)):
                complain.add(place(("workload", "prefetch")), why)
    except (registry.UnknownStackError, registry.StackLacksError) as error:
        complain.add(place(at), str(error))
    try:
        profile = library.load(settings.network, beside=complain.file_of(place(("network",))).parent)
        profile.groups([f"sta{number}" for number in range(1, settings.stations + 1)])
        segments.check_media(settings, profile)
        if settings.medium == "line" and (why := ceiling.why_not(*segments.media(settings, profile))):
            complain.add(place(("medium",)), f"'line': {why}")
        return profile
    except (library.ProfileError, ValueError) as error:
        for line in str(error).splitlines():
            complain.add(place(("network",)), line)
        return LinkProfile.model_construct()


def _links(settings: Settings, place: Callable[[Key], Key], complain: _Complaints) -> dict[str, LinkProfile]:
    """The profiles of the topology's links; complains of those that cannot be, and of a topology that cannot."""
    with suppress(registry.UnknownStackError):  # which has been told
        for word, problem in segments.problems(settings):
            complain.add(place((word,)), problem)
        for at, problem in nodes.problems(settings):
            complain.add(place(at), problem)
    found: dict[str, LinkProfile] = {}
    try:
        named = profiles(settings.topology)
    except ValueError as error:
        complain.add(place(("topology",)), str(error))
        return found
    for key, name in named:
        at = place(("topology", *key))
        try:
            found[name] = library.load(name, beside=complain.file_of(at).parent)
            if why := segments.unfit_link(found[name]):
                complain.add(at, why)
        except library.ProfileError as error:
            complain.add(at, str(error))
    return found


def cell_name(levels: dict[str, str]) -> str:
    """Folder name of a cell: its levels, or `only` when nothing varies."""
    name = ",".join(f"{factor}={level}" for factor, level in levels.items()) or "only"
    if len(name) > _MAX_NAME:
        name = f"{name[: _MAX_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name


def _replaced(data: Any, levels: dict[Key, Any], at: Key) -> Any:
    if at in levels:
        return levels[at]
    if isinstance(data, dict):
        return {key: _replaced(value, levels, (*at, key)) for key, value in data.items()}
    return data


def _with_level(location: tuple[Any, ...], chosen: dict[Key, int]) -> Key:
    """A path in a cell as a path in the file, where the factor's level has a number."""
    for length in range(len(location), 0, -1):
        if (head := location[:length]) in chosen:
            return (*head, chosen[head], *location[length:])
    return location
