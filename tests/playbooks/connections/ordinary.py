"""Ansible connection: this machine as an ordinary user finds it who has connected to it and may become root."""

from __future__ import annotations

import os
from typing import Any

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: ordinary
short_description: run on this machine as an ordinary user
description:
  - Every command runs as C(nobody), but for those that become root.
options:
  become_success_timeout:
    description: Seconds to wait for privilege escalation.
    type: int
    default: 10
  become_strip_preamble:
    description: Whether to strip what privilege escalation prints before the command.
    type: bool
    default: true
extends_documentation_fragment:
  - connection_pipelining
"""
USER = 65534


class Connection(LocalConnection):  # type: ignore[misc]  # Ansible ships no types
    """`local` with another user."""

    transport = "ordinary"

    def exec_command(self, cmd: str, *args: Any, **kwargs: Any) -> tuple[int, bytes, bytes]:
        """Run a command; returns status, stdout, stderr."""
        if "BECOME-SUCCESS" not in cmd:
            cmd = f"setpriv --reuid={USER} --regid={USER} --clear-groups -- {cmd}"
        status: tuple[int, bytes, bytes] = super().exec_command(cmd, *args, **kwargs)
        return status

    def put_file(self, in_path: str, out_path: str) -> None:
        """Copy a file."""
        super().put_file(in_path, out_path)
        os.chown(out_path, USER, USER)
