"""Mininet where there is no distutils, as under Python 3.12."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import sys

class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "distutils":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from topologies import star
assert not [name for name in sys.modules if name.startswith("distutils")]
"""


def test_it_is_imported_without_distutils_and_leaves_nothing_in_its_place() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
