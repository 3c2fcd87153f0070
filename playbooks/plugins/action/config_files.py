"""Ansible action: as for service_process."""

from __future__ import annotations

from ansible.plugins.loader import action_loader

ActionModule = action_loader.get("service_process", class_only=True)
