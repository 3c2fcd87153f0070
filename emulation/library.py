"""Finding link profiles: the library's by name, a user's own by path."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from emulation.profile import DirectionProfile, LinkProfile

FOLDER = Path(__file__).parent / "profiles"


class ProfileError(ValueError):
    """A profile that does not exist or says something impossible; the message names file, key and value."""


def names() -> list[str]:
    """Names of the profiles in the library."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str, *, beside: Path | None = None) -> LinkProfile:
    """The profile called `name`, or in the file `name` (ending in .yaml, relative to the folder `beside`)."""
    if name.endswith((".yaml", ".yml")):
        return read(((beside or Path()) / name).resolve())
    path = FOLDER / f"{name}.yaml"
    if name not in names():
        raise ProfileError(f"no link profile {name!r}; there are {', '.join(names())}, or give a path to a .yaml file")
    return read(path)


def read(path: Path) -> LinkProfile:
    """Read and check one profile file."""
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProfileError(f"{path}: not YAML: {error}") from error
    try:
        return LinkProfile.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(_problem(detail) for detail in error.errors())
        raise ProfileError(f"{path}: {problems}") from None


def _problem(detail: object) -> str:
    assert isinstance(detail, dict)
    where = ".".join(str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = "unknown key; known are " + ", ".join(sorted(_known_keys()))
    shown = "" if isinstance(detail["input"], dict) else f" {detail['input']!r}:"
    return f"{where}:{shown} {message}" if where else message


def _known_keys() -> set[str]:
    return {*LinkProfile.model_fields, *DirectionProfile.model_fields}
