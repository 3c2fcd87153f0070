"""Ansible action: a module of ours, on a node of this machine without a Python of its own for every task.

Ansible packs a module with all that it imports, and starts a Python that unpacks and compiles this: half a second of a
processor.  Where connection `netns` leads to a network namespace of this machine, the task's own process, which ends
with the task, enters that and calls the module.  Everywhere else the module runs as modules do.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import ansible.module_utils
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

PLUGINS = Path(__file__).parents[1]
CLONE_NEWNET = 0x40000000


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """The task's module, called or run."""

    _supports_check_mode = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The task's result."""
        found: dict[str, Any] = super().run(tmp, task_vars)
        if self._connection.transport != "netns" or self._play_context.become:
            return found | self._execute_module(task_vars=task_vars)
        module = _loaded(self._task.action)
        checked = ArgumentSpecValidator(**module.OPTIONS).validate(json.loads(json.dumps(self._task.args)))
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        _enter(Path(f"/proc/{self._connection.get_option('pid')}/ns/net"))
        result: dict[str, Any] = module.result(checked.validated_parameters)
        return found | result


def _loaded(name: str) -> ModuleType:
    """The module of that name, with what modules share among Ansible's own module_utils."""
    ansible.module_utils.__path__.append(str(PLUGINS / "module_utils"))
    spec = importlib.util.spec_from_file_location(name, PLUGINS / "modules" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise AnsibleActionFail(f"there is no module {name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _enter(namespace: Path) -> None:
    try:
        with namespace.open() as opened:
            if ctypes.CDLL(None, use_errno=True).setns(opened.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(namespace))
    except OSError as error:
        raise AnsibleActionFail(f"cannot enter the node's network namespace: {error}") from error
