"""Ansible connection: like `local`, inside the network namespace of a process."""

from __future__ import annotations

from typing import Any

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: netns
short_description: run on this machine, in a process's network namespace
description:
  - Every command runs through C(nsenter) in the network namespace of the process O(pid).
  - Files are those of this machine.
options:
  pid:
    description: A process that lives in the network namespace, as seen by the controller.
    type: int
    required: true
    vars:
      - name: ansible_netns_pid
  become_success_timeout:
    description: Seconds to wait for privilege escalation.
    type: int
    default: 10
    vars:
      - name: ansible_local_become_success_timeout
  become_strip_preamble:
    description: Whether to strip what privilege escalation prints before the command.
    type: bool
    default: true
    vars:
      - name: ansible_local_become_strip_preamble
extends_documentation_fragment:
  - connection_pipelining
"""


class Connection(LocalConnection):  # type: ignore[misc]  # Ansible ships no types
    """`local` with every command prefixed."""

    transport = "netns"

    def exec_command(self, cmd: str, *args: Any, **kwargs: Any) -> tuple[int, bytes, bytes]:
        """Run a command, which Ansible has quoted, in the namespace; returns status, stdout, stderr."""
        pid = int(self.get_option("pid"))
        status: tuple[int, bytes, bytes] = super().exec_command(f"nsenter -t {pid} -n -- {cmd}", *args, **kwargs)
        return status
