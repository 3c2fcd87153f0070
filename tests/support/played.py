"""The playbook of services, played as a user would play it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.deploy import PLAYBOOKS


def played(
    inventory: str | Path, actions: Sequence[str], *words: str, home: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Take these actions on an inventory's hosts.  words: further options.  home: for what Ansible keeps."""
    return subprocess.run(
        [
            *(Path(sys.executable).parent / "ansible-playbook", "-i", inventory, "services.yml"),
            *("-e", json.dumps({"airwire_actions": list(actions)}), *words),
        ],
        cwd=PLAYBOOKS,
        env={**os.environ, "ANSIBLE_HOME": str(home), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
