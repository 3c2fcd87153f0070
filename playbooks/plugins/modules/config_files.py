#!/usr/bin/python
"""Ansible module: a service's folder with its configuration files, in one step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.private_files import open_file, private_folder, replace_file, sub_folder

DOCUMENTATION = """
module: config_files
short_description: make a folder with sub-folders and files
description:
  - Makes the folder, readable by its owner alone, and writes the files whose content differs.
  - Fails where somebody else has put something in the place of the folder or of a file.
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
    """Bring the folder to its state; returns what changed.  OSError, also for what somebody else has put there."""
    changed = [] if folder.is_dir() else ["."]
    with private_folder(folder) as opened:
        inner = dict.fromkeys([*folders, *(str(Path(file).parent) for file in files)])
        changed += [name for name in inner if name != "." and sub_folder(opened, name)]
        for name, content in files.items():
            if _read(opened, name) != content.encode():
                replace_file(opened, name, content.encode())
                changed.append(name)
    return changed


def _read(folder: int, name: str) -> bytes | None:
    try:
        with os.fdopen(open_file(folder, name, os.O_RDONLY), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


# What tells Ansible which options there are.
OPTIONS: dict[str, Any] = {
    "argument_spec": {
        "path": {"type": "path", "required": True},
        "folders": {"type": "list", "elements": "str", "default": []},
        "files": {"type": "dict", "default": {}},
    }
}


def result(options: dict[str, Any]) -> dict[str, Any]:
    """The task's result."""
    try:
        changed = write(Path(options["path"]), options["folders"], options["files"])
    except OSError as error:
        return {"failed": True, "msg": f"cannot write the configuration: {error}"}
    return {"changed": bool(changed), "written": changed}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(**OPTIONS)
    module.exit_json(**result(module.params))


if __name__ == "__main__":
    main()
