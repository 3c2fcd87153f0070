"""Modules of our playbooks, loaded as Ansible does: with what they share among Ansible's own module_utils."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import ansible.module_utils

PLUGINS = Path(__file__).parents[2] / "playbooks" / "plugins"
ansible.module_utils.__path__.append(str(PLUGINS / "module_utils"))


def load(name: str) -> ModuleType:
    """The module of that name."""
    spec = importlib.util.spec_from_file_location(name, PLUGINS / "modules" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
