"""What a scenario says of its topology: a mapping with `kind`, and what that kind has beside it.  Pure.

A kind is a subclass of Topology in a module of its own below topologies/kinds, where it is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated

from pydantic import Field

from records.errors import CannotGoOn
from records.modules import tried
from records.raised import located
from records.written import Written
from topologies import kinds
from topologies.plan import Host, Segment, TopologyPlan

USUAL = "star"
Several = Annotated[int, Field(ge=1, le=64)]
ProfileName = Annotated[str, Field(min_length=1)]


class Topology(Written):
    """A kind's settings; its module gives `kind` as a Literal and the plan."""

    kind: str

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """The network for so many stations, named sta1, sta2 ...; ValueError when there is none.

        network: the profile of the medium that stations hang on.
        """
        raise NotImplementedError(type(self).__name__)

    def profiles(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """The link profiles that the settings name beside `network`, each with its key."""
        yield from ()


class Linked(Topology):
    """A topology with links of its own.  link: their profile.  links: that of single ones, by the link's name."""

    link: ProfileName
    links: dict[str, ProfileName] = Field(default={})

    def profiles(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """That of all links and those of single ones."""
        yield ("link",), self.link
        for name, profile in self.links.items():
            yield ("links", name), profile

    def profile_of(self, names: Iterable[str]) -> Mapping[str, str]:
        """Link to profile, for all links that there are; ValueError for settings of one that is not among them."""
        found = dict.fromkeys(names, self.link)
        if unknown := [name for name in self.links if name not in found]:
            raise ValueError(f"links: {unknown[0]!r} is not one of {', '.join(found) or 'none: there are no links'}")
        return found | self.links


@cache
def known() -> dict[str, type[Topology]]:
    """Every kind, by name; CannotGoOn where a module cannot be imported, or its kind not be told by its name."""
    found, failed = tried(kinds)
    if failed:
        raise CannotGoOn(f"topologies/kinds/{next(iter(failed.values()))}")
    try:
        return kinds_of(found.values())
    except ValueError as error:
        raise CannotGoOn(str(error)) from error


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Whatever a kind's module raises is a ValueError that says, after `what`, where; of its own nothing is changed."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"{what}: {located(error, within=Path(kinds.__file__).parent)}") from error


def planned(topology: Topology, *, stations: int, network: str) -> TopologyPlan:
    """Its plan; ValueError when there is none, or its module fails or gives something else."""
    what = f"topology {topology.kind} fails"
    with telling(what):
        plan: object = topology.plan(stations=stations, network=network)
    if not isinstance(plan, TopologyPlan):
        raise ValueError(f"{what}: plan of {type(topology).__module__} returns {plan!r}, which is no TopologyPlan")
    return plan


def profiles(topology: Topology) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The profiles that it names, each with its key; ValueError when its module fails."""
    with telling(f"topology {topology.kind} fails"):
        return tuple(topology.profiles())


def kinds_of(found: Iterable[ModuleType]) -> dict[str, type[Topology]]:
    """The kinds that are defined in these modules, by name; ValueError where one has no name, or two have the same."""
    by_name: dict[str, type[Topology]] = {}
    for module in found:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Topology) and value.__module__ == module.__name__:
                name = value.model_fields["kind"].default
                if not isinstance(name, str):
                    raise ValueError(
                        f'{module.__name__}: {value.__name__}.kind has no value; write kind: Literal["it"] = "it"'
                    )
                if name in by_name:
                    raise ValueError(f"topology {name!r} is in {by_name[name].__module__} and {module.__name__}")
                by_name[name] = value
    return dict(sorted(by_name.items()))


def parse(data: object) -> Topology:
    """The topology that a mapping, or the name of a kind alone, means.

    ValueError for a kind that there is none of, pydantic's ValidationError for what the kind does not take.
    """
    if isinstance(data, Topology):
        return data
    if isinstance(data, str):
        data = {"kind": data}
    if not isinstance(data, Mapping):
        raise ValueError(f"a topology is a mapping with its kind, which is one of {', '.join(known())}")
    kind = data.get("kind", USUAL)
    if not isinstance(kind, str) or kind not in known():
        raise ValueError(f"kind {kind!r} is not one of {', '.join(known())}")
    keys = known()[kind].model_fields
    if unknown := [key for key in data if key not in keys]:
        raise ValueError(f"{unknown[0]!r} is no key of topology {kind}, which has {', '.join(keys)}")
    with telling(f"topology {kind} fails"):
        return known()[kind].model_validate({"kind": kind, **data})


def stations(count: int) -> tuple[Host, ...]:
    """Stations of the usual names."""
    return tuple(Host(name=f"sta{number}", role="station") for number in range(1, count + 1))


def servers(count: int) -> tuple[Host, ...]:
    """One is called `server`, several are numbered."""
    names = ["server"] if count == 1 else [f"server{number}" for number in range(1, count + 1)]
    return tuple(Host(name=name, role="server") for name in names)


def spread(stations: Iterable[Host], places: int) -> tuple[tuple[str, ...], ...]:
    """Names of stations dealt out to places in turn: number i to place i mod places.  ValueError if one stays empty."""
    names = [host.name for host in stations]
    if len(names) < places:
        raise ValueError(f"{places} media need {places} stations or more, not {len(names)}")
    return tuple(tuple(names[place::places]) for place in range(places))


def listed(value: object) -> object:
    """Words of a scenario, which cannot give a list: that would be a factor."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def check_words(key: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise ValueError for words of a key that are not allowed, and for none at all."""
    wrong = next((word for word in given if word not in allowed), "")
    if wrong or not given:
        raise ValueError(f"{key}: {wrong!r} is not one of {', '.join(allowed)}")


def media_at(
    places: Sequence[str], stations: Sequence[Host], network: str, *, choice: Mapping[str, Sequence[str]]
) -> Iterator[Segment]:
    """A medium for each server that has stations, which are dealt out to them in turn.

    places: names of servers, or a word of `choice`, which means several.
    """
    names = list(dict.fromkeys(name for lists in choice.values() for name in lists))
    check_words("stations_at", places, [*choice, *names])
    at = list(dict.fromkeys(name for place in places for name in choice.get(place, (place,))))
    for name, some in zip(at, spread(stations, len(at)), strict=True):
        yield Segment(name=f"at-{name.removeprefix('server')}", profile=network, stations=some, wired=(name,))
