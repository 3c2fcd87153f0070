"""Finding link profiles: the library's by name, a user's own by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulation.profile.events import DIRECTION_KEYS
from emulation.profile.profile import LinkProfile
from emulation.profile.references import BadReference, resolved
from records import yaml_lines
from records.errors import WrongInput
from records.refusals import in_words
from records.yaml_lines import Key

FOLDER = Path(__file__).parents[1] / "profiles"
_KEYS_OF_A_PROFILE = {*LinkProfile.model_fields, *DIRECTION_KEYS}
_CHOICES = {"bernoulli", "gilbert-elliott", "recorded", "JitterTable"}


class ProfileError(WrongInput):
    """A profile that does not exist, or problems of one, a line each: file, line, key, value and what is allowed."""


def names() -> list[str]:
    """Names of the profiles in the library."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str, *, beside: Path | None = None, within: Sequence[Path] = ()) -> LinkProfile:
    """The profile called `name`, or in the file `name` (ending in .yaml, relative to the folder `beside`).

    within: files that are being read and lead here.
    """
    if name.endswith((".yaml", ".yml")):
        return read(((beside or Path()) / name).resolve(), within=within)
    path = FOLDER / f"{name}.yaml"
    if name not in names():
        raise ProfileError(f"no link profile {name!r}; there are {', '.join(names())}, or give a path to a .yaml file")
    return read(path, within=within)


def read(path: Path, *, within: Sequence[Path] = ()) -> LinkProfile:
    """Read and check one profile file, and the files that it names."""
    if path in within:
        raise ProfileError(f"{path}: a handover leads back to this profile")
    try:
        data, lines = yaml_lines.read(path)
    except yaml_lines.YamlError as error:
        raise ProfileError(str(error)) from error
    try:
        data = resolved(data, path.parent, lambda name: _next(name, path, within))
    except BadReference as error:
        raise ProfileError(f"{path}:{lines[error.at]}: {_dotted(error.at)}: {error}") from error
    try:
        return _with_channel(LinkProfile.model_validate(data))
    except ValidationError as error:
        # What both directions have in common is wrong in both, and stands in the file once.
        problems = dict.fromkeys(_problem(detail, path, lines) for detail in error.errors())
        raise ProfileError("\n".join(problems)) from None


def _with_channel(profile: LinkProfile) -> LinkProfile:
    """Bursts hit one station at a time where each has a medium of its own, unless the file says otherwise."""
    if "loss_channel" in profile.model_fields_set or profile.medium == "shared" or not profile.loss_has_memory:
        return profile
    return profile.model_copy(update={"loss_channel": "station"})


def _next(name: str, path: Path, within: Sequence[Path]) -> dict[str, Any]:
    """The settings of the profile `name`, to which the file `path` refers."""
    return load(name, beside=path.parent, within=(*within, path)).model_dump()


def _problem(detail: object, path: Path, lines: Mapping[Key, int]) -> str:
    assert isinstance(detail, dict)
    # The name of a choice (such as a loss model) is no key of the file.
    loc = tuple(part for part in detail["loc"] if part not in _CHOICES and "[" not in str(part))
    at = next((place for place in _places(loc) if place in lines), loc)
    message = in_words(detail)
    if detail["type"] == "extra_forbidden":
        message = "unknown key; known are " + ", ".join(sorted(_KEYS_OF_A_PROFILE))
    shown = "" if isinstance(detail["input"], dict) else f" {detail['input']!r}:"
    where = f"{path}:{yaml_lines.line_of(lines, at)}:"
    return f"{where} {_dotted(at)}:{shown} {message}" if at else f"{where} {message}"


def _places(loc: Key) -> Iterator[Key]:
    """Where a file may say what stands at `loc` of a profile: there, or where it holds for more than that."""
    yield loc
    if loc[:1] == ("stations",):
        yield (*loc[:2], *loc[3:])  # for both directions of a station
        loc = loc[2:]  # for every station
        yield loc
    yield loc[1:]  # for both directions


def _dotted(at: Key) -> str:
    return ".".join(map(str, at))
