#!/usr/bin/python
"""Ansible module: a service's folder with its configuration files, in one step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: config_files
short_description: make a folder with sub-folders and files
description:
  - Makes the folder, readable by its owner alone, and writes the files whose content differs.
options:
  path:
    description: The folder.
    required: true
    type: path
  folders:
    description: Empty folders to make in it.
    type: list
    elements: str
    default: []
  files:
    description: Relative path to content.  Files have mode 0600.
    type: dict
    default: {}
author: Airwire
"""


def write(folder: Path, folders: list[str], files: dict[str, str]) -> list[str]:
    """Bring the folder to its state; returns what changed.  Raises OSError."""
    changed = []
    for name in (".", *folders, *(str(Path(file).parent) for file in files)):
        if not (folder / name).is_dir():
            (folder / name).mkdir(mode=0o700, parents=True)
            changed.append(name)
    for name, content in files.items():
        if _read(folder / name) != content.encode():
            _replace(folder / name, content.encode())
            changed.append(name)
    return changed


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    fresh.replace(path)


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "folders": {"type": "list", "elements": "str", "default": []},
            "files": {"type": "dict", "default": {}},
        }
    )
    wanted: dict[str, Any] = module.params
    try:
        changed = write(Path(wanted["path"]), wanted["folders"], wanted["files"])
    except OSError as error:
        module.fail_json(msg=f"cannot write the configuration: {error}")
    module.exit_json(changed=bool(changed), written=changed)


if __name__ == "__main__":
    main()
