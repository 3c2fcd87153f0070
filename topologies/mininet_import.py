"""Mininet, imported without distutils, which Python 3.12 does not have and which is slow to import.

Mininet asks it for one class, to compare versions of Open vSwitch, which is not used here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["Host", "Mininet", "Switch"]


class _StrictVersion:
    """Stands for distutils.version.StrictVersion."""

    def __init__(self, version: str) -> None:
        raise NotImplementedError(f"version {version}: versions of Open vSwitch are not compared here")


@contextmanager
def _stand_in() -> Iterator[None]:
    package, version = ModuleType("distutils"), ModuleType("distutils.version")
    version.StrictVersion = _StrictVersion  # type: ignore[attr-defined]
    mine = {"distutils": package, "distutils.version": version}
    before = {name: sys.modules.get(name) for name in mine}
    sys.modules |= mine
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


with _stand_in():
    from mininet.net import Mininet
    from mininet.node import Host, Switch
