"""Ansible action: a command that only looks, run by the connection itself.

Module `command` does this with a Python of its own on the node, half a second of a processor.  Options: `argv` and
`chdir`, as there; the result is the same, too, but never `changed`.
"""

from __future__ import annotations

import shlex
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """The command, on whatever node the task is for."""

    _supports_check_mode = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The task's result."""
        found: dict[str, Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            {"argv": {"type": "list", "elements": "str", "required": True}, "chdir": {"type": "path"}}
        )
        if self._play_context.become:  # over SSH that needs a terminal, which makes stdout and stderr one
            done = self._execute_module("ansible.builtin.command", module_args=options, task_vars=task_vars)
            return found | done | {"changed": False}
        command = shlex.join(options["argv"])
        if options["chdir"]:
            command = f"cd {shlex.quote(options['chdir'])} && {command}"
        done = self._low_level_execute_command(command, sudoable=False)
        said = {name: done[name].rstrip("\r\n") for name in ("stdout", "stderr")}
        failed = {"failed": True, "msg": "non-zero return code"} if done["rc"] else {}
        return found | done | said | failed | {"changed": False}
