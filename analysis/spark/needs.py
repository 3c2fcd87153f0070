"""What tasks import that is neither ours, nor Spark's, nor Python's own: found in the sources, not listed."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from analysis.reductions.code import imported, names_in
from analysis.spark.ship import ROOT

# Modules whose functions are tasks, and the workers' parent.
TASKS = ("analysis.spark.daemon", "analysis.spark.export", "analysis.spark.source", "analysis.reductions.kept")
_NOT_SENT = frozenset({"pyspark"})  # a cluster has its own
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that tasks import.  module: by which name; name, version: of the distribution installed here."""

    module: str
    name: str
    version: str


@cache
def needed() -> tuple[Package, ...]:
    """The packages that tasks import, by name, as they are installed here."""
    modules = {name.partition(".")[0] for path in imported(TASKS, ROOT) for name in names_in(path, ROOT)}
    by_module = metadata.packages_distributions()
    found = {
        Package(module=module, name=by_module[module][0], version=metadata.version(by_module[module][0]))
        for module in modules - sys.stdlib_module_names - _NOT_SENT
        if module in by_module and not (ROOT / module).is_dir()
    }
    return tuple(sorted(found, key=lambda package: package.name))


def distributions() -> tuple[metadata.Distribution, ...]:
    """The distributions of `needed` and of all that they require in turn, by name, as they are installed here."""
    found: dict[str, metadata.Distribution] = {}
    left = [package.name for package in needed()]
    while left:
        name = _normal(left.pop())
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # required on other machines or of other Pythons only
        left += [
            required[0]
            for line in found[name].requires or ()
            if "extra ==" not in line and (required := _REQUIREMENT.match(line))
        ]
    return tuple(found[name] for name in sorted(found))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
