"""Finding link profiles: the library's by name, a user's own by path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from emulation.events import DIRECTION_KEYS
from emulation.profile import LinkProfile
from emulation.references import resolved

FOLDER = Path(__file__).parent / "profiles"
_KEYS_OF_A_PROFILE = {*LinkProfile.model_fields, *DIRECTION_KEYS}
_CHOICES = {"bernoulli", "gilbert-elliott", "recorded", "JitterTable"}


class ProfileError(ValueError):
    """A profile that does not exist or says something impossible; the message names file, key and value."""


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
        data = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProfileError(f"{path}: not YAML: {error}") from error
    try:
        data = resolved(data, path.parent, lambda name: _next(name, path, within))
    except OSError as error:
        raise ProfileError(f"{path}: {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise ProfileError(f"{path}: {error}") from error
    try:
        return _with_channel(LinkProfile.model_validate(data))
    except ValidationError as error:
        problems = "; ".join(_problem(detail) for detail in error.errors())
        raise ProfileError(f"{path}: {problems}") from None


def _with_channel(profile: LinkProfile) -> LinkProfile:
    """Bursts hit one station at a time where each has a medium of its own, unless the file says otherwise."""
    if "loss_channel" in profile.model_fields_set or profile.medium == "shared" or not profile.loss_has_memory:
        return profile
    return profile.model_copy(update={"loss_channel": "station"})


def _next(name: str, path: Path, within: Sequence[Path]) -> dict[str, Any]:
    """The settings of the profile `name`, to which the file `path` refers."""
    return load(name, beside=path.parent, within=(*within, path)).model_dump()


def _problem(detail: object) -> str:
    assert isinstance(detail, dict)
    # The name of a choice (such as a loss model) is no key of the file.
    where = ".".join(str(part) for part in detail["loc"] if part not in _CHOICES and "[" not in str(part))
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = "unknown key; known are " + ", ".join(sorted(_KEYS_OF_A_PROFILE))
    shown = "" if isinstance(detail["input"], dict) else f" {detail['input']!r}:"
    return f"{where}:{shown} {message}" if where else message
