"""What is added by adding a module: the modules of a package, found where they lie."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType


def modules(package: ModuleType, *, having: Sequence[str] = ()) -> dict[str, ModuleType]:
    """Every module of a package by its name, sorted; those of packages in it are not among them.

    having: what each has; ValueError for a module without.
    """
    names = sorted(one.name for one in pkgutil.iter_modules(package.__path__) if not one.ispkg)
    found = {name: import_module(f"{package.__name__}.{name}") for name in names}
    for module in found.values():
        if lacks := [name for name in having if not hasattr(module, name)]:
            raise ValueError(f"{module.__file__}: has no {lacks[0]}; a module there has {' and '.join(having)}")
    return found
