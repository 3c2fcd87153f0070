"""What a stack's folder declares in its `stack.toml`, read strictly.

The standard library suffices, so that set-up can read it by the system's Python.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from records.errors import WrongInput

FILE = "stack.toml"

_STACK = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_DRIVER = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")  # Debian policy, 5.6.1
_NAME = re.compile(r"[A-Za-z0-9][\w+.-]*", re.ASCII)
# Of PEP 508 what a lock file needs: a name, extras, versions.  No addresses, no options of pip.
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?)(\[[\w,.-]+\])?\s*"
    r"((===?|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+(\s*,\s*(===?|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+)*)?",
    re.ASCII,
)
_INSTALLED = ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}")


class DeclarationError(WrongInput):
    """A stack.toml cannot be used; the message has file, key, value, and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Debian:
    """A package of the distribution.

    daemon: it starts a service when it is installed.  name: what its version is called in manifests.  version: the
    command whose output has the version, as the one group of `pattern`; where it has not, the package is missing.
    """

    package: str
    daemon: bool
    name: str
    version: tuple[str, ...]
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A package of the environment.  requires: as pip takes it."""

    name: str
    requires: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a folder declares.

    source: how messages call it.  stacks: name to "module:Class" of the driver.  distribution: the installed package
    that brings the folder, '' for one of ours.
    """

    source: str
    folder: Path
    stacks: Mapping[str, str]
    debian: tuple[Debian, ...]
    python: tuple[Python, ...]
    distribution: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """The Ansible roles of its services."""
        folder = self.folder / "roles"
        return tuple(sorted(one.name for one in folder.iterdir() if one.is_dir())) if folder.is_dir() else ()


def read(folder: Path, *, source: str, distribution: str = "") -> Declared:
    """A folder's declaration; DeclarationError where it is not as it has to be."""
    path = folder / FILE
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeclarationError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # of TOML, or of UTF-8
        raise DeclarationError(f"{path}: is not TOML: {error}") from error
    here = _Table(f"{path}: ", table)
    here.keys("stacks", "debian", "python")
    named = here.table("stacks")
    drivers = {name: named.text(name, _DRIVER, "module:Class of a driver") for name in named.table_keys()}
    for name in drivers:
        if not _STACK.fullmatch(name):
            named.wrong(name, name, "a stack's name: words of a-z and 0-9 that begin with a letter, joined by -")
    if not drivers:
        here.wrong("stacks", {}, 'at least one line NAME = "module:Class"')
    return Declared(
        source=source,
        folder=folder,
        stacks=drivers,
        debian=tuple(map(_debian, here.tables("debian"))),
        python=tuple(map(_python, here.tables("python"))),
        distribution=distribution,
    )


def _debian(here: _Table) -> Debian:
    here.keys("package", "daemon", "name", "version", "pattern")
    package = here.text("package", _PACKAGE, "the name of a package of Debian")
    command = here.words("version") if "version" in here.values else ()
    pattern = here.text("pattern", None, "a regular expression with one group") if "pattern" in here.values else "(.+)"
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        here.wrong("pattern", pattern, f"a regular expression ({error})")
    if groups != 1:
        here.wrong("pattern", pattern, "a regular expression with one group, which is the version")
    if "pattern" in here.values and not command:
        here.wrong("pattern", pattern, "the pattern of a version: there is no key version, the command that tells it")
    return Debian(
        package=package,
        daemon=here.flag("daemon"),
        name=here.text("name", _NAME, "a name for its version") if "name" in here.values else package,
        version=command or (*_INSTALLED, package),
        pattern=pattern if command else r"^installed (\S+)",
    )


def _python(here: _Table) -> Python:
    here.keys("requires")
    requires = here.text("requires", _REQUIREMENT, "a package with its version, such as pyzmq==27.1.0")
    found = _REQUIREMENT.fullmatch(requires)
    assert found is not None
    return Python(name=found["name"], requires=requires)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file.  where: what complaints begin with."""

    where: str
    values: Mapping[str, Any]

    def wrong(self, key: str, value: object, allowed: str) -> NoReturn:
        """DeclarationError."""
        if value is None:
            raise DeclarationError(f"{self.where}{key}: is missing; it is {allowed}")
        raise DeclarationError(f"{self.where}{key}: {value!r} is not {allowed}")

    def keys(self, *allowed: str) -> None:
        for key in self.values:
            if key not in allowed:
                raise DeclarationError(f"{self.where}{key}: no such key; there are {', '.join(allowed)}")

    def table_keys(self) -> tuple[str, ...]:
        return tuple(self.values)

    def table(self, key: str) -> _Table:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, value, f"a table, [{key}]")
        return _Table(f"{self.where}{key}.", value)

    def tables(self, key: str) -> Sequence[_Table]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.wrong(key, value, f"a list of tables, each [[{key}]]")
        return [_Table(f"{self.where}{key}[{number}].", one) for number, one in enumerate(value)]

    def text(self, key: str, shape: re.Pattern[str] | None, allowed: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str) or (shape is not None and not shape.fullmatch(value)):
            self.wrong(key, value, allowed)
        return value

    def words(self, key: str) -> tuple[str, ...]:
        value = self.values[key]
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
            self.wrong(key, value, 'a command as a list of words, such as ["mosquitto", "-h"]')
        return tuple(value)

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self.wrong(key, value, "one of true, false")
        return value
