"""What is installed of what stacks need, by version.  The standard library suffices."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

from stacks.declaration import Debian, Declared, Python
from stacks.folders import Found

_LIMIT_S = 20


def version(package: Debian) -> str | None:
    """The version that is installed, None where the package is missing.

    What else brings its command counts, too: any Java will do.
    """
    # Daemons are in /usr/sbin, which an ordinary user's PATH does not have.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    try:
        done = subprocess.run(
            package.version,
            env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Some print it where errors go, and some end with an error: the pattern decides.
    said = re.search(package.pattern, done.stdout + done.stderr)
    return said[1].strip() if said and said[1] else None


def python_version(name: str) -> str | None:
    """The version of a package of the environment, None where it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def missing(declared: Iterable[Declared]) -> tuple[Debian, ...]:
    """The packages of the distribution that are not installed, each once."""
    wanted = {package.package: package for one in declared for package in one.debian}
    return tuple(package for package in wanted.values() if version(package) is None)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a stack needs to be installed.  distribution: the package that brings the stack, '' for one of ours."""

    debian: tuple[Debian, ...]
    python: tuple[Python, ...]
    distribution: str

    @property
    def names(self) -> tuple[str, ...]:
        """What its speed depends on, as a manifest's versions call it."""
        own = (self.distribution,) if self.distribution else ()
        return (*own, *(one.name for one in self.debian), *(one.name for one in self.python))


def needs(stack: str, roles: Iterable[str], found: Found) -> Needs:
    """What the folder of a stack asks for, and for its services the folders of their roles."""
    own, wanted = found.declaring(stack), set(roles)
    serving = [one for one in found.declared if wanted.intersection(one.roles)]
    mine = () if own is None else (own,)
    return Needs(
        debian=tuple(package for one in serving or mine for package in one.debian),
        python=tuple(package for one in mine for package in one.python),
        distribution="" if own is None else own.distribution,
    )
